package sqstest

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Message is a message to send with [Queue.SendMessage].
type Message struct {
	// Body must not be empty.
	Body string
	// GroupID is needed on a FIFO queue and may be set on a standard one.
	GroupID string
	// DeduplicationID is for FIFO queues. Default: a new one for each message,
	// or the digest of the body on a queue with content-based deduplication.
	DeduplicationID string
	// Delay hides the message, whole seconds up to 15 min. Default: the
	// queue's. Negative: none. Standard queues only.
	Delay time.Duration
	// Attributes are the message attributes, up to ten.
	Attributes map[string]types.MessageAttributeValue
	// TraceHeader is the AWSTraceHeader system attribute.
	TraceHeader string
}

// SendMessage puts a message into the queue and returns its id. The error is
// what SQS would answer, an [*Error].
func (q *Queue) SendMessage(m Message) (id string, err error) {
	q.s.mu.Lock()
	own := q.q.fifo && m.DeduplicationID == "" && !q.q.set.contentBased
	url := q.s.url("", q.q.name)
	q.s.mu.Unlock()
	if own {
		m.DeduplicationID = newUUID()
	}
	out, refused := q.s.send(url, m.outgoing())
	if refused != nil {
		return "", fmt.Errorf("sqstest: send to %s: %w", q.q.name, refused)
	}
	return out.MessageID, nil
}

func (m Message) outgoing() *outgoing {
	o := &outgoing{body: &m.Body, attrs: m.Attributes}
	if m.GroupID != "" {
		o.group = &m.GroupID
	}
	if m.DeduplicationID != "" {
		o.dedup = &m.DeduplicationID
	}
	if m.Delay != 0 {
		seconds := int32(max(m.Delay, 0) / time.Second) //nolint:gosec // checked to be at most 900 later
		o.delay = &seconds
	}
	if m.TraceHeader != "" {
		o.system = map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: new("String"), StringValue: &m.TraceHeader},
		}
	}
	return o
}

// Send puts one message for each body into a standard queue and returns their
// ids. It panics if SQS would refuse one, as that is a mistake in the test.
func (q *Queue) Send(bodies ...string) []string { return q.SendGroup("", bodies...) }

// SendGroup is [Queue.Send] with a message group, for FIFO queues and for fair
// standard queues.
func (q *Queue) SendGroup(group string, bodies ...string) []string {
	ids := make([]string, len(bodies))
	for i, body := range bodies {
		id, err := q.SendMessage(Message{Body: body, GroupID: group})
		if err != nil {
			panic(err)
		}
		ids[i] = id
	}
	return ids
}

// ExpireHandles makes every receipt handle expire that was issued so far for the
// message: a delete or a visibility change with one is answered with
// InvalidParameterValue, "The receipt handle has expired." The message itself
// stays as it is. It reports whether the message is in the queue.
func (q *Queue) ExpireHandles(messageID string) (found bool) {
	q.view(func(time.Time) {
		if m := q.find(messageID); m != nil {
			m.deadHandles, found = m.receives, true
		}
	})
	return found
}

// Redeliver lets the next receive have the message although it is in flight:
// the second delivery that SQS, being at least once, may always make. It reports
// whether the message is in flight here.
func (q *Queue) Redeliver(messageID string) (found bool) {
	q.view(func(time.Time) {
		if m := q.find(messageID); m != nil && m.state == stateInFlight {
			q.q.oweAgain(m)
			found = true
		}
	})
	return found
}

// find returns the message of that id, nil if it is not here.
func (q *Queue) find(messageID string) *message {
	for _, m := range q.q.byKey {
		if m.id == messageID {
			return m
		}
	}
	return nil
}
