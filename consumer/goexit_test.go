package consumer_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

// quitter is a slog.Handler that ends the goroutine that logs, as a t.Fatal in
// a test's handler does, or already does so when it is asked whether it is enabled.
type quitter struct {
	calls *atomic.Int64
	soon  bool
}

func (q quitter) Enabled(context.Context, slog.Level) bool {
	if q.soon {
		q.calls.Add(1)
		runtime.Goexit()
	}
	return true
}

func (q quitter) Handle(context.Context, slog.Record) error {
	q.calls.Add(1)
	runtime.Goexit()
	return nil
}
func (q quitter) WithAttrs([]slog.Attr) slog.Handler { return q }
func (q quitter) WithGroup(string) slog.Handler      { return q }

// goexits are extras that call runtime.Goexit, which nothing can stop. They count
// their calls.
func goexits() map[string]func(cfg *consumer.Config, calls *atomic.Int64) {
	observe := func(kind consumer.EventKind) func(*consumer.Config, *atomic.Int64) {
		return func(cfg *consumer.Config, calls *atomic.Int64) {
			cfg.Observe = func(e consumer.Event) {
				if e.Kind == kind {
					calls.Add(1)
					runtime.Goexit()
				}
			}
		}
	}
	backoff := func(calls *atomic.Int64) retry.Backoff {
		return func(int) time.Duration { calls.Add(1); runtime.Goexit(); return 0 }
	}
	return map[string]func(cfg *consumer.Config, calls *atomic.Int64){
		"Observe a try":            observe(consumer.EventTry),
		"Observe an outcome":       observe(consumer.EventOutcome),
		"Observe what is not gone": observe(consumer.EventUnconfirmed),
		"Logger":                   func(cfg *consumer.Config, calls *atomic.Int64) { cfg.Logger = slog.New(quitter{calls: calls}) },
		"Logger.Enabled":           func(cfg *consumer.Config, calls *atomic.Int64) { cfg.Logger = slog.New(quitter{calls, true}) },
		"Redelivery.Backoff":       func(cfg *consumer.Config, calls *atomic.Int64) { cfg.Redelivery.Backoff = backoff(calls) },
		"Retry.Backoff":            func(cfg *consumer.Config, calls *atomic.Int64) { cfg.Retry.Backoff = backoff(calls) },
		"all": func(cfg *consumer.Config, calls *atomic.Int64) {
			cfg.Observe = func(consumer.Event) { calls.Add(1); runtime.Goexit() }
			cfg.Logger = slog.New(quitter{calls: new(atomic.Int64)})
			cfg.Redelivery.Backoff, cfg.Retry.Backoff = backoff(new(atomic.Int64)), backoff(new(atomic.Int64))
		},
	}
}

// Whichever extra ends the goroutine it is called on: no verdict changes, what is
// done is not run again, nothing has more tries than it should, and the slots
// are all there afterwards. The extra is called once.
func TestGoexit_InAnExtraChangesNothing(t *testing.T) {
	t.Parallel()
	for name, set := range goexits() {
		for _, o := range []consumer.SessionOptions{{}, {SettlesAtOnce: true}, {Capacity: 4}, {Deadline: time.Unix(946684860, 0)}} {
			t.Run(fmt.Sprintf("%s, %+v", name, o), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var calls, tries atomic.Int64
					cfg, src, j := steady(2), newFIFO(t), newJournal()
					cfg.Concurrency = 2
					set(&cfg, &calls)
					src.ack = func(_ context.Context, o consumer.Outcome) error {
						if o.Delivery.ID == "e1" {
							return errTest
						}
						return nil
					}
					h := script{
						"b1": func(context.Context) error { tries.Add(1); return errTest }, "c1": always(retry.Permanent(errTest)),
						"x1": second, "y1": second,
					}
					c := newConsumer(t, journaled(cfg, j), h)
					outs := c.Open(src, o).Run(deliveries("a1", "a2", "b1", "b2", "b3", "c1", "c2", "d1", "e1", "e2"))
					want(t, "verdicts", verdicts(outs), strings.Fields("a1=done a2=done b1=retry b2=deferred b3=deferred "+
						"c1=rejected c2=deferred d1=done e1=done e2=deferred"))
					want(t, "tries of b1", tries.Load(), 2)
					want(t, "runs", ids(j), []string{"a1", "a2", "b1", "b1", "c1", "d1", "e1"})
					want(t, "calls of the extra", calls.Load(), 1)
					begin := time.Now()
					wantOutcomes(t, c.Process(t.Context(), newFIFO(t), deliveries("x1", "y1")), "x1=done", "y1=done")
					want(t, "time that two take with both slots", time.Since(begin), time.Second)
				})
			})
		}
	}
}

func verdicts(outs []consumer.Outcome) (all []string) {
	for _, o := range outs {
		all = append(all, o.Delivery.ID+"="+o.Verdict.String())
	}
	return all
}

