package sqstest_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

func TestHandlerContext(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: time.Minute})
		q.Send("a")
		var id string
		h := handling(func(ctx context.Context, _ events.SQSEvent) ([]string, error) {
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != 45*time.Second {
				t.Errorf("deadline is in %v (%v), want 45s", time.Until(deadline), ok)
			}
			lc, ok := lambdacontext.FromContext(ctx)
			if !ok {
				return nil, errors.New("no lambdacontext")
			}
			id = lc.AwsRequestID
			if want := "arn:aws:lambda:us-east-1:000000000000:function:function"; lc.InvokedFunctionArn != want {
				t.Errorf("InvokedFunctionArn is %q, want %q", lc.InvokedFunctionArn, want)
			}
			return nil, nil
		})
		v := invokeOnce(t, s, q, sqstest.EventSourceConfig{Timeout: 45 * time.Second, Handler: h})
		if id == "" || v.RequestID != id {
			t.Errorf("RequestID is %q, the handler saw %q", v.RequestID, id)
		}
	})
}

// The result of a handler that outlived its timeout changes nothing, and the
// slot is free for the next batch meanwhile. Drain waits for the handler.
func TestLateHandlerIsIgnored(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: 30 * time.Second})
		q.Send("a")
		var calls atomic.Int32
		m := mapTo(t, s, q, sqstest.EventSourceConfig{
			Timeout: 10 * time.Second, Concurrency: 1,
			Handler: handling(func(ctx context.Context, _ events.SQSEvent) ([]string, error) {
				if calls.Add(1) > 1 {
					return nil, nil
				}
				<-ctx.Done()
				if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
					t.Errorf("context ended with %v, want the deadline", ctx.Err())
				}
				time.Sleep(50 * time.Second) // until after the second delivery
				return nil, nil
			}),
		})
		m.drain()
		var when []time.Duration
		for _, v := range m.invocations() {
			when = append(when, v.Started.Sub(m.start), v.Duration)
		}
		want := []time.Duration{0, 10 * time.Second, 30 * time.Second, 0}
		if diff := cmp.Diff(want, when); diff != "" {
			t.Errorf("starts and durations (-want +got):\n%s", diff)
		}
		if got := m.elapsed(); got != time.Minute {
			t.Errorf("Drain returned after %v, want 1m0s: when the late handler had returned", got)
		}
		stats := sqstest.Stats{Invocations: 2, Records: 2, Deleted: 1, Failures: map[sqstest.FailureKind]int{sqstest.FailureTimeout: 1}}
		if diff := cmp.Diff(stats, m.source.Stats()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}

func TestLeaveLate(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: 30 * time.Second})
		q.Send("a")
		release := make(chan struct{})
		var called atomic.Bool
		m := mapTo(t, s, q, sqstest.EventSourceConfig{
			LeaveLate: true, Concurrency: 1,
			Handler: handling(func(context.Context, events.SQSEvent) ([]string, error) {
				if !called.Swap(true) {
					<-release
				}
				return nil, nil
			}),
		})
		m.drain()
		if got := m.source.Stats().Late; got != 1 {
			t.Errorf("Late is %d, want 1", got)
		}
		close(release)
		time.Sleep(time.Second)
		if got := m.source.Stats().Late; got != 0 {
			t.Errorf("Late is %d once the handler has returned, want 0", got)
		}
	})
}

// Run ends with its context, but first lets invocations finish and deletes what
// they did; handlers do not see the end of that context.
func TestRunFinishesInvocations(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		q.Send("a")
		h := handling(func(ctx context.Context, _ events.SQSEvent) ([]string, error) {
			time.Sleep(20 * time.Second)
			return nil, ctx.Err()
		})
		m := mapTo(t, s, q, sqstest.EventSourceConfig{Handler: h})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := m.source.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
		if got := m.elapsed(); got != 20*time.Second {
			t.Errorf("Run returned after %v, want 20s", got)
		}
		if q.Len() != 0 {
			t.Errorf("%d messages left, want none", q.Len())
		}
	})
}

// A batch that is being filled when the context ends is invoked, since its
// messages have been received.
func TestRunEndsWindow(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: 10 * time.Minute})
		q.Send("a", "b")
		var z sizes
		m := mapTo(t, s, q, sqstest.EventSourceConfig{BatchSize: 100, Window: 5 * time.Minute, Handler: z.handler()})
		ctx, cancel := context.WithTimeout(t.Context(), 42*time.Second)
		defer cancel()
		if err := m.source.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
		if diff := cmp.Diff([]time.Duration{42 * time.Second}, z.at); diff != "" || q.Len() != 0 {
			t.Errorf("%d messages left, invoked at (-want +got):\n%s", q.Len(), diff)
		}
	})
}

func TestDrainReportsContext(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		q.Send("a")
		m := mapTo(t, s, q, sqstest.EventSourceConfig{Handler: handling(func(context.Context, events.SQSEvent) ([]string, error) {
			return nil, errBoom
		})})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := m.source.Drain(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not quiet") {
			t.Errorf("Drain: %v, want not quiet, context.DeadlineExceeded", err)
		}
	})
}

func TestOneRunAtATime(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		q.Send("a")
		var m *mapped
		h := handling(func(ctx context.Context, _ events.SQSEvent) ([]string, error) {
			if err := m.source.Run(ctx); !errors.Is(err, sqstest.ErrBusy) {
				t.Errorf("second Run: %v, want ErrBusy", err)
			}
			return nil, nil
		})
		m = mapTo(t, s, q, sqstest.EventSourceConfig{Handler: h})
		m.drain()
		m.drain() // one after another is fine
	})
}
