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
		to.delivery.Message, to.delivery.Receipt = &to.message, from.ReceiptHandle
		to.mark = from.EventSource
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

// derive does what describe does, with what is in the map.
func (r *record) derive() {
	system := r.message.System
	if len(system) == 0 {
		r.message.System = nil
	}
	r.describe(system["MessageGroupId"], system["MessageDeduplicationId"], system["SentTimestamp"],
		system["ApproximateFirstReceiveTimestamp"], system["ApproximateReceiveCount"])
}

// describe fills in what the system attributes say. A value that is missing or
// makes no sense counts as one that SQS did not give: a message is not refused
// for its metadata.
func (r *record) describe(group, deduplication, sent, firstReceived, receives string) {
	m := &r.message
	m.GroupID, m.DeduplicationID = group, deduplication
	m.SentAt, m.FirstReceivedAt = milliseconds(sent), milliseconds(firstReceived)
	m.ReceiveCount = 1
	if n, err := strconv.Atoi(receives); err == nil && n > 1 {
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
