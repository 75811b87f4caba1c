package sqstest_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// socketClient is a client of the SQS at base, over real sockets, with the
// credentials that any emulator takes.
func socketClient(t *testing.T, s *sqstest.Server, base string) *sqs.Client {
	t.Helper()
	sockets := &http.Transport{}
	t.Cleanup(sockets.CloseIdleConnections)
	return s.Client(func(o *sqs.Options) {
		o.BaseEndpoint, o.HTTPClient = &base, &http.Client{Transport: sockets}
	})
}

// A server in another process, as far as the event source can tell.
func TestEventSourceOverLoopback(t *testing.T) {
	t.Parallel()
	s := sqstest.NewServer(sqstest.Config{})
	t.Cleanup(s.Close)
	base, err := s.Listen("")
	if err != nil {
		t.Fatal(err)
	}
	q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: time.Hour})
	ids := q.Send("a", "b", "c")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{
		Client: socketClient(t, s, base), QueueURL: q.URL(),
		Handler: handling(func(_ context.Context, e events.SQSEvent) ([]string, error) {
			return []string{e.Records[0].MessageId}, nil
		}),
		Observe: func(sqstest.Invocation) { cancel() },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
	if left := q.Messages(); len(left) != 1 || left[0].ID != ids[0] {
		t.Errorf("%d messages left, want the first one", len(left))
	}
	if got := s.Calls().Total(); got != 0 {
		t.Errorf("%d calls counted as the program's own, want 0: %v", got, s.Calls())
	}
}

// wireQueue makes a queue with n messages, 0, 1 and so on, and returns its URL.
func wireQueue(t *testing.T, client *sqs.Client, n int) string {
	t.Helper()
	made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName:  new(fmt.Sprint("event-source-", time.Now().UnixNano())),
		Attributes: map[string]string{"VisibilityTimeout": "5"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		in := &sqs.SendMessageInput{QueueUrl: made.QueueUrl, MessageBody: new(fmt.Sprint(i))}
		if _, err := client.SendMessage(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	return *made.QueueUrl
}

// The whole course against another emulator, in real time: a batch, a failure,
// its redelivery, and quiet.
func TestEventSourceOnWire(t *testing.T) {
	t.Parallel()
	base := os.Getenv("ACKWISE_SQS_ENDPOINT")
	if base == "" {
		t.Skip("NOT RUN: ACKWISE_SQS_ENDPOINT is not set, so the event source does not run against another emulator. " +
			"Run it with: make test")
	}
	s := sqstest.NewServer(sqstest.Config{})
	t.Cleanup(s.Close)
	client := socketClient(t, s, base)
	url := wireQueue(t, client, 12)
	var mu sync.Mutex
	seen := make(map[string]int)
	source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{
		Client: client, QueueURL: url, Timeout: 5 * time.Second,
		Handler: handling(func(_ context.Context, e events.SQSEvent) (failed []string, err error) {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range e.Records {
				if seen[r.Body]++; r.Body == "5" && seen[r.Body] == 1 {
					failed = append(failed, r.MessageId)
				}
			}
			return failed, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := source.Drain(ctx); err != nil {
		t.Fatalf("Drain: %v", err)
	}
	// At least: SQS may deliver anything again, and a slow machine makes it.
	if got := source.Stats(); got.Reported < 1 || got.Deleted < 12 || len(seen) != 12 || seen["5"] < 2 {
		t.Errorf("stats are %+v and deliveries %v, want 12 messages deleted, one of them after a failure", got, seen)
	}
}
