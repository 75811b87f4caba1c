package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/retry"
)

// maxBody is the most of a body that goes into a line of the log: CloudWatch took
// 256 KB in an event for long, and escaping makes a body longer.
const maxBody = 100_000

// Ways onto a dead-letter queue.
const (
	wayParked  = "parked"  // by Ackwise, with a provenance
	wayRedrive = "redrive" // by SQS, when its receives were used up
	waySent    = "sent"    // neither: somebody sent it there
)

// ledger writes dead letters down.
type ledger struct{ log *slog.Logger }

// Handle implements [consumer.Handler]. A message that does not fit into a line
// stays on the queue.
func (l ledger) Handle(ctx context.Context, m *consumer.Message) error {
	if n := len(m.Body); n > maxBody {
		return retry.Permanent(fmt.Errorf("the body has %d bytes, and a line of the log takes %d: the message stays on the dead-letter queue", n, maxBody))
	}
	l.log.LogAttrs(ctx, slog.LevelError, "dead letter", finding(m)...)
	return nil
}

// finding is what is known of a dead letter. The provenance is what the sender
// says, which need not be true.
func finding(m *consumer.Message) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("dead_letter_queue", m.QueueARN),
		slog.String("message_id", m.ID),
	}
	p, parked := dlq.Parse(m)
	source := m.System["DeadLetterQueueSourceArn"]
	switch {
	case parked:
		attrs = append(attrs, slog.String("way", wayParked), slog.String("source", p.Queue), slog.String("original_id", p.MessageID),
			slog.String("error", p.Error), slog.Int("attempts", p.Attempts), slog.Time("parked_at", p.ParkedAt))
	case source != "":
		attrs = append(attrs, slog.String("way", wayRedrive), slog.String("source", source), slog.String("original_id", m.ID))
	default:
		attrs = append(attrs, slog.String("way", waySent))
	}
	attrs = append(attrs, slog.Int("receives", m.ReceiveCount))
	if !m.SentAt.IsZero() {
		attrs = append(attrs, slog.String("sent_at", m.SentAt.UTC().Format(time.RFC3339Nano)))
	}
	if m.GroupID != "" {
		attrs = append(attrs, slog.String("group", m.GroupID))
	}
	if others := attributes(m); len(others) > 0 {
		attrs = append(attrs, slog.Any("attributes", others))
	}
	return append(attrs, slog.String("body", m.Body))
}

// attribute is a message attribute in a finding; binary ones are in base64.
type attribute struct {
	Type   string `json:"type"`
	Value  string `json:"value,omitempty"`
	Binary []byte `json:"binary,omitempty"`
}

// attributes are those of the sender; the provenance has been told already.
func attributes(m *consumer.Message) map[string]attribute {
	others := make(map[string]attribute)
	for name, a := range m.Attributes {
		if name != dlq.AttributeName {
			others[name] = attribute{Type: a.DataType, Value: a.StringValue, Binary: a.BinaryValue}
		}
	}
	return others
}
