package lambdasqs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

func TestCase_TM02_NoWaitIntoTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin, cfg := time.Now(), steady(5)
		cfg.Concurrency = 1
		cfg.Retry.Backoff = func(n int) time.Duration { return time.Second << (n - 1) }
		var seen ran
		cfg.Middleware = []consumer.Middleware{seen.wrap}
		a := newAdapter(t, byBody{"a": fails}, cfg, lambdasqs.Config{})
		failed := invoke(t, a, 2*time.Second, eventOf(t, invented(standardARN, "a", "b", "c")...))
		want(t, "failed", failed, []string{"id-a"})
		// Handlers end after 1.5 s; the wait after the second try would be 2 s.
		want(t, "ran", seen.sorted(), []string{"a", "a", "b", "c"})
		want(t, "time", time.Since(begin), time.Second)
	})
}

func TestCase_TM03_HandlerIgnoresCancellation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, cfg := newRig(t, "orders", sqstest.QueueConfig{Visibility: time.Minute}), steady(1)
		cfg.Concurrency = 2
		h := byBody{"deaf": sleeps(30 * time.Second), "next": sleeps(40 * time.Second)}
		a := newAdapter(t, h, cfg, lambdasqs.Config{SQS: r.server.Client()})
		r.send("deaf", "ok")
		records := r.receive(2)
		begin := time.Now()
		want(t, "failed", bodies(records, invoke(t, a, time.Second, eventOf(t, records...))), []string{"deaf"})
		if took := time.Since(begin); took >= time.Second {
			t.Errorf("the answer came after %v", took)
		}
		want(t, "calls: its visibility is not lowered", r.server.Calls().Total(), 0)
		// The handler ends while the next invocation is under way.
		next := invented(standardARN, "next", "other")
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, next...)), nil)
	})
}

func TestCase_TM05_NothingOfAnInvocationIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, cfg := newRig(t, "orders", sqstest.QueueConfig{Visibility: time.Hour}), steady(1)
		cfg.Redelivery.Backoff = func(int) time.Duration { return 0 }
		r.server.Inject(sqstest.Fault{Action: "ChangeMessageVisibilityBatch", Times: -1, Delay: 300 * time.Millisecond})
		h := byBody{}
		for i := range 25 {
			h[fmt.Sprint(i)] = fails
			r.send(fmt.Sprint(i))
		}
		a := newAdapter(t, h, cfg, lambdasqs.Config{SQS: r.server.Client(), ExtendVisibility: true})
		for range 20 {
			records := r.receive(25)
			want(t, "failed", len(invoke(t, a, time.Minute, eventOf(t, records...))), 25)
			end, calls := time.Now(), r.server.Calls().Total()
			for _, c := range r.server.Log() {
				if c.Caller == "" && (!c.Done || c.Time.Add(c.Took).After(end)) {
					t.Errorf("a call of the invocation is still under way: %+v", c)
				}
			}
			time.Sleep(time.Minute)
			want(t, "calls after the answer", r.server.Calls().Total()-calls, 0)
		}
	})
	// That no goroutine is left is checked when the bubble ends: everything in
	// it has to have returned then.
}

// Reserve is what handlers leave for the answer: 2 s, or a quarter of what there
// is if that is less.
func TestReserve(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ timeout, reserve, end time.Duration }{
		{3 * time.Second, 0, 2250 * time.Millisecond},
		{time.Second, 0, 750 * time.Millisecond},
		{time.Minute, 0, 58 * time.Second},
		{time.Minute, 5 * time.Second, 55 * time.Second},
		{15 * time.Minute, time.Hour, 675 * time.Second},
	} {
		t.Run(fmt.Sprint(tt.timeout, tt.reserve), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin, cause := time.Now(), error(nil)
				h := byBody{"a": func(ctx context.Context) error { <-ctx.Done(); cause = context.Cause(ctx); return nil }}
				a := newAdapter(t, h, steady(1), lambdasqs.Config{Reserve: tt.reserve})
				want(t, "failed", invoke(t, a, tt.timeout, eventOf(t, invented(standardARN, "a")...)), nil)
				want(t, "end of the handler", time.Since(begin), tt.end)
				if !errors.Is(cause, consumer.ErrDeadline) {
					t.Errorf("cause: %v", cause)
				}
			})
		})
	}
}

func TestReserve_PassedDeadlineReportsEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen ran
		r, cfg := newRig(t, "orders", sqstest.QueueConfig{}), steady(1)
		cfg.Middleware = []consumer.Middleware{seen.wrap}
		r.send("a", "b")
		records := r.receive(2)
		a := newAdapter(t, byBody{}, cfg, lambdasqs.Config{SQS: r.server.Client(), ExtendVisibility: true})
		want(t, "failed", len(invoke(t, a, -time.Second, eventOf(t, records...))), 2)
		want(t, "ran", seen.sorted(), nil)
		want(t, "calls", r.server.Calls().Total(), 0)
	})
}

// A process whose every slot is held by an abandoned handler refuses work before
// it does any.
func TestStuck_FailsAtEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, cfg := newRig(t, "orders", sqstest.QueueConfig{Visibility: time.Hour}), steady(1)
		cfg.Concurrency = 2
		var seen ran
		cfg.Middleware = []consumer.Middleware{seen.wrap}
		h := byBody{"a": sleeps(time.Hour), "b": sleeps(time.Hour)}
		a := newAdapter(t, h, cfg, lambdasqs.Config{SQS: r.server.Client(), ExtendVisibility: true})
		r.send("a", "b", "c")
		records := r.receive(3)
		want(t, "failed", len(invoke(t, a, 10*time.Second, eventOf(t, records...))), 3)
		calls := r.server.Calls().Total()
		answer, err := a.Invoke(t.Context(), eventOf(t, records...))
		if answer != nil || !errors.Is(err, consumer.ErrStuck) {
			t.Errorf("%q, %v", answer, err)
		}
		want(t, "calls", r.server.Calls().Total()-calls, 0)
		time.Sleep(2 * time.Hour)
		want(t, "ran", seen.sorted(), []string{"a", "b"})
		want(t, "failed", invoke(t, a, 10*time.Second, eventOf(t, records[2])), nil)
	})
}
