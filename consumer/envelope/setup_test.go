package envelope_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/envelope"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/retry"
)

// marker stands in bodies for what must not get into a log.
const marker = "s3cr3t"

const topicARN = "arn:aws:sns:eu-central-1:111122223333:orders"

// members is a JSON object under construction.
type members map[string]any

func (m members) String() string {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// with is m with a member more, or another value of it.
func (m members) with(name string, value any) members {
	out := members{name: value}
	for n, v := range m {
		if n != name {
			out[n] = v
		}
	}
	return out
}

func (m members) without(name string) members {
	out := m.with(name, nil)
	delete(out, name)
	return out
}

// notification is what SNS sends for a message.
func notification(message string) members {
	return members{
		"Type": "Notification", "MessageId": "7f3f2a10-1111-4222-8333-444455556666", "TopicArn": topicARN,
		"Message": message, "Timestamp": "2026-11-30T08:15:30.250Z", "SignatureVersion": "1",
		"Signature": "c2lnbmF0dXJl", "SigningCertURL": "https://sns.example/cert.pem",
		"UnsubscribeURL": "https://sns.example/?Action=Unsubscribe",
	}
}

// event is what EventBridge sends.
func event(detail any) members {
	return members{
		"version": "0", "id": "e-1", "detail-type": "Order Placed", "source": "shop.orders", "account": "111122223333",
		"time": "2026-11-30T08:15:30Z", "region": "eu-central-1", "resources": []string{"arn:aws:x:::a", "arn:aws:x:::b"},
		"detail": detail,
	}
}

// s3Record is a record of what S3 sends.
func s3Record(key string) members {
	return members{
		"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "eu-central-1",
		"eventTime": "2026-11-30T08:15:30.250Z", "eventName": "ObjectCreated:Put",
		"s3": members{
			"s3SchemaVersion": "1.0", "configurationId": "uploads",
			"bucket": members{"name": "pictures", "arn": "arn:aws:s3:::pictures"},
			"object": members{"key": key, "size": 1 << 40, "eTag": "abc", "versionId": "v1", "sequencer": "0055AED6DCD90281E5"},
		},
	}
}

// s3Event is what S3 sends.
func s3Event(keys ...string) members {
	records := make([]members, len(keys))
	for i, key := range keys {
		records[i] = s3Record(key)
	}
	return members{"Records": records}
}

// s3Bridge is what S3 sends by EventBridge.
func s3Bridge(key string) members {
	return event(members{
		"version": "0", "bucket": members{"name": "pictures"}, "request-id": "R1", "reason": "PutObject",
		"object": members{"key": key, "size": 5, "etag": "abc", "version-id": "v1", "sequencer": "0055AED6DCD90281E5"},
	}).with("source", "aws.s3").with("detail-type", "Object Created")
}

var s3Test = members{
	"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": "2026-11-30T08:00:00.000Z", "Bucket": "pictures",
	"RequestId": "R1", "HostId": "h",
}

func message(body any) *consumer.Message {
	return &consumer.Message{ID: "m-1", Body: fmt.Sprint(body), ReceiveCount: 1}
}

// steady is a configuration without chance, and three tries a second apart.
func steady() consumer.Config {
	return consumer.Config{
		Retry:       retry.Policy{Tries: 3, Backoff: retry.Constant(time.Second)},
		Redelivery:  consumer.Redelivery{Backoff: retry.Constant(10 * time.Second)},
		Concurrency: 1,
		Logger:      slog.New(slog.DiscardHandler),
	}
}

// invoke runs a handler in a Lambda function. The ids of the messages are m-1, m-2
// and so on; what comes back are the outcomes, and the ids that were reported.
func invoke(t *testing.T, h consumer.Handler, cfg consumer.Config, bodies ...string) (outcomes []string, reported string) {
	t.Helper()
	var records []members
	for i, body := range bodies {
		records = append(records, members{
			"messageId": fmt.Sprintf("m-%d", i+1), "receiptHandle": "r", "body": body, "eventSource": "aws:sqs",
			"eventSourceARN": "arn:aws:sqs:eu-central-1:111122223333:orders", "attributes": members{"ApproximateReceiveCount": "1"},
		})
	}
	cfg.Observe = func(e consumer.Event) {
		if o := e.Outcome; e.Kind == consumer.EventOutcome {
			outcomes = append(outcomes, fmt.Sprintf("%s %v, %d tries", o.Delivery.ID, o.Verdict, o.Tries))
		}
	}
	c, err := consumer.New(h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	function, err := lambdasqs.New(c, lambdasqs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := function.Invoke(t.Context(), []byte(members{"Records": records}.String()))
	if err != nil {
		t.Fatal(err)
	}
	var failures struct {
		Items []struct {
			ID string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(answer, &failures); err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(failures.Items))
	for i, item := range failures.Items {
		ids[i] = item.ID
	}
	return outcomes, strings.Join(ids, " ")
}

// wantRefused checks that an error rejects the message, says so in these words, and
// holds nothing of the body.
func wantRefused(t *testing.T, err error, text string) {
	t.Helper()
	var e *envelope.Error
	if !retry.IsPermanent(err) || !errors.As(err, &e) {
		t.Errorf("%v is no permanent *Error, want one with %q", err, text)
		return
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("the error is %q, without %q", err, text)
	}
	if strings.Contains(err.Error(), marker) {
		t.Errorf("the error quotes the body: %q", err)
	}
}

// never is a handler that must not be called.
func never(t *testing.T) consumer.Handler {
	t.Helper()
	return consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
		t.Errorf("the handler was called with %q", m.Body)
		return nil
	})
}

func want[T any](tb testing.TB, what string, got, wanted T) {
	tb.Helper()
	if diff := cmp.Diff(wanted, got); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
