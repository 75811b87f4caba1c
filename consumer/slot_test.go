package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

func TestSlot_ConcurrencyBoundsHandlers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, cfg := newJournal(), steady(1)
		cfg.Concurrency = 3
		h := consumer.HandlerFunc(func(ctx context.Context, _ *consumer.Message) error { return sleeps(time.Second)(ctx) })
		var ids []string
		for i := range 30 {
			ids = append(ids, fmt.Sprintf("m%d", i))
		}
		begin := time.Now()
		outs := newConsumer(t, journaled(cfg, j), h).Process(t.Context(), newSource(t), deliveries(ids...))
		want(t, "handlers at once", j.atOnce(), 3)
		want(t, "time", time.Since(begin), 10*time.Second)
		for i, o := range outs {
			want(t, "outcome", short(o), ids[i]+"=done")
		}
	})
}

func TestSlot_SharedByConcurrentSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, cfg := newJournal(), steady(1)
		cfg.Concurrency = 2
		h := consumer.HandlerFunc(func(ctx context.Context, _ *consumer.Message) error { return sleeps(time.Second)(ctx) })
		c := newConsumer(t, journaled(cfg, j), h)
		ended := make(chan time.Duration)
		begin := time.Now()
		for _, ids := range [][]string{{"a1", "a2", "a3", "a4"}, {"b1", "b2", "b3", "b4"}} {
			go func() {
				outs := c.Process(t.Context(), newSource(t), deliveries(ids...))
				if len(outs) != 4 || !outs[3].Acknowledged() {
					t.Errorf("outcomes: %v", shorts(outs))
				}
				ended <- time.Since(begin)
			}()
		}
		first, second := <-ended, <-ended
		want(t, "handlers at once", j.atOnce(), 2)
		want(t, "end of the last", second, 4*time.Second)
		if first < 3*time.Second {
			t.Errorf("one session had all slots until %v: the other one starved", first)
		}
	})
}

// The slot serves the next message while SQS is still being told of the last.
func TestSlot_FreeBeforeSettling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, cfg, src := newJournal(), steady(1), newSource(t)
		cfg.Concurrency = 1
		src.ack = func(context.Context, consumer.Outcome) error { time.Sleep(10 * time.Second); return nil }
		h := consumer.HandlerFunc(func(ctx context.Context, _ *consumer.Message) error { return sleeps(time.Second)(ctx) })
		outs := newConsumer(t, journaled(cfg, j), h).Process(t.Context(), src, deliveries("1", "2", "3"))
		want(t, "starts", j.starts(), []string{"1@0s", "2@1s", "3@2s"})
		wantOutcomes(t, outs, "1=done", "2=done", "3=done")
	})
}

// Parking is part of settling, also for a source that settles at once.
func TestSlot_FreeBeforeParking(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []bool{false, true} {
		t.Run(fmt.Sprintf("SettlesAtOnce=%t", atOnce), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j, cfg := newJournal(), steady(1)
				cfg.Concurrency = 1
				cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error { time.Sleep(4 * time.Second); return nil })
				h := consumer.HandlerFunc(func(ctx context.Context, _ *consumer.Message) error {
					_ = sleeps(time.Second)(ctx)
					return retry.Permanent(errTest)
				})
				s := newConsumer(t, journaled(cfg, j), h).Open(newFIFO(t), consumer.SessionOptions{SettlesAtOnce: atOnce})
				outs := s.Run(deliveries("a1", "b1", "b2"))
				want(t, "starts", j.starts(), []string{"a1@0s", "b1@1s", "b2@6s"})
				wantOutcomes(t, outs, "a1=rejected parked", "b1=rejected parked", "b2=rejected parked")
			})
		})
	}
}

// parkFunc is a DeadLetter.
type parkFunc func(ctx context.Context, o consumer.Outcome) error

func (f parkFunc) Park(ctx context.Context, _ consumer.Queue, o consumer.Outcome) error {
	return f(ctx, o)
}

// Not parallel: it counts all goroutines there are, and the count of those that
// belong to waiting parallel tests must not change meanwhile.
//
//nolint:paralleltest // see above
func TestSlot_NoGoroutinePerWaitingMessage(t *testing.T) {
	for _, atOnce := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const n, concurrency = 10_000, 10
			cfg := steady(1)
			cfg.Concurrency = concurrency
			before, most := runtime.NumGoroutine(), 0
			counted := make(chan int, n)
			h := consumer.HandlerFunc(func(context.Context, *consumer.Message) error {
				time.Sleep(time.Second)
				counted <- runtime.NumGoroutine()
				return nil
			})
			ids := make([]string, n)
			for i := range ids {
				ids[i] = fmt.Sprint(i)
			}
			s := newConsumer(t, cfg, h).Open(newSource(t), consumer.SessionOptions{SettlesAtOnce: atOnce})
			for _, o := range s.Run(deliveries(ids...)) {
				if o.Verdict != consumer.VerdictDone {
					t.Fatal(short(o))
				}
			}
			for range n {
				most = max(most, <-counted)
			}
			// Workers, as many goroutines that settle, and a few of the session;
			// the runtime's count is off by some dozens now and then.
			if most > before+2*concurrency+100 {
				t.Errorf("%d goroutines for %d waiting messages at concurrency %d", most-before, n, concurrency)
			}
		})
	}
}

func TestSlot_EverySlotIsFreeAfterFailuresOfAllKinds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, cfg := newJournal(), steady(2)
		cfg.Concurrency = 3
		cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error { return errors.New("full") })
		h := script{
			"e": fails, "p": func(context.Context) error { panic("x") },
			"x": func(context.Context) error { runtime.Goexit(); return nil },
			"r": func(context.Context) error { return retry.Permanent(errTest) },
		}
		for i := range 9 {
			h[fmt.Sprintf("s%d", i)] = sleeps(time.Second)
		}
		c := newConsumer(t, journaled(cfg, j), h)
		c.Process(t.Context(), newSource(t), deliveries("e", "p", "x", "r"))
		want(t, "calls", len(j.starts()), 7)
		begin := time.Now()
		c.Process(t.Context(), newSource(t), deliveries("s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"))
		want(t, "handlers at once", j.atOnce(), 3)
		want(t, "time", time.Since(begin), 3*time.Second)
	})
}
