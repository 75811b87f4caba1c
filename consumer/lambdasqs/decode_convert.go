package lambdasqs

import (
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ackwise/ackwise/consumer"
)

// recordsOf converts an event that somebody else has decoded. The result shares
// maps and strings with the event.
func recordsOf(e events.SQSEvent) []record {
	if e.Records == nil {
		return nil // of another service, most likely: it cannot be told from null
	}
	records := make([]record, len(e.Records))
	for i := range e.Records {
		from, to := &e.Records[i], &records[i]
		to.delivery.Receipt = from.ReceiptHandle
		to.eventSource = from.EventSource
		to.message = consumer.Message{
			ID:         from.MessageId,
			Body:       from.Body,
			QueueARN:   from.EventSourceARN,
			System:     from.Attributes,
			Attributes: attributesOf(from.MessageAttributes),
		}
		to.derive()
	}
	return records
}

func attributesOf(from map[string]events.SQSMessageAttribute) map[string]consumer.Attribute {
	if len(from) == 0 {
		return nil
	}
	to := make(map[string]consumer.Attribute, len(from))
	for name, a := range from {
		v := consumer.Attribute{DataType: a.DataType, BinaryValue: a.BinaryValue}
		if a.StringValue != nil {
			v.StringValue = *a.StringValue
		}
		to[name] = v
	}
	return to
}

// derive links the delivery to its message and fills in what the system
// attributes say. A value that is missing or makes no sense counts as one that
// SQS did not give: a message is not refused for its metadata.
func (r *record) derive() {
	m := &r.message
	r.delivery.Message = m
	if len(m.System) == 0 {
		m.System = nil
	}
	m.GroupID = m.System["MessageGroupId"]
	m.DeduplicationID = m.System["MessageDeduplicationId"]
	m.SentAt = milliseconds(m.System["SentTimestamp"])
	m.FirstReceivedAt = milliseconds(m.System["ApproximateFirstReceiveTimestamp"])
	m.ReceiveCount = 1
	if n, err := strconv.Atoi(m.System["ApproximateReceiveCount"]); err == nil && n > 1 {
		m.ReceiveCount = n
	}
}

// milliseconds reads a time in milliseconds since 1970, and gives the zero time
// for everything that is none.
func milliseconds(s string) time.Time {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil || ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
