package consumer

import (
	"math"
	"time"
)

// Message is one SQS message, the same whatever host it came through.
//
// A handler must not change it; the pipeline reads it again when the message
// is settled or parked. A handler that has returned may keep it.
type Message struct {
	// ID is the message id that SQS gave. It survives a move to a dead-letter
	// queue by SQS, but not a redrive: a redriven message is a new message.
	ID string
	// Body is the message body, byte for byte as it was sent.
	Body string
	// GroupID is the message group. It is set on every message of a FIFO
	// queue, and on messages of standard queues whose sender uses fair queues,
	// where it implies no order.
	GroupID string
	// DeduplicationID is set on messages of FIFO queues only.
	DeduplicationID string
	// QueueARN names the queue that the message was received from. A message
	// received from a dead-letter queue carries the ARN of that queue here and
	// the ARN of the queue it failed on in System["DeadLetterQueueSourceArn"].
	QueueARN string
	// ReceiveCount is how often SQS has handed the message out, this time
	// included; at least 1, also where SQS did not say. Throttled and deferred
	// deliveries count, and the count carries on in a dead-letter queue: it is
	// no measure of how often a handler has run.
	ReceiveCount int
	// SentAt is when the message was sent; zero if SQS did not say.
	SentAt time.Time
	// FirstReceivedAt is when the message was first received; zero if SQS did
	// not say.
	FirstReceivedAt time.Time
	// Attributes are the attributes that the sender attached (ten at most);
	// nil if there are none.
	Attributes map[string]Attribute
	// System holds the system attributes as SQS gave them, all strings, the
	// ones with a field of their own included: SenderId, SequenceNumber (which
	// does not fit into 64 bits), AWSTraceHeader and the rest.
	System map[string]string

	attempt, maxAttempts int32
}

// Attribute is a message attribute that the sender attached.
type Attribute struct {
	// DataType is "String", "Number" or "Binary", possibly with a suffix after
	// a dot that only sender and consumer understand.
	DataType string
	// StringValue is the value of a String or Number attribute.
	StringValue string
	// BinaryValue is the value of a Binary attribute, decoded.
	BinaryValue []byte
}

// Attempt reports which attempt at the message this is, from 1, and how many
// it gets, so that a handler can act on its last one; max is 0 where that is
// not known.
//
// With an idempotency store max is [Redelivery.MaxAttempts]. Without one nobody
// counts attempts, and the numbers are the nearest that SQS has: the receive
// count, and the maxReceiveCount of the queue where the host knows it (a Lambda
// function does not).
func (m *Message) Attempt() (n, max int) {
	if m.attempt == 0 {
		return m.ReceiveCount, int(m.maxAttempts)
	}
	return int(m.attempt), int(m.maxAttempts)
}

func (m *Message) setAttempt(n, most int) {
	m.attempt, m.maxAttempts = int32(min(n, math.MaxInt32)), int32(min(most, math.MaxInt32)) //nolint:gosec // just made to fit
}
