package sqstest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

var errBoom = errors.New("boom")

// failTimes is a function that reports each body's first n deliveries as failed
// and records when every delivery was.
func failTimes(n int, at *[]time.Duration) sqstest.Handler {
	start := time.Now()
	return handling(func(_ context.Context, e events.SQSEvent) ([]string, error) {
		var failed []string
		for _, r := range e.Records {
			*at = append(*at, time.Since(start))
			if len(*at) <= n {
				failed = append(failed, r.MessageId)
			}
		}
		return failed, nil
	})
}

func TestRedeliveryAfterVisibility(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		handler func(at *[]time.Duration) sqstest.Handler
	}{
		{"reported", func(at *[]time.Duration) sqstest.Handler { return failTimes(2, at) }},
		{"error", func(at *[]time.Duration) sqstest.Handler {
			start := time.Now()
			return handling(func(context.Context, events.SQSEvent) ([]string, error) {
				if *at = append(*at, time.Since(start)); len(*at) <= 2 {
					return nil, errBoom
				}
				return nil, nil
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mappingBubble(t, func(b bubble) {
				t, s := b.t, b.server
				q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: 90 * time.Second})
				q.Send("a")
				var at []time.Duration
				m := mapTo(t, s, q, sqstest.EventSourceConfig{Handler: c.handler(&at)})
				m.drain()
				want := []time.Duration{0, 90 * time.Second, 180 * time.Second}
				if diff := cmp.Diff(want, at); diff != "" {
					t.Errorf("deliveries (-want +got):\n%s", diff)
				}
				if got := s.CallsBy(sqstest.EventSourceCaller)["ChangeMessageVisibility"]; got != 0 {
					t.Errorf("%d visibility changes, want none", got)
				}
				if got := m.elapsed(); got != 180*time.Second {
					t.Errorf("quiet after %v, want 3m0s", got)
				}
			})
		})
	}
}

// The visibility that the function sets decides when the message comes back,
// however long that is, and the wait costs no polls.
func TestRedeliveryAfterTwelveHours(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		q.Send("a")
		client := s.Client()
		var at []time.Duration
		start := time.Now()
		h := handling(func(ctx context.Context, e events.SQSEvent) ([]string, error) {
			at = append(at, time.Since(start))
			if len(at) > 1 {
				return nil, nil
			}
			_, err := client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
				QueueUrl: aws.String(q.URL()), ReceiptHandle: &e.Records[0].ReceiptHandle, VisibilityTimeout: 43_000,
			})
			return []string{e.Records[0].MessageId}, err
		})
		m := mapTo(t, s, q, sqstest.EventSourceConfig{Handler: h})
		m.drain()
		if diff := cmp.Diff([]time.Duration{0, 43_000 * time.Second}, at); diff != "" {
			t.Errorf("deliveries (-want +got):\n%s", diff)
		}
		want := sqstest.Calls{"GetQueueAttributes": 1, "ReceiveMessage": 2, "DeleteMessageBatch": 1}
		if diff := cmp.Diff(want, s.CallsBy(sqstest.EventSourceCaller)); diff != "" {
			t.Errorf("calls of the event source (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(sqstest.Calls{"ChangeMessageVisibility": 1}, s.Calls()); diff != "" {
			t.Errorf("calls of the function (-want +got):\n%s", diff)
		}
	})
}

func TestDeadLetterQueue(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		dead := makeQueue(t, s, "dead", sqstest.QueueConfig{})
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{DeadLetter: dead, MaxReceives: 3})
		ids := q.Send("poison", "good")
		m := mapTo(t, s, q, sqstest.EventSourceConfig{Handler: handling(func(_ context.Context, e events.SQSEvent) ([]string, error) {
			var failed []string
			for _, r := range e.Records {
				if r.Body == "poison" {
					failed = append(failed, r.MessageId)
				}
			}
			return failed, nil
		})})
		m.drain()
		if n := q.Len(); n != 0 {
			t.Errorf("%d messages left in the queue, want 0", n)
		}
		parked := dead.Messages()
		if len(parked) != 1 || parked[0].ID != ids[0] || parked[0].ReceiveCount != 3 {
			t.Errorf("dead-letter queue has %+v, want the poison message after 3 receives", parked)
		}
		want := sqstest.Stats{Invocations: 3, Records: 4, Reported: 3, Deleted: 1, Failures: map[sqstest.FailureKind]int{}}
		if diff := cmp.Diff(want, m.source.Stats()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}

// A message that always fails leaves at the end of its retention.
func TestDrainEndsWithRetention(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{Retention: 10 * time.Minute, Visibility: time.Minute})
		q.Send("a")
		m := mapTo(t, s, q, sqstest.EventSourceConfig{Handler: handling(func(context.Context, events.SQSEvent) ([]string, error) {
			return nil, errBoom
		})})
		m.drain()
		if got := m.source.Stats().Failures[sqstest.FailureError]; got != 10 {
			t.Errorf("%d failed invocations, want one for each of 10 minutes", got)
		}
		if got := m.elapsed(); got != 10*time.Minute {
			t.Errorf("quiet after %v, want 10m0s", got)
		}
	})
}

// Delayed messages and those that a function sends while it runs are waited for
// too.
func TestDrainWaitsForDelayedAndNew(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		if _, err := q.SendMessage(sqstest.Message{Body: "late", Delay: 10 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		var seen []string
		m := mapTo(t, s, q, sqstest.EventSourceConfig{Handler: handling(func(_ context.Context, e events.SQSEvent) ([]string, error) {
			seen = append(seen, recordBodies(e)...)
			if seen[0] == "late" && len(seen) == 1 {
				q.Send("follow-up")
			}
			return nil, nil
		})})
		m.drain()
		if diff := cmp.Diff([]string{"late", "follow-up"}, seen); diff != "" {
			t.Errorf("seen (-want +got):\n%s", diff)
		}
		if got := m.elapsed(); got != 10*time.Minute {
			t.Errorf("quiet after %v, want 10m0s", got)
		}
	})
}

// An empty queue is not quiet while a function that may still send is running.
func TestDrainWaitsForRunningFunction(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func(*sqstest.Server) *sqs.Client{
		"in process": func(s *sqstest.Server) *sqs.Client { return s.Client() },
		"elsewhere":  elsewhere,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mappingBubble(t, func(b bubble) {
				t, s := b.t, b.server
				q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
				q.Send("first", "other")
				source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{
					Client: client(s), QueueURL: q.URL(), BatchSize: 1,
					Handler: handling(func(ctx context.Context, e events.SQSEvent) ([]string, error) {
						r := e.Records[0]
						if r.Body != "first" {
							time.Sleep(time.Second) // ends while the first one is running
							return nil, nil
						}
						_, err := s.Client().DeleteMessage(ctx, &sqs.DeleteMessageInput{
							QueueUrl: aws.String(q.URL()), ReceiptHandle: &r.ReceiptHandle,
						})
						time.Sleep(25 * time.Second)
						q.Send("second")
						return nil, err
					}),
				})
				if err != nil {
					t.Fatal(err)
				}
				if err := source.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := source.Stats().Records; got != 3 || q.Len() != 0 {
					t.Errorf("%d records and %d messages left, want 3 and 0", got, q.Len())
				}
			})
		})
	}
}
