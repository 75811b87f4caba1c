package consumer_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// slow is an Observe that takes d for events of one kind.
func slow(kind consumer.EventKind, d time.Duration) func(consumer.Event) {
	return func(e consumer.Event) {
		if e.Kind == kind {
			time.Sleep(d)
		}
	}
}

// sluggish is a slog.Handler that takes 20 s.
type sluggish struct{ slog.Handler }

func (sluggish) Enabled(context.Context, slog.Level) bool  { return true }
func (sluggish) Handle(context.Context, slog.Record) error { time.Sleep(20 * time.Second); return nil }

// The handler has returned nil, and only the hook is still at it when time is up.
func TestSlowHook_OnATryDoesNotChangeTheVerdict(t *testing.T) {
	t.Parallel()
	for _, fifo := range []bool{false, true} {
		for _, store := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				st, src, cfg, begin := newScripted(), newSource(t), steady(3), time.Now()
				if fifo {
					src = newFIFO(t)
				}
				if store {
					cfg = guarded(t, cfg, st)
				}
				cfg.Observe = slow(consumer.EventTry, 20*time.Second)
				s := newConsumer(t, cfg, script{}).Open(src, consumer.SessionOptions{Context: timeout(t, 10*time.Second), SettlesAtOnce: true})
				outs := s.Run(deliveries("a1"))
				wantOutcomes(t, outs, "a1=done")
				want(t, "error", outs[0].Err, nil)
				if took := time.Since(begin); took > 10*time.Second {
					t.Errorf("the answer took %v", took)
				}
				if rec, _ := st.mem.Get(src.queue.ARN + "#id:a1"); store && rec.Status.String() != "completed" {
					t.Errorf("the record says %v", rec.Status)
				}
				time.Sleep(time.Minute)
			})
		}
	}
}

// Whatever is told when, and however long that takes: the answer goes out.
func TestSlowHook_OnAnOutcomeDoesNotHoldTheAnswer(t *testing.T) {
	t.Parallel()
	for hook, set := range map[string]func(*consumer.Config){
		"Observe": func(c *consumer.Config) { c.Observe = slow(consumer.EventOutcome, 20*time.Second) },
		"Logger":  func(c *consumer.Config) { c.Logger = slog.New(sluggish{slog.DiscardHandler}) },
		"unconfirmed": func(c *consumer.Config) {
			c.Observe = slow(consumer.EventUnconfirmed, 20*time.Second)
		},
	} {
		for name, h := range map[string]script{
			"done": {}, "failed": {"a1": fails}, "late": {"a1": works(time.Hour)}, "abandoned": {"a1": sleeps(time.Minute)},
		} {
			for _, concurrency := range []int{1, 10} {
				t.Run(fmt.Sprintf("%s, %s, %d", hook, name, concurrency), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						cfg, src, begin := steady(1), newFIFO(t), time.Now()
						cfg.Concurrency = concurrency
						set(&cfg)
						src.ack = func(_ context.Context, o consumer.Outcome) error {
							if o.Delivery.ID == "c1" {
								return errTest
							}
							return nil
						}
						s := newConsumer(t, cfg, h).Open(src, consumer.SessionOptions{Context: timeout(t, 10*time.Second), SettlesAtOnce: true})
						outs := s.Run(deliveries("a1", "a2", "b1", "b2", "c1", "c2"))
						if took := time.Since(begin); took > 10*time.Second {
							t.Errorf("the answer took %v", took)
						}
						want(t, "acknowledged", outs[0].Acknowledged(), name == "done")
						for _, o := range outs {
							if !o.Acknowledged() && o.Err == nil {
								t.Errorf("%s has no reason", short(o))
							}
						}
						time.Sleep(10 * time.Minute)
					})
				})
			}
		}
	}
}
