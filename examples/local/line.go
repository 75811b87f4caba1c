package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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

// label is what the output calls the message, fit to be printed.
func (l line) label() string {
	if l.order != "" {
		return printable(excerpt(l.order))
	}
	return fmt.Sprintf("line %d", l.number)
}

// envelope is a line that is more than a body: its members.
type envelope map[string]json.RawMessage

// envelopeOf takes a line for an envelope if it is an object that has a body and
// no member that an envelope has not. It returns nil for others. If one has a
// body and other members, one of those is odd, since it may be a misspelling.
func envelopeOf(text []byte) (e envelope, odd string) {
	if json.Unmarshal(text, &e) != nil || e["body"] == nil {
		return nil, ""
	}
	for name := range e {
		switch name {
		case "body", "attributes", "group", "delay", "twice":
		default:
			if odd == "" || name < odd {
				odd = name
			}
		}
	}
	if odd != "" {
		return nil, odd
	}
	return e, ""
}

// line reads the envelope.
func (e envelope) line() (l line, err error) {
	if l.message.Body, err = bodyOf(e["body"]); err != nil {
		return l, err
	}
	if l.message.Delay, err = delayOf(e["delay"]); err != nil {
		return l, err
	}
	if err := e.member("group", &l.message.GroupID, "a text"); err != nil {
		return l, err
	}
	if err := e.member("twice", &l.twice, "true or false"); err != nil {
		return l, err
	}
	var attributes map[string]json.RawMessage
	if err := e.member("attributes", &attributes, "an object whose values are texts and numbers"); err != nil {
		return l, err
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a, err := attributeOf(attributes[name])
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

// member reads the member of that name into a pointer, if there is one. The
// error says what it is to be.
func (e envelope) member(name string, into any, what string) error {
	value := e[name]
	if value == nil {
		return nil
	}
	if value[0] == 'n' || json.Unmarshal(value, into) != nil { // null would be read as nothing
		return fmt.Errorf("%s is %s; use %s, or leave it out", name, excerpt(string(value)), what)
	}
	return nil
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
		return 0, fmt.Errorf("delay is %s; use a time from \"0s\" to \"15m\", SQS's longest, or a number of seconds", excerpt(string(value)))
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
		return types.MessageAttributeValue{}, fmt.Errorf("its value is %s; use a text or a number", excerpt(string(value)))
	}
	return types.MessageAttributeValue{DataType: aws.String("Number"), StringValue: aws.String(number.String())}, nil
}
