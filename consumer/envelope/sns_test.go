package envelope_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/envelope"
	"github.com/ackwise/ackwise/retry"
)

// unwrap runs one message through SNS and returns what the handler was given.
func unwrap(t *testing.T, wrap consumer.Middleware, m *consumer.Message) (inner *consumer.Message, n *envelope.Notification) {
	t.Helper()
	err := wrap(consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
		inner = m
		n, _ = envelope.NotificationFrom(ctx)
		return nil
	})).Handle(t.Context(), m)
	if err != nil || inner == nil {
		t.Fatalf("%q: %v", m.Body, err)
	}
	return inner, n
}

// As SNS writes it: spaces, new lines, and the names of queues.
const written = `{
  "Type" : "Notification",
  "MessageId" : "7f3f2a10-1111-4222-8333-444455556666",
  "SequenceNumber" : "10000000000000003000",
  "TopicArn" : "arn:aws:sns:eu-central-1:111122223333:orders.fifo",
  "Subject" : "an order",
  "Message" : "{\"id\":\"o-7\",\"note\":\"caf\u00e9 <&> \\u2028 \uD83D\uDE00 \\\\\"} ",
  "Timestamp" : "2026-11-30T08:15:30.250Z",
  "SignatureVersion" : "1",
  "Signature" : "c2ln",
  "SigningCertURL" : "https://sns.example/cert.pem",
  "UnsubscribeURL" : "https://sns.example/u",
  "MessageAttributes" : {
    "tenant" : {"Type":"String","Value":"acme"},
    "weight" : {"Type":"Number.kg","Value":"1.50"},
    "tags" : {"Type":"String.Array","Value":"[\"a\",\"b\"]"},
    "digest" : {"Type":"Binary","Value":"MTEwMA=="},
    "icon" : {"Type":"Binary.png","Value":""}
  }
}
`

func TestSNS_Unwraps(t *testing.T) {
	t.Parallel()
	m := message(written)
	m.GroupID, m.System = "g", map[string]string{"SenderId": "S"}
	inner, n := unwrap(t, envelope.SNS, m)
	want(t, "notification", n, &envelope.Notification{
		TopicARN: "arn:aws:sns:eu-central-1:111122223333:orders.fifo", ID: "7f3f2a10-1111-4222-8333-444455556666",
		Subject: "an order", PublishedAt: time.Date(2026, 11, 30, 8, 15, 30, 250e6, time.UTC), SequenceNumber: "10000000000000003000",
		SignatureVersion: "1", Signature: "c2ln", SigningCertURL: "https://sns.example/cert.pem", UnsubscribeURL: "https://sns.example/u",
	})
	want(t, "body", inner.Body, `{"id":"o-7","note":"café <&> \u2028 😀 \\"} `)
	want(t, "attributes", inner.Attributes, map[string]consumer.Attribute{
		"tenant": {DataType: "String", StringValue: "acme"},
		"weight": {DataType: "Number.kg", StringValue: "1.50"},
		"tags":   {DataType: "String.Array", StringValue: `["a","b"]`},
		"digest": {DataType: "Binary", BinaryValue: []byte("1100")},
		"icon":   {DataType: "Binary.png", BinaryValue: []byte{}},
	})
	if m.Body != written || m.Attributes != nil || inner == m {
		t.Errorf("the message itself was changed: %+v", m)
	}
	if inner.ID != "m-1" || inner.GroupID != "g" || inner.System["SenderId"] != "S" || inner.ReceiveCount != 1 {
		t.Errorf("fields of the SQS message are lost: %+v", inner)
	}
}

// What describes the message fails nothing.
func TestSNS_OddMetadataIsEmpty(t *testing.T) {
	t.Parallel()
	odd := members{
		"Type": "Notification", "TopicArn": topicARN, "Message": "", "MessageId": 5, "Timestamp": "yesterday", "Subject": nil,
		"MessageAttributes": nil, "SigningCertUrl": "c", "UnsubscribeUrl": "u", "Unknown": []int{1},
	}
	inner, n := unwrap(t, envelope.SNS, message(odd))
	want(t, "notification", n, &envelope.Notification{TopicARN: topicARN, SigningCertURL: "c", UnsubscribeURL: "u"})
	want(t, "body", inner.Body, "")
	want(t, "attributes", inner.Attributes, nil)
}

