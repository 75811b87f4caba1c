package consumer_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

func TestAbandoned_KeepsSlotAndVisibility(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			j, src, cfg := newJournal(), newSource(t), steady(3)
			cfg.Concurrency = 2
			h := script{"a": sleeps(30 * time.Second), "b": second, "c": second}
			c := newConsumer(t, journaled(cfg, j), h)
			s := c.Open(src, consumer.SessionOptions{Context: timeout(t, 10*time.Second), SettlesAtOnce: atOnce})
			outs := s.Run(deliveries("a", "b"))
			wantOutcomes(t, outs, "a=retry-", "b=done")
			wantErr(t, outs[0].Err, consumer.ErrAbandoned, consumer.ErrDeadline)
			want(t, "attempt", outs[0].Attempt, 1)
			want(t, "return", time.Since(j.began), 9*time.Second) // half the reserve is for collecting
			if c.Stuck() {
				t.Error("stuck with one of two slots left")
			}
			// One slot is left: what follows runs one after the other.
			c.Process(t.Context(), newSource(t), deliveries("b", "c"))
			want(t, "starts", j.starts(), []string{"a@0s", "b@0s", "b@9s", "c@10s"})
			// Both are there again when the handler has returned.
			time.Sleep(time.Minute)
			c.Process(t.Context(), newSource(t), deliveries("b", "c"))
			want(t, "starts", j.starts()[4:], []string{"b@1m11s", "c@1m11s"})
			want(t, "times the source was told", len(src.told()), 2) // nothing came later
		})
	}
}

func TestAbandoned_LateEndOfAnyKindIsIgnored(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(){
		"return": func() {}, "panic": func() { panic("late") }, "goexit": runtime.Goexit,
	} {
		for _, atOnce := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var calls, outcomes atomic.Int64
					src, cfg := newSource(t), steady(3)
					cfg.Concurrency = 1
					cfg.Observe = func(e consumer.Event) {
						if e.Kind == consumer.EventOutcome {
							outcomes.Add(1)
						}
					}
					h := script{"a": func(context.Context) error { calls.Add(1); time.Sleep(30 * time.Second); end(); return nil }}
					c := newConsumer(t, cfg, h)
					s := c.Open(src, consumer.SessionOptions{Context: timeout(t, 10*time.Second), SettlesAtOnce: atOnce})
					wantOutcomes(t, s.Run(deliveries("a")), "a=retry-")
					time.Sleep(time.Hour)
					want(t, "calls", calls.Load(), 1)
					want(t, "outcomes", outcomes.Load(), 1)
					want(t, "times the source was told", len(src.told()), 1)
					wantOutcomes(t, c.Process(t.Context(), newSource(t), deliveries("b")), "b=done")
				})
			})
		}
	}
}

func TestAbandoned_RedeliveryIsDeferredUntilHandlerReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		c := newConsumer(t, journaled(steady(3), j), script{"a": sleeps(30 * time.Second)})
		c.Process(timeout(t, 10*time.Second), newSource(t), deliveries("a"))
		// In a later session of the same Consumer, and of the same queue only.
		outs := c.Process(timeout(t, 10*time.Second), newSource(t), []*consumer.Delivery{delivery("a", 2), delivery("b", 1)})
		wantOutcomes(t, outs, "a=deferred+10s", "b=done")
		wantErr(t, outs[0].Err, consumer.ErrStillRunning)
		want(t, "attempt", outs[0].Attempt, 0)
		time.Sleep(time.Minute)
		outs = c.Process(t.Context(), newSource(t), []*consumer.Delivery{delivery("a", 3)})
		wantOutcomes(t, outs, "a=done")
		want(t, "starts", j.starts(), []string{"a@0s", "b@9s", "a@1m9s"})
	})
}