// ids are the messages that a journal has runs of, sorted.
func ids(j *journal) (all []string) {
	for _, s := range j.starts() {
		id, _, _ := strings.Cut(s, "@")
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

// A hook that does it is told no more, but the log has a line for every outcome.
func TestGoexit_InObserveLosesNoLineOfTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		cfg := steady(1)
		cfg.Logger = log.logger()
		cfg.Observe = func(e consumer.Event) {
			if e.Kind == consumer.EventOutcome {
				runtime.Goexit()
			}
		}
		newConsumer(t, cfg, script{"a1": fails}).Process(t.Context(), newFIFO(t),
			[]*consumer.Delivery{delivery("a1", 1), delivery("a1", 2), delivery("a2", 1), delivery("a3", 1)})
		want(t, "lines", strings.Count(log.String(), "message not done"), 4)
		want(t, "lines about the hook", strings.Count(log.String(), "Observe called runtime.Goexit"), 1)
	})
}

// What is told when time is up, by whoever closes, cannot end that goroutine: the
// invocation answers.
func TestGoexit_InAnExtraWhileClosing(t *testing.T) {
	t.Parallel()
	for name, set := range goexits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				cfg := steady(1)
				cfg.Concurrency = 1
				set(&cfg, &calls)
				c := newConsumer(t, cfg, script{"a1": sleeps(time.Minute)})
				returned := make(chan []consumer.Outcome, 1)
				go func() {
					defer close(returned)
					returned <- c.Process(timeout(t, 10*time.Second), newFIFO(t), deliveries("a1", "a2", "b1", "b2", "c1"))
				}()
				outs := <-returned
				if outs == nil {
					t.Fatal("the goroutine of the host was ended")
				}
				want(t, "verdicts", verdicts(outs), strings.Fields("a1=retry a2=deferred b1=deferred b2=deferred c1=deferred"))
				time.Sleep(2 * time.Minute)
				if c.Stuck() {
					t.Error("the slot was lost")
				}
				wantOutcomes(t, c.Process(timeout(t, 10*time.Second), newFIFO(t), deliveries("a2")), "a2=done") // no stray of the group
			})
		})
	}
}

// So for what a Submit is told, on the receiver's goroutine.
func TestGoexit_InAnExtraWhileSubmitting(t *testing.T) {
	t.Parallel()
	for name, set := range goexits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				cfg, src := steady(1), newFIFO(t)
				set(&cfg, &calls)
				s := newConsumer(t, cfg, script{"a1": sleeps(time.Minute)}).Open(src, consumer.SessionOptions{Capacity: 2})
				submitted := make(chan error, 1)
				go func() {
					defer close(submitted)
					if err := s.Submit(t.Context(), deliveries("a1")...); err != nil {
						t.Error(err)
					}
					submitted <- s.Submit(timeout(t, time.Second), deliveries("b1", "b2")...)
				}()
				wantErr(t, <-submitted, context.DeadlineExceeded)
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
				want(t, "told", len(src.told()), 3)
			})
		})
	}
}

// A DeadLetter that does it has not parked: the message stays, and holds back its
// group.
func TestGoexit_InDeadLetterIsAFailedParking(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cfg, src, j := steady(1), newFIFO(t), newJournal()
			cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error { runtime.Goexit(); return nil })
			h := script{"a1": always(retry.Permanent(errTest))}
			s := newConsumer(t, journaled(cfg, j), h).Open(src, consumer.SessionOptions{SettlesAtOnce: atOnce})
			outs := s.Run(deliveries("a1", "a2", "b1"))
			wantOutcomes(t, outs, "a1=rejected+4s", "a2=deferred+6s", "b1=done")
			wantErr(t, outs[0].Err, errTest, consumer.ErrParkingFailed)
			want(t, "runs", ids(j), []string{"a1", "b1"})
			want(t, "told", len(src.told()), 3)
		})
	}
}

// A middleware is part of the handler: its Goexit costs a try.
func TestGoexit_InMiddlewareIsTheMessagesFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg, calls := steady(3), 0
		cfg.Concurrency = 1
		cfg.Middleware = []consumer.Middleware{func(next consumer.Handler) consumer.Handler {
			return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
				if m.ID == "a" {
					calls++
					runtime.Goexit()
				}
				return next.Handle(ctx, m)
			})
		}}
		outs := newConsumer(t, cfg, script{"a": mustNotRun(t)}).Process(t.Context(), newSource(t), deliveries("a", "b"))
		wantOutcomes(t, outs, "a=retry+10s", "b=done")
		want(t, "calls", calls, 3)
	})
}

// Before the handler is entered: a key function rejects its message, a store is
// unavailable. Each is asked once, not for ever.
func TestGoexit_InTheGuard(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		op  string
		out []string
	}{
		"Key":      {"", []string{"a1=rejected+4s", "a2=deferred+6s", "b1=done"}},
		"claim":    {"claim", []string{"a1=deferred+10s", "a2=deferred+12s", "b1=done"}},
		"complete": {"complete", []string{"a1=done", "a2=done", "b1=done"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st, calls := newScripted(), 0
				cfg := guarded(t, steady(1), st)
				cfg.Concurrency = 1
				quit := func(bad bool) {
					if bad {
						calls++
						runtime.Goexit()
					}
				}
				st.before[tt.op] = func(_ context.Context, key string) error { quit(strings.HasSuffix(key, ":a1")); return nil }
				if tt.op == "" {
					cfg.Key = func(m *consumer.Message) (consumer.Key, error) { quit(m.ID == "a1"); return consumer.MessageID(m) }
				}
				outs := newConsumer(t, cfg, script{}).Process(t.Context(), newFIFO(t), deliveries("a1", "a2", "b1"))
				wantOutcomes(t, outs, tt.out...)
				want(t, "calls", calls, 1)
			})
		})
	}
}
