package sqstest_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// eventOf sends one message and returns the event it makes, as text and decoded.
func eventOf(t *testing.T, s *sqstest.Server, name string, m sqstest.Message) (text string, decoded events.SQSMessage) {
	t.Helper()
	q := makeQueue(t, s, name, sqstest.QueueConfig{})
	if _, err := q.SendMessage(m); err != nil {
		t.Fatal(err)
	}
	v := invokeOnce(t, s, q, sqstest.EventSourceConfig{Handler: answering("")})
	var e events.SQSEvent
	if err := json.Unmarshal(v.Event, &e); err != nil {
		t.Fatal(err)
	}
	if len(e.Records) != 1 {
		t.Fatalf("%d records, want 1: %s", len(e.Records), v.Event)
	}
	return string(v.Event), e.Records[0]
}

// The whole text of an event, in the shape of the recordings. In a bubble time
// begins at the year 2000.
func TestEventOfStandardQueue(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		text, r := eventOf(t, s, "orders", sqstest.Message{Body: `{"n":1,"html":"<b>&</b>"}`})
		want := fmt.Sprintf(`{"Records":[{"messageId":%q,"receiptHandle":%q,"body":"{\"n\":1,\"html\":\"<b>&</b>\"}",`+
			`"attributes":{"ApproximateFirstReceiveTimestamp":"946684800000","ApproximateReceiveCount":"1",`+
			`"SenderId":%q,"SentTimestamp":"946684800000"},"messageAttributes":{},"md5OfMessageAttributes":null,`+
			`"md5OfBody":"cca532f5018dfcfb509f43b58ab26e0e","eventSource":"aws:sqs",`+
			`"eventSourceARN":"arn:aws:sqs:us-east-1:000000000000:orders","awsRegion":"us-east-1"}]}`,
			r.MessageId, r.ReceiptHandle, r.Attributes["SenderId"])
		if diff := cmp.Diff(want, text); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
		if r.MessageId == "" || r.ReceiptHandle == "" || r.Attributes["SenderId"] == "" {
			t.Errorf("empty identifiers in %s", text)
		}
	})
}

func TestEventOfFIFOQueue(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		text, r := eventOf(t, s, "orders.fifo", sqstest.Message{
			Body: "a", GroupID: "g", DeduplicationID: "d", TraceHeader: "Root=1-5e3d83c1-e6a0db584850d61342823d4c",
		})
		for name, want := range map[string]string{
			"MessageGroupId": "g", "MessageDeduplicationId": "d",
			"AWSTraceHeader": "Root=1-5e3d83c1-e6a0db584850d61342823d4c", "ApproximateReceiveCount": "1",
		} {
			if got := r.Attributes[name]; got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if got := r.Attributes["SequenceNumber"]; len(got) != 20 {
			t.Errorf("SequenceNumber is %q, want 20 digits", got)
		}
		var raw struct{ Records []map[string]any }
		if err := json.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatal(err)
		}
		if sum, ok := raw.Records[0]["md5OfMessageAttributes"]; ok {
			t.Errorf("md5OfMessageAttributes is %v, want it absent as in recordings of FIFO queues", sum)
		}
	})
}

func TestEventMessageAttributes(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		text, r := eventOf(t, s, "orders", sqstest.Message{Body: "a", Attributes: map[string]types.MessageAttributeValue{
			"tenant": {DataType: new("String"), StringValue: new("acme")},
			"weight": {DataType: new("Number.kg"), StringValue: new("12.5")},
			"digest": {DataType: new("Binary"), BinaryValue: []byte{0, 255, 16}},
		}})
		var raw struct {
			Records []struct {
				MessageAttributes map[string]json.RawMessage `json:"messageAttributes"`
			}
		}
		if err := json.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatal(err)
		}
		got := make(map[string]string)
		for name, v := range raw.Records[0].MessageAttributes {
			got[name] = string(v)
		}
		want := map[string]string{
			"tenant": `{"stringValue":"acme","stringListValues":[],"binaryListValues":[],"dataType":"String"}`,
			"weight": `{"stringValue":"12.5","stringListValues":[],"binaryListValues":[],"dataType":"Number.kg"}`,
			"digest": `{"binaryValue":"AP8Q","stringListValues":[],"binaryListValues":[],"dataType":"Binary"}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("messageAttributes (-want +got):\n%s", diff)
		}
		if len(r.Md5OfMessageAttributes) != 32 {
			t.Errorf("md5OfMessageAttributes is %q, want a digest", r.Md5OfMessageAttributes)
		}
		if diff := cmp.Diff([]byte{0, 255, 16}, r.MessageAttributes["digest"].BinaryValue); diff != "" {
			t.Errorf("digest as aws-lambda-go decodes it (-want +got):\n%s", diff)
		}
	})
}

// What the dead-letter queue's own function sees of a moved message.
func TestEventOfDeadLetterQueue(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		dead := makeQueue(t, s, "dead", sqstest.QueueConfig{})
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{DeadLetter: dead, MaxReceives: 1})
		q.Send("a")
		mapTo(t, s, q, sqstest.EventSourceConfig{Handler: answering("no JSON")}).drain()
		v := invokeOnce(t, s, dead, sqstest.EventSourceConfig{Handler: answering("")})
		var e events.SQSEvent
		if err := json.Unmarshal(v.Event, &e); err != nil {
			t.Fatal(err)
		}
		got := e.Records[0].Attributes
		if got["DeadLetterQueueSourceArn"] != q.ARN() || got["ApproximateReceiveCount"] != "2" {
			t.Errorf("attributes are %v, want the source's ARN and the second receive", got)
		}
	})
}
