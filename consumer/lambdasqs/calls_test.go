package lambdasqs_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// batch sends n messages of which f fail, and returns their records.
func (r *rig) batch(n, f int) ([]record, consumer.Handler) {
	h := byBody{}
	for i := range n {
		if i < f {
			h[fmt.Sprint(i)] = fails
		}
		r.queue.SendGroup(fmt.Sprint(i), fmt.Sprint(i)) // each in a group of its own
	}
	return r.receive(n), h
}

func TestCalls_NoneIfAllSucceed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders", sqstest.QueueConfig{})
		records, h := r.batch(100, 0)
		a := newAdapter(t, h, steady(1), lambdasqs.Config{SQS: r.server.Client()})
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, records...)), nil)
		want(t, "calls", r.server.Calls(), sqstest.Calls{})
	})
}

func TestCalls_OneForTenFailures(t *testing.T) {
	t.Parallel()
	for f, calls := range map[int]int{1: 1, 10: 1, 11: 2, 95: 10} {
		for _, name := range []string{"orders", "orders.fifo"} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, name, sqstest.QueueConfig{})
				records, h := r.batch(100, f)
				a := newAdapter(t, h, steady(1), lambdasqs.Config{SQS: r.server.Client()})
				want(t, "failed", len(invoke(t, a, time.Minute, eventOf(t, records...))), f)
				want(t, fmt.Sprintf("calls for %d failures", f), r.server.Calls(), sqstest.Calls{"ChangeMessageVisibilityBatch": calls})
				seconds, _ := r.changes(records)
				want(t, "messages", len(seconds), f)
			})
		}
	}
}

// inFlight counts the calls that were served at the same time.
func (r *rig) inFlight() (most int) {
	var calls []sqstest.Call
	for _, c := range r.server.Log() {
		if c.Action == "ChangeMessageVisibilityBatch" {
			calls = append(calls, c)
		}
	}
	for _, c := range calls {
		n := 0
		for _, other := range calls {
			if !other.Time.After(c.Time) && other.Time.Add(other.Took).After(c.Time) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestCalls_AtMostFourInFlight(t *testing.T) {
	t.Parallel()
	for _, extend := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, "orders", sqstest.QueueConfig{Visibility: time.Hour})
			records, h := r.batch(200, 200)
			r.server.Inject(sqstest.Fault{Action: "ChangeMessageVisibilityBatch", Times: -1, Delay: time.Second})
			a := newAdapter(t, h, steady(1), lambdasqs.Config{SQS: r.server.Client(), ExtendVisibility: extend})
			begin := time.Now()
			want(t, "failed", len(invoke(t, a, 5*time.Minute, eventOf(t, records...))), 200)
			rounds := map[bool]int{false: 1, true: 2}[extend]
			want(t, "calls", r.server.Calls()["ChangeMessageVisibilityBatch"], 20*rounds)
			want(t, "calls in flight", r.inFlight(), 4)
			want(t, "time", time.Since(begin), time.Duration(rounds)*5*time.Second)
		})
	}
}

// The failures of a batch are sent while it runs, not only at its end.
func TestCalls_AreMadeWhileTheBatchRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders", sqstest.QueueConfig{Visibility: time.Hour})
		records, _ := r.batch(21, 0)
		h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
			if m.Body == "20" {
				time.Sleep(30 * time.Second)
				want(t, "calls so far", r.server.Calls()["ChangeMessageVisibilityBatch"], 2)
				return nil
			}
			return errTest
		})
		a := newAdapter(t, h, steady(1), lambdasqs.Config{SQS: r.server.Client()})
		want(t, "failed", len(invoke(t, a, time.Minute, eventOf(t, records...))), 20)
		want(t, "calls", r.server.Calls()["ChangeMessageVisibilityBatch"], 2)
	})
}

// When the time for handlers is up, one more round of four calls is made; the
// other messages wait out their visibility.
func TestCalls_AtMostFourAfterHandlersAreCancelled(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{0, time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, "orders", sqstest.QueueConfig{Visibility: time.Hour})
			records, _ := r.batch(100, 0)
			h := consumer.HandlerFunc(func(ctx context.Context, _ *consumer.Message) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
			cfg := steady(1)
			cfg.Concurrency = 100
			r.server.Inject(sqstest.Fault{Action: "ChangeMessageVisibilityBatch", Times: -1, Delay: delay})
			a := newAdapter(t, h, cfg, lambdasqs.Config{SQS: r.server.Client()})
			want(t, "failed", len(invoke(t, a, 10*time.Second, eventOf(t, records...))), 100)
			want(t, "calls", r.server.Calls()["ChangeMessageVisibilityBatch"], 4)
			seconds, _ := r.changes(records)
			want(t, "messages", len(seconds), 40)
		})
	}
}

// What never got to run is deferred while there is time: more than four calls
// are fine then.
func TestCalls_DeferredBeforeHandlersAreCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, cfg := newRig(t, "orders", sqstest.QueueConfig{Visibility: time.Hour}), steady(1)
		records, _ := r.batch(100, 0)
		h := consumer.HandlerFunc(func(context.Context, *consumer.Message) error { time.Sleep(7500 * time.Millisecond); return nil })
		cfg.Concurrency = 1
		a := newAdapter(t, h, cfg, lambdasqs.Config{SQS: r.server.Client()})
		want(t, "failed", len(invoke(t, a, 10*time.Second, eventOf(t, records...))), 99)
		want(t, "calls", r.server.Calls(), sqstest.Calls{"ChangeMessageVisibilityBatch": 10})
		seconds, _ := r.changes(records)
		want(t, "messages", len(seconds), 99)
	})
}

// SQS that hangs does not hold up the answer, and nothing hangs on afterwards.
func TestCalls_ThatHangAreGivenUpInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders", sqstest.QueueConfig{Visibility: time.Hour})
		records, h := r.batch(50, 45)
		r.server.Inject(sqstest.Fault{Action: "ChangeMessageVisibilityBatch", Times: -1, Delay: time.Hour})
		a := newAdapter(t, h, steady(1), lambdasqs.Config{SQS: r.server.Client()})
		begin := time.Now()
		want(t, "failed", len(invoke(t, a, 3*time.Second, eventOf(t, records...))), 45)
		if took := time.Since(begin); took > 2950*time.Millisecond {
			t.Errorf("the answer came after %v", took)
		}
		for _, c := range r.server.Log() {
			want(t, "call is over", c.Done, true)
		}
	})
}

// Throttled calls are made again while there is time, and not when the answer is
// due: one call for each batch then.
func TestCalls_OneForEachBatchAfterHandlersAreCancelled(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, "orders", sqstest.QueueConfig{Visibility: time.Hour})
			records, _ := r.batch(40, 0)
			h := consumer.HandlerFunc(func(ctx context.Context, _ *consumer.Message) error {
				if late {
					<-ctx.Done()
				}
				return errTest
			})
			cfg := steady(1)
			cfg.Concurrency = 40
			r.server.Inject(sqstest.Fault{Action: "ChangeMessageVisibilityBatch", Times: -1, Err: sqstest.KMSThrottled()})
			a := newAdapter(t, h, cfg, lambdasqs.Config{SQS: r.server.Client()})
			begin := time.Now()
			want(t, "failed", len(invoke(t, a, 10*time.Second, eventOf(t, records...))), 40)
			want(t, "calls", r.server.Calls()["ChangeMessageVisibilityBatch"], map[bool]int{false: 12, true: 4}[late])
			if late {
				want(t, "time", time.Since(begin), 8*time.Second)
			}
		})
	}
}
