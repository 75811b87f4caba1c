package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// line is one message of the input.
type line struct {
	number  int
	order   string // the order's id, "" if the body has none
	twice   bool
	message sqstest.Message
}

// label is what the output calls the message.
func (l line) label() string {
	if l.order != "" {
		return l.order
	}
	return fmt.Sprintf("line %d", l.number)
}

// envelope is a line that is more than a body.
type envelope struct {
	Body       json.RawMessage
	Attributes map[string]json.RawMessage
	Group      string
	Delay      json.RawMessage
	Twice      bool
}

// claims reports whether a line is an envelope: an object that has a body and no
// member that an envelope has not. If it has a body and others, one of those is
// odd, since it may be a misspelling.
func (*envelope) claims(text []byte) (yes bool, odd string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || members["body"] == nil {
		return false, ""
	}
	for name := range members {
		switch name {
		case "body", "attributes", "group", "delay", "twice":
		default:
			if odd == "" || name < odd {
				odd = name
			}
		}
	}
	return odd == "", odd
}

// line reads the envelope.
func (e *envelope) line(text []byte) (l line, err error) {
	if err := json.Unmarshal(text, e); err != nil {
		return l, err
	}
	l.twice, l.message.GroupID = e.Twice, e.Group
	if l.message.Body, err = bodyOf(e.Body); err != nil {
		return l, err
	}
	if l.message.Delay, err = delayOf(e.Delay); err != nil {
		return l, err
	}
	for name, value := range e.Attributes {
		a, err := attributeOf(value)
		if err != nil {
			return l, fmt.Errorf("attribute %q: %w", name, err)
		}
		if l.message.Attributes == nil {
			l.message.Attributes = make(map[string]types.MessageAttributeValue)
		}
		l.message.Attributes[name] = a
	}
	return l, nil
}

// delayOf takes a text such as "15s" or a number of seconds.
func delayOf(value json.RawMessage) (time.Duration, error) {
	if len(value) == 0 {
		return 0, nil
	}
	var text string
	var seconds float64
	var d time.Duration
	var err error
	if json.Unmarshal(value, &text) == nil {
		d, err = time.ParseDuration(text)
	} else if err = json.Unmarshal(value, &seconds); err == nil && seconds <= maxDelay.Seconds() {
		d = time.Duration(seconds * float64(time.Second))
	}
	if err != nil || d < 0 || d > maxDelay || seconds > maxDelay.Seconds() {
		return 0, fmt.Errorf("delay is %s; use a time from \"0s\" to \"15m\", SQS's longest, or a number of seconds", value)
	}
	return d, nil
}

const maxDelay = 15 * time.Minute

// attributeOf takes a text or a number.
func attributeOf(value json.RawMessage) (types.MessageAttributeValue, error) {
	var text string
	var number json.Number
	isNull := value[0] == 'n' // which would be an empty text
	if !isNull && json.Unmarshal(value, &text) == nil {
		return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &text}, nil
	}
	if isNull || json.Unmarshal(value, &number) != nil {
		return types.MessageAttributeValue{}, fmt.Errorf("its value is %s; use a text or a number", value)
	}
	return types.MessageAttributeValue{DataType: aws.String("Number"), StringValue: aws.String(number.String())}, nil
}