func TestSNS_RefusesWhatIsNotANotification(t *testing.T) {
	t.Parallel()
	const raw = "; if raw message delivery is on, use the handler without envelope.SNS"
	n := notification(marker)
	twice := json.RawMessage(`{"a":{"Type":"String","Value":"s3cr3t"},"a":null}`)
	for body, text := range map[string]string{
		``:                       "want an SNS notification, found text that is not JSON" + raw,
		marker:                   "found text that is not JSON" + raw,
		n.String() + "x":         "found text that is not JSON" + raw,
		`"` + marker + `"`:       "found JSON that is not an object" + raw,
		`[` + n.String() + `]`:   "found JSON that is not an object" + raw,
		`null`:                   "found JSON that is not an object" + raw,
		`1e999`:                  "found JSON that is not an object" + raw,
		`{"` + marker + `":1}`:   "found a JSON object of another kind" + raw,
		`{"Message":"s3cr3t"}`:   "found a JSON object of another kind" + raw,
		event(marker).String():   "found an EventBridge event" + raw,
		s3Event(marker).String(): "found an S3 notification" + raw,
		s3Bridge("x").String():   "found an S3 event of EventBridge" + raw,
		s3Test.String():          "found a test event of S3" + raw,

		n.without("Type").String():                                                "of another kind" + raw,
		n.with("Type", "notification").String():                                   "of another kind" + raw,
		n.with("Type", 1).String():                                                "of another kind" + raw,
		n.without("TopicArn").String():                                            "of another kind" + raw,
		n.with("TopicArn", "").String():                                           "of another kind" + raw,
		n.without("Type").with("type", "x").String():                              "of another kind" + raw,
		n.with("Type", "UnsubscribeConfirmation").String():                        "about the subscription itself; confirm the subscription",
		n.with("Type", "SubscriptionConfirmation").String():                       "about the subscription itself; confirm the subscription",
		`{"Type":"Notification","Message":"s3cr3t","TopicArn":"t","Message":"b"}`: "a JSON object that has a member twice" + raw,

		n.without("Message").String():                                                                           "Message is missing or not a string",
		n.without("Message").with("message", marker).String():                                                   "Message is missing or not a string",
		n.with("Message", nil).String():                                                                         "Message is missing or not a string",
		n.with("Message", members{marker: 1}).String():                                                          "Message is missing or not a string",
		n.with("MessageAttributes", []string{marker}).String():                                                  "MessageAttributes are not an object",
		n.with("MessageAttributes", marker).String():                                                            "MessageAttributes are not an object",
		n.with("MessageAttributes", members{marker: 1}).String():                                                "an attribute that lacks Type or Value",
		n.with("MessageAttributes", members{marker: nil}).String():                                              "an attribute that lacks Type or Value",
		n.with("MessageAttributes", members{marker: members{"Type": "String"}}).String():                        "an attribute that lacks Type or Value",
		n.with("MessageAttributes", members{marker: members{"Value": "x"}}).String():                            "an attribute that lacks Type or Value",
		n.with("MessageAttributes", members{marker: members{"Type": "Number", "Value": 3}}).String():            "an attribute that lacks Type or Value",
		n.with("MessageAttributes", members{marker: members{"Type": "Binary", "Value": marker + "!"}}).String(): "a binary attribute that is not base64",
		n.with("MessageAttributes", twice).String():                                                             "each name once",
	} {
		wantRefused(t, envelope.SNS(never(t)).Handle(t.Context(), message(body)), text)
	}
}

func TestSNSOrRaw_HandsOnWhatIsNoNotification(t *testing.T) {
	t.Parallel()
	n := notification("hi")
	for _, body := range []string{
		``, `null`, `5`, `"x"`, `[]`, `{}`, `{"Message":"hi"}`, `{"a":1,"a":2}`, n.String() + "x", s3Test.String(),
		n.without("Type").String(), n.with("Type", "notification").String(), n.without("TopicArn").without("MessageId").String(),
		n.with("Type", nil).String(), n.with("Type", 1).String(),
		members{"type": "Notification", "topicArn": topicARN, "messageId": "x", "message": "hi"}.String(),
		n.with("Type", "Order").String(),
	} {
		m := message(body)
		if inner, n := unwrap(t, envelope.SNSOrRaw, m); inner != m || n != nil {
			t.Errorf("%s was unwrapped", body)
		}
	}
	inner, got := unwrap(t, envelope.SNSOrRaw, message(n))
	if inner.Body != "hi" || got == nil || got.TopicARN != topicARN {
		t.Errorf("not unwrapped: %+v, %+v", inner, got)
	}
}

