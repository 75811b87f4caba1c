package sqstest_test

import (
	"context"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

func TestWithoutReportBatchItemFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		response string
		err      error
		left     int
	}{
		{"a list is ignored", `{"batchItemFailures":[{"itemIdentifier":"zzz"}]}`, nil, 0},
		{"so is what is not JSON", `all fine`, nil, 0},
		{"an error fails the batch", ``, errBoom, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mappingBubble(t, func(b bubble) {
				t, s := b.t, b.server
				q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
				q.Send("a", "b")
				v := invokeOnce(t, s, q, sqstest.EventSourceConfig{
					WithoutReportBatchItemFailures: true,
					Handler: sqstest.HandlerFunc(func(context.Context, []byte) ([]byte, error) {
						return []byte(c.response), c.err
					}),
				})
				if q.Len() != c.left || len(v.Kept) != c.left {
					t.Errorf("%d messages left and %d kept, want %d", q.Len(), len(v.Kept), c.left)
				}
			})
		})
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		dead := makeQueue(t, s, "dead", sqstest.QueueConfig{})
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{DeadLetter: dead, MaxReceives: 1})
		q.Send("yes 1", "no 1", "yes 2", "no 2", "no 3")
		var seen []string
		m := mapTo(t, s, q, sqstest.EventSourceConfig{
			Filter: func(body string) bool { return body[0] == 'y' },
			Handler: handling(func(_ context.Context, e events.SQSEvent) ([]string, error) {
				seen = append(seen, recordBodies(e)...)
				return nil, nil
			}),
		})
		m.drain()
		if diff := cmp.Diff([]string{"yes 1", "yes 2"}, seen); diff != "" {
			t.Errorf("invoked with (-want +got):\n%s", diff)
		}
		if q.Len() != 0 || dead.Len() != 0 {
			t.Errorf("%d messages left, %d in the dead-letter queue, want none: what does not match is deleted", q.Len(), dead.Len())
		}
		want := sqstest.Stats{Invocations: 1, Records: 2, Deleted: 2, Filtered: 3, Failures: map[sqstest.FailureKind]int{}}
		if diff := cmp.Diff(want, m.source.Stats()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}

// All messages filtered: nothing is invoked, and the drain still ends.
func TestFilterOfEverything(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		q.Send(make25()...)
		m := mapTo(t, s, q, sqstest.EventSourceConfig{
			Filter:  func(string) bool { return false },
			Handler: handling(func(context.Context, events.SQSEvent) ([]string, error) { return nil, errBoom }),
		})
		m.drain()
		want := sqstest.Stats{Filtered: 25, Failures: map[sqstest.FailureKind]int{}}
		if diff := cmp.Diff(want, m.source.Stats()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}
