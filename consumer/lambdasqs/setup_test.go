package lambdasqs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/retry"
)

var errTest = errors.New("declined")

// attribute and record are what Lambda sends.
type attribute struct {
	StringValue      *string  `json:"stringValue,omitempty"`
	BinaryValue      *string  `json:"binaryValue,omitempty"`
	StringListValues []string `json:"stringListValues"`
	BinaryListValues []string `json:"binaryListValues"`
	DataType         string   `json:"dataType"`
}

type record struct {
	MessageID         string               `json:"messageId"`
	ReceiptHandle     string               `json:"receiptHandle"`
	Body              string               `json:"body"`
	Attributes        map[string]string    `json:"attributes"`
	MessageAttributes map[string]attribute `json:"messageAttributes"`
	EventSource       string               `json:"eventSource"`
	EventSourceARN    string               `json:"eventSourceARN"`
	AWSRegion         string               `json:"awsRegion"`
}

func eventOf(tb testing.TB, records ...record) []byte {
	tb.Helper()
	b, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

const standardARN = "arn:aws:sqs:us-east-1:000000000000:orders"

// invented makes records of messages that no server knows, each named by its
// body; the first letter of it is the group.
func invented(arn string, bodies ...string) []record {
	records := make([]record, len(bodies))
	for i, body := range bodies {
		records[i] = record{
			MessageID: "id-" + body, ReceiptHandle: "handle-" + body, Body: body,
			Attributes:  map[string]string{"ApproximateReceiveCount": "1", "MessageGroupId": body[:1]},
			EventSource: "aws:sqs", EventSourceARN: arn, AWSRegion: "us-east-1",
		}
	}
	return records
}

// steady is a configuration without chance: delays of ten seconds.
func steady(tries int) consumer.Config {
	return consumer.Config{
		Retry:      retry.Policy{Tries: tries, Backoff: retry.Constant(time.Second)},
		Redelivery: consumer.Redelivery{Backoff: retry.Constant(10 * time.Second)},
		Logger:     slog.New(slog.DiscardHandler),
	}
}

func newAdapter(tb testing.TB, h consumer.Handler, c consumer.Config, l lambdasqs.Config) *lambdasqs.Adapter {
	tb.Helper()
	made, err := consumer.New(h, c)
	if err != nil {
		tb.Fatal(err)
	}
	a, err := lambdasqs.New(made, l)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// invoke invokes the function with a timeout and returns the ids that it says
// have failed.
func invoke(t *testing.T, a *lambdasqs.Adapter, timeout time.Duration, event []byte) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	answer, err := a.Invoke(ctx, event)
	if err != nil {
		t.Fatalf("Invoke: %v", err)
	}
	return failedIn(t, answer)
}

// failedIn decodes an answer and nothing but an answer.
func failedIn(tb testing.TB, answer []byte) []string {
	tb.Helper()
	var items struct {
		Failures []struct {
			ID string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	d.DisallowUnknownFields()
	if err := d.Decode(&items); err != nil {
		tb.Fatalf("answer %q: %v", answer, err)
	}
	if items.Failures == nil || !bytes.HasPrefix(answer, []byte(`{"batchItemFailures":[`)) {
		tb.Fatalf("answer %q has no list", answer)
	}
	var ids []string
	for _, item := range items.Failures {
		ids = append(ids, item.ID)
	}
	return ids
}

// bodies turns message ids into the bodies that they have in the event.
func bodies(records []record, ids []string) (found []string) {
	for _, id := range ids {
		body := "unknown id " + id
		for _, r := range records {
			if r.MessageID == id {
				body = r.Body
			}
		}
		found = append(found, body)
	}
	return found
}

func want[T any](tb testing.TB, what string, got, wanted T) {
	tb.Helper()
	if diff := cmp.Diff(wanted, got); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// log is a log in memory.
type log struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// lines returns the lines that hold text.
func (l *log) lines(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

func (l *log) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// byBody is a handler that does what is written for the body, and nothing for
// others.
type byBody map[string]func(ctx context.Context) error

func (h byBody) Handle(ctx context.Context, m *consumer.Message) error {
	if do := h[m.Body]; do != nil {
		return do(ctx)
	}
	return nil
}

func fails(context.Context) error { return errTest }

func permanent(context.Context) error { return retry.Permanent(errTest) }

func sleeps(d time.Duration) func(context.Context) error {
	return func(context.Context) error { time.Sleep(d); return nil }
}

// steps returns a function that answers with one of errs at each call, and nil
// when they are used up.
func steps(errs ...error) func(context.Context) error {
	next := 0
	return func(context.Context) error {
		if next == len(errs) {
			return nil
		}
		next++
		return errs[next-1]
	}
}