func TestSNSOrRaw_RefusesBrokenNotificationsAndConfirmations(t *testing.T) {
	t.Parallel()
	n := notification(marker)
	const incomplete = "TopicArn or MessageId is missing or not a string"
	double := func(member string) string { return `{"` + member + `":"` + marker + `",` + n.String()[1:] }
	for body, text := range map[string]string{
		n.without("TopicArn").String():                                           incomplete,
		n.with("TopicArn", nil).String():                                         incomplete,
		n.with("TopicArn", 5).String():                                           incomplete,
		n.without("MessageId").String():                                          incomplete,
		n.with("MessageId", members{}).String():                                  incomplete,
		double("Message"):                                                        "a member twice",
		double(`\u004dessage`):                                                   "a member twice",
		double("Timestamp"):                                                      "a member twice",
		n.without("Message").String():                                            "Message is missing or not a string",
		strings.Replace(n.String(), marker, `\ud800`, 1):                         "Message is missing or not a string",
		strings.Replace(n.String(), marker, "\xff", 1):                           "Message is missing or not a string",
		n.with("Type", "SubscriptionConfirmation").without("MessageId").String(): "confirm the subscription by the SubscribeURL",
		n.with("MessageAttributes", 1).String():                                  "MessageAttributes are not an object",
		n.with("Type", "SubscriptionConfirmation").String():                      "confirm the subscription by the SubscribeURL",
		n.with("Type", "UnsubscribeConfirmation").String():                       "about the subscription itself",
	} {
		wantRefused(t, envelope.SNSOrRaw(never(t)).Handle(t.Context(), message(body)), text)
	}
}

// The publisher of a message cannot make it pass for a parked copy of another, and
// a copy that is parked in its envelope stays one.
func TestSNS_ParkedAttributeIsTheQueues(t *testing.T) {
	t.Parallel()
	forged := members{consumer.ParkedAttribute: members{"Type": "String", "Value": `{"id":"forged"}`}}
	m := message(notification("hi").with("MessageAttributes", forged))
	inner, _ := unwrap(t, envelope.SNS, m)
	want(t, "original id", inner.OriginalID(), "m-1")
	want(t, "attributes", inner.Attributes, nil)

	for _, attributes := range []any{forged, nil} {
		m = message(notification("hi").with("MessageAttributes", attributes))
		m.Attributes = map[string]consumer.Attribute{
			consumer.ParkedAttribute: {DataType: "String", StringValue: `{"id":"m-0"}`},
			"other":                  {DataType: "String", StringValue: "x"},
		}
		inner, _ = unwrap(t, envelope.SNS, m)
		want(t, "original id of a parked copy", inner.OriginalID(), "m-0")
		want(t, "number of attributes", len(inner.Attributes), 1)
	}
}

func TestSNS_Nested(t *testing.T) {
	t.Parallel()
	inside := notification("hi").with("TopicArn", "arn:aws:sns:eu-central-1:111122223333:inner")
	inner, n := unwrap(t, func(h consumer.Handler) consumer.Handler { return envelope.SNS(envelope.SNS(h)) },
		message(notification(inside.String())))
	want(t, "body", inner.Body, "hi")
	want(t, "topic", n.TopicARN, "arn:aws:sns:eu-central-1:111122223333:inner")
}

// What the handler says is passed on as it is.
func TestSNS_ErrorOfTheHandler(t *testing.T) {
	t.Parallel()
	declined := errors.New("declined")
	h := envelope.SNS(consumer.HandlerFunc(func(context.Context, *consumer.Message) error { return declined }))
	if err := h.Handle(t.Context(), message(notification("hi"))); !errors.Is(err, declined) || retry.IsPermanent(err) {
		t.Errorf("got %v", err)
	}
}

func TestHandlersOfNothingAreNil(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]consumer.Handler{
		"SNS":           envelope.SNS(nil),
		"SNSOrRaw":      envelope.SNSOrRaw(consumer.HandlerFunc(nil)),
		"SNS of JSON":   envelope.SNS(consumer.JSON[int](nil)),
		"EventBridge":   envelope.EventBridge[int](nil),
		"S3":            envelope.S3(nil),
		"S3EventBridge": envelope.S3EventBridge(nil),
	} {
		if _, err := consumer.New(h, consumer.Config{}); err == nil {
			t.Errorf("%s: no error at construction", name)
		}
	}
}
