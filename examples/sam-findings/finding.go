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

// maxLine is the most bytes of a line of the log, as it is written: escaped, with
// attributes and all. CloudWatch takes 1 MiB in an event, 26 bytes of them for itself,
// but what a function writes has been seen cut into events at the 256 KiB of before;
// half a line is no JSON, and no filter finds it. The last KiB is for those 26 bytes
// and for what Lambda may add.
const maxLine = 255 << 10

// Ways onto a dead-letter queue.
const (
	wayParked  = "parked"  // by Ackwise, with a provenance
	wayRedrive = "redrive" // by SQS, when its receives were used up
	waySent    = "sent"    // neither: somebody sent it there
)

// ledger writes dead letters down.
type ledger struct{ log *slog.Logger }

// Handle implements [consumer.Handler]. A message that does not fit into a line, or
// whose line cannot be written, stays on the queue.
func (l ledger) Handle(ctx context.Context, m *consumer.Message) error {
	r := slog.NewRecord(time.Now(), slog.LevelError, "dead letter", 0)
	r.AddAttrs(finding(m)...)
	var line size
	if err := slog.NewJSONHandler(&line, nil).Handle(ctx, r); err != nil {
		return err
	}
	if line > maxLine {
		return retry.Permanent(fmt.Errorf("the finding takes %d bytes, and a line of the log %d: the message stays on the dead-letter queue", line, maxLine))
	}
	return l.log.Handler().Handle(ctx, r) // a Logger would keep an error to itself
}

// size counts what is written to it.
type size int

func (s *size) Write(p []byte) (int, error) {
	*s += size(len(p))
	return len(p), nil
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