func TestAbandoned_SameIDOnAnotherQueueRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConsumer(t, steady(1), script{"a": sleeps(30 * time.Second)})
		c.Process(timeout(t, 10*time.Second), newSource(t), deliveries("a"))
		wantOutcomes(t, c.Process(t.Context(), newFIFO(t), deliveries("a")), "a=done")
		time.Sleep(time.Minute)
	})
}

func TestAbandoned_FollowersKeepTheirVisibilityToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newFIFO(t)
		c := newConsumer(t, steady(1), script{"a1": sleeps(30 * time.Second)})
		outs := c.Process(timeout(t, 10*time.Second), src, deliveries("a1", "a2", "b1"))
		wantOutcomes(t, outs, "a1=retry-", "a2=deferred-", "b1=done")
		time.Sleep(time.Minute)
	})
}

func TestAbandoned_ASecondAfterItsContextWhereNoDeadlineSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, begin := newSource(t), time.Now()
		h := script{
			"deaf":  sleeps(time.Hour),
			"tidy":  func(ctx context.Context) error { <-ctx.Done(); time.Sleep(900 * time.Millisecond); return nil },
			"brisk": works(time.Hour),
		}
		s := newConsumer(t, steady(3), h).Open(src, consumer.SessionOptions{})
		if err := s.Submit(t.Context(), deliveries("deaf", "tidy", "brisk")...); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if err := s.Close(timeout(t, 5*time.Second)); err != nil {
			t.Error(err)
		}
		want(t, "end of Close", time.Since(begin), time.Minute+6*time.Second)
		var outs []string
		for _, o := range src.told() {
			outs = append(outs, short(o.Outcome))
		}
		want(t, "outcomes", outs, []string{"brisk=deferred+0s", "tidy=done", "deaf=retry-"})
		time.Sleep(time.Hour)
	})
}

func TestStuck_WhenEverySlotIsAbandoned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, cfg := newJournal(), steady(1)
		cfg.Concurrency = 2
		c := newConsumer(t, journaled(cfg, j), script{"a": sleeps(time.Hour), "b": sleeps(2 * time.Hour)})
		if c.Stuck() {
			t.Error("a new Consumer is stuck")
		}
		c.Process(timeout(t, 10*time.Second), newSource(t), deliveries("a", "b"))
		if !c.Stuck() {
			t.Error("not stuck with every slot abandoned")
		}
		outs := c.Process(timeout(t, 10*time.Second), newSource(t), deliveries("c", "d"))
		wantOutcomes(t, outs, "c=deferred+10s", "d=deferred+10s")
		wantErr(t, outs[0].Err, consumer.ErrDeadline)
		time.Sleep(time.Hour)
		if c.Stuck() {
			t.Error("stuck although a handler has returned")
		}
		time.Sleep(2 * time.Hour)
		want(t, "starts", j.starts(), []string{"a@0s", "b@0s"})
		wantOutcomes(t, c.Process(t.Context(), newSource(t), deliveries("c", "d")), "c=done", "d=done")
	})
}

// Order holds across invocations too: while the abandoned handler of a group may
// still be at it, nothing of its group runs beside it in this process.
func TestAbandoned_HoldsBackItsGroupUntilItReturns(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			c := newConsumer(t, journaled(steady(1), j), script{"a1": sleeps(30 * time.Second)})
			run := func(names ...string) []consumer.Outcome {
				o := consumer.SessionOptions{Context: timeout(t, 10*time.Second), SettlesAtOnce: atOnce}
				return c.Open(newFIFO(t), o).Run(deliveries(names...))
			}
			wantOutcomes(t, run("a1"), "a1=retry-")
			outs := run("a2", "a3", "b1")
			wantOutcomes(t, outs, "a2=deferred+10s", "a3=deferred+12s", "b1=done")
			wantErr(t, outs[0].Err, consumer.ErrStillRunning)
			time.Sleep(time.Minute)
			wantOutcomes(t, run("a2", "a3"), "a2=done", "a3=done")
			want(t, "starts", j.starts(), []string{"a1@0s", "b1@9s", "a2@1m9s", "a3@1m9s"})
		})
	}
}
