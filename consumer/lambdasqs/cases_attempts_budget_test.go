package lambdasqs_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
)

// budgeted is a configuration with a store, and a budget if attempts is not 0.
func budgeted(tb testing.TB, st idempotency.Store, attempts int) consumer.Config {
	tb.Helper()
	guard, err := idempotency.New(st, idempotency.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	cfg := steady(1)
	cfg.Idempotency, cfg.Redelivery.MaxAttempts = guard, attempts
	return cfg
}

// redriving is a rig with a dead-letter queue, on which the queue's own policy
// puts what was received ten times.
func redriving(t *testing.T) (r *rig, deadLetters *sqstest.Queue) {
	t.Helper()
	r = newRig(t, "orders-dlq", sqstest.QueueConfig{})
	deadLetters = r.queue
	r.queue = r.create("orders", sqstest.QueueConfig{DeadLetter: deadLetters, MaxReceives: 10})
	return r, deadLetters
}

// drain runs a mapping until the queue is quiet.
func (r *rig) drain(a sqstest.Handler) {
	r.t.Helper()
	source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{Client: r.server.Client(), QueueURL: r.queue.URL(), Handler: a})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := source.Drain(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	want(r.t, "invocations that failed", len(source.Stats().Failures), 0)
}

func counting(runs *atomic.Int64, do func(context.Context) error) consumer.Handler {
	return consumer.HandlerFunc(func(ctx context.Context, _ *consumer.Message) error { runs.Add(1); return do(ctx) })
}

// A budget of three is used up long before the ten receives. Without a sink the
// message is reported until SQS moves it, with one it is parked at once; if
// parking fails it is reported as well. It ends in the dead-letter queue, once.
func TestCase_AT02_ExhaustedEndsInTheDeadLetterQueueOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sink     bool
		failures int // of the sink's sends
		receives int // that the copy has behind it
	}{
		"no sink":         {false, 0, 10},
		"sink":            {true, 0, 0},
		"sink fails":      {true, -1, 10},
		"sink fails once": {true, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, deadLetters := redriving(t)
				st, runs := memstore.New(), new(atomic.Int64)
				cfg := budgeted(t, st, 3)
				if tt.sink {
					cfg.DeadLetter = dlq.New(r.server.Client(), deadLetters.URL())
				}
				if tt.failures != 0 {
					r.server.Inject(sqstest.Fault{Action: "SendMessage", Times: tt.failures, Err: sqstest.AccessDenied()})
				}
				id := r.queue.Send("a")[0]
				r.drain(newAdapter(t, counting(runs, fails), cfg, lambdasqs.Config{SQS: r.server.Client()}))
				want(t, "runs", runs.Load(), 3)
				dead := deadLetters.Messages()
				want(t, "dead letters", len(dead), 1)
				want(t, "receives of it", dead[0].ReceiveCount, tt.receives)
				want(t, "moved by SQS", dead[0].SourceARN != "", tt.receives > 0)
				rec, _ := st.Get(r.queue.ARN() + "#id:" + id)
				want(t, "record", fmt.Sprint(rec.Status, " ", rec.Attempts), "rejected 3")
				if tt.receives == 0 {
					p := *dead[0].Attributes[dlq.AttributeName].StringValue
					if !strings.Contains(p, `"attempts":3`) || !strings.Contains(p, id) {
						t.Errorf("provenance %s; want three attempts of %s", p, id)
					}
				}
			})
		})
	}
}

// Whatever makes a message come again, it is never by a send of ours: that would
// make its receive count begin anew.
func TestCase_AT04_RetryIsNeverASend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders-dlq", sqstest.QueueConfig{})
		deadLetters := r.queue
		r.queue = r.create("orders", sqstest.QueueConfig{DeadLetter: deadLetters, MaxReceives: 6})
		r.queue.Send("fails", "permanent", "panics", "slow", "done")
		h := byBody{
			"fails": fails, "permanent": permanent, "panics": func(context.Context) error { panic("boom") },
			"slow": func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
		}
		r.drain(newAdapter(t, h, budgeted(t, memstore.New(), 3), lambdasqs.Config{SQS: r.server.Client()}))
		want(t, "dead letters", deadLetters.Len(), 4)
		for action := range r.server.Calls() {
			if action != "ChangeMessageVisibilityBatch" {
				t.Errorf("the library called %s", action)
			}
		}
		want(t, "visibility was changed", r.server.Calls()["ChangeMessageVisibilityBatch"] > 0, true)
	})
}

// A consumer on the dead-letter queue itself: the event names that queue, and an
// attribute the one that the message failed on.
func TestCase_AT05_ConsumerOfTheDeadLetterQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, deadLetters := redriving(t)
		main := r.queue
		st, runs := memstore.New(), new(atomic.Int64)
		id := main.Send("a")[0]
		r.drain(newAdapter(t, counting(runs, fails), budgeted(t, st, 2), lambdasqs.Config{SQS: r.server.Client()}))
		want(t, "runs on the main queue", runs.Load(), 2)

		r.queue = deadLetters
		records := r.receive(1)
		want(t, "where it failed", records[0].Attributes["DeadLetterQueueSourceArn"], main.ARN())
		want(t, "id", records[0].MessageID, id)
		r.server.ResetCalls()
		var seen [2]int
		h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
			seen[0], seen[1] = m.Attempt()
			return errTest
		})
		a := newAdapter(t, h, budgeted(t, st, 2), lambdasqs.Config{SQS: r.server.Client()})
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, records...)), []string{id})
		want(t, "attempt", seen, [2]int{1, 2}) // though it was received eleven times
		calls := r.server.Log()
		want(t, "calls", len(calls), 1)
		want(t, "queue of the visibility call", calls[0].Queue, "orders-dlq")
		want(t, "error of the entry", calls[0].Entries[0].Code, "")
		want(t, "visibility", calls[0].Entries[0].Visibility, 10*time.Second)
		for arn, attempts := range map[string]int{main.ARN(): 2, deadLetters.ARN(): 1} {
			rec, _ := st.Get(arn + "#id:" + id)
			want(t, "attempts on "+arn, rec.Attempts, attempts)
		}
	})
}
