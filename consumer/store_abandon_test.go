package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/retry"
)

// An abandoned handler may still be at it: the key stays held until the lease
// ends, whatever it returns later.
func TestStore_AbandonedIsNeitherReleasedNorCompleted(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]error{"nil": nil, "error": errTest, "permanent": retry.Permanent(errTest)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st, src := newScripted(), newSource(t)
				cfg := guarded(t, steady(3), st)
				h := script{"a": func(context.Context) error { time.Sleep(30 * time.Second); return late }}
				outs := newConsumer(t, cfg, h).Process(timeout(t, 10*time.Second), src, deliveries("a"))
				wantOutcomes(t, outs, "a=retry-")
				wantErr(t, outs[0].Err, consumer.ErrAbandoned)
				want(t, "attempt, tries", []int{outs[0].Attempt, outs[0].Tries}, []int{1, 1})
				st.wantRecord(t, "a", state{"in_progress", 1, ""})
				// Another process: not before deadline + 1 s, and a second for skew.
				want(t, "elsewhere", short(outcome(t, cfg, never(t), delivery("a", 2))), "a=deferred+3s")
				time.Sleep(time.Minute)
				want(t, "asked", st.asked(), []string{"claim a", "claim a"})
				st.wantRecord(t, "a", state{"in_progress", 1, ""})
				want(t, "told", len(src.told()), 1)
				o := outcome(t, cfg, script{}, delivery("a", 3))
				want(t, "after the lease", short(o), "a=done")
				want(t, "attempt", o.Attempt, 2)
			})
		})
	}
}

// The attempt is the store's also here, not the receive count.
func TestStore_AbandonedSaysItsAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := guarded(t, steady(1), newScripted())
		want(t, "first", short(outcome(t, cfg, script{"a": fails}, delivery("a", 6))), "a=retry+10s")
		c := newConsumer(t, cfg, script{"a": sleeps(time.Hour)})
		outs := c.Process(timeout(t, 10*time.Second), newSource(t), []*consumer.Delivery{delivery("a", 7)})
		want(t, "attempt", outs[0].Attempt, 2)
		time.Sleep(time.Hour)
	})
}

// Its transaction has landed, so the work is done although it has not returned.
func TestStore_AbandonedButCompletedIsDone(t *testing.T) {
	t.Parallel()
	for _, fifo := range []bool{false, true} {
		for _, atOnce := range []bool{false, true} {
			t.Run(fmt.Sprintf("FIFO=%t, SettlesAtOnce=%t", fifo, atOnce), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					st, src, begin := newScripted(), newSource(t), time.Now()
					if fifo {
						src = newFIFO(t)
					}
					deaf := func(ctx context.Context) error { _ = transact(ctx, st); time.Sleep(time.Hour); return errTest }
					cfg := guarded(t, steady(3), st)
					cfg.Concurrency = 2
					s := newConsumer(t, cfg, script{"a1": deaf, "b1": deaf}).
						Open(src, consumer.SessionOptions{Context: timeout(t, 10*time.Second), SettlesAtOnce: atOnce})
					outs := s.Run(deliveries("a1", "b1", "a2"))
					wantOutcomes(t, outs, "a1=done", "b1=done", "a2=deferred+10s")
					wantErr(t, outs[2].Err, consumer.ErrDeadline)
					want(t, "attempt, tries", []int{outs[0].Attempt, outs[0].Tries}, []int{1, 1})
					want(t, "error", outs[0].Err, nil)
					want(t, "time", time.Since(begin), 9*time.Second)
					want(t, "told", len(src.told()), 3)
					time.Sleep(2 * time.Hour)
					want(t, "asked", len(st.asked()), 2)
				})
			})
		}
	}
}

// The acknowledgement of such a message can fail or hang like any other; on a
// FIFO queue what waits behind it is then behind a message that is still there.
func TestStore_AbandonedButCompletedAndNotConfirmed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ack  func(context.Context, consumer.Outcome) error
		took time.Duration
	}{
		"fails": {func(context.Context, consumer.Outcome) error { return errTest }, 9 * time.Second},
		"obeys": {obey, 9900 * time.Millisecond},
		"hangs": {hang, 9950 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st, src, begin := newScripted(), newFIFO(t), time.Now()
				src.ack = tt.ack
				deaf := func(ctx context.Context) error { _ = transact(ctx, st); time.Sleep(time.Hour); return nil }
				c := newConsumer(t, guarded(t, steady(3), st), script{"a1": deaf, "b1": deaf})
				outs := c.Process(timeout(t, 10*time.Second), src, deliveries("a1", "a2", "b1"))
				wantOutcomes(t, outs, "a1=done", "a2=deferred+10s", "b1=done")
				want(t, "time", time.Since(begin), tt.took)
				if name != "hangs" {
					wantErr(t, outs[1].Err, consumer.ErrGroupFailed)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// The store ignores its context. The handler was not entered, so there was no
// attempt, and it must not be entered when the store answers at last.
func TestStore_AbandonedInTheGuard(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"claimed": nil, "fails": errStore} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := newScripted()
				st.deaf = true
				st.before["claim"] = func(context.Context, string) error { time.Sleep(time.Hour); return answer }
				cfg := guarded(t, steady(1), st)
				cfg.Concurrency = 1
				c := newConsumer(t, cfg, never(t))
				outs := c.Process(timeout(t, 10*time.Second), newSource(t), deliveries("a"))
				wantOutcomes(t, outs, "a=deferred-")
				want(t, "attempt, tries", []int{outs[0].Attempt, outs[0].Tries}, []int{0, 0})
				wantErr(t, outs[0].Err, consumer.ErrDeadline)
				if errors.Is(outs[0].Err, consumer.ErrAbandoned) {
					t.Errorf("error %q is about a handler that was never entered", outs[0].Err)
				}
				if !c.Stuck() {
					t.Error("the slot is free although the guard has not answered")
				}
				time.Sleep(2 * time.Hour)
				if c.Stuck() {
					t.Error("the slot was lost")
				}
			})
		})
	}
}

// So may a key function.
func TestStore_AbandonedInTheKeyFunction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		cfg := guarded(t, steady(1), st)
		cfg.Key = func(*consumer.Message) (consumer.Key, error) {
			time.Sleep(time.Hour)
			return consumer.Key{Value: "k"}, nil
		}
		outs := newConsumer(t, cfg, never(t)).Process(timeout(t, 10*time.Second), newSource(t), deliveries("a"))
		wantOutcomes(t, outs, "a=deferred-")
		time.Sleep(2 * time.Hour)
		want(t, "records", st.mem.Len(), 0)
	})
}

// Recording can hang as settling can: the verdict stands, and the session ends.
func TestStore_RecordingThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []bool{false, true} {
		t.Run(fmt.Sprintf("SettlesAtOnce=%t", atOnce), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st, src, begin := newScripted(), newSource(t), time.Now()
				st.deaf = true
				st.before["complete"], st.before["release"] = delays(time.Hour), delays(time.Hour)
				c := newConsumer(t, guardedBy(t, steady(1), st, idempotency.Config{}), script{"a": steps(), "b": fails})
				outs := c.Open(src, consumer.SessionOptions{Context: timeout(t, 10*time.Second), SettlesAtOnce: atOnce}).
					Run(deliveries("a", "b"))
				wantOutcomes(t, outs, "a=done", "b=retry+10s")
				want(t, "time", time.Since(begin), 9950*time.Millisecond)
				told := len(src.told())
				time.Sleep(2 * time.Hour)
				want(t, "told later", len(src.told()), told)
			})
		})
	}
}
