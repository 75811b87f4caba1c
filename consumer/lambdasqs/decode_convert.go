package lambdasqs

import (
	"github.com/aws/aws-lambda-go/events"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
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
		sqsqueue.Derive(&to.message)
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
