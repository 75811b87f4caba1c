package consumer_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/retry"
)

// transact does what a store's Transact does: it completes the work together
// with the handler's own writes, and says so to the claim.
func transact(ctx context.Context, st *scripted) error {
	c, ok := idempotency.FromContext(ctx)
	if !ok {
		return retry.Permanent(errTest)
	}
	if err := st.mem.Complete(ctx, c.Key(), c.Owner(), c.Expiry()); err != nil {
		return err
	}
	c.MarkCompleted()
	return nil
}

// Whatever the handler does after its transaction: the work is done. It is not
// completed a second time, and not tried a second time.
func TestStore_TransactIsDoneWhateverTheHandlerDoesThen(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(ctx context.Context) error{
		"nil":       func(context.Context) error { return nil },
		"error":     func(context.Context) error { return errTest },
		"after":     func(context.Context) error { return retry.After(time.Hour, errTest) },
		"permanent": func(context.Context) error { return retry.Permanent(errTest) },
		"panic":     func(context.Context) error { panic("boom") },
		"goexit":    func(context.Context) error { runtime.Goexit(); return nil },
		"deadline":  works(time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st, src, tries := newScripted(), newSource(t), 0
				cfg := budgeted(t, st, 1)
				cfg.Retry.Tries = 3
				cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error {
					t.Error("parked")
					return nil
				})
				h := script{"a": func(ctx context.Context) error {
					tries++
					if err := transact(ctx, st); err != nil {
						return err
					}
					return then(ctx)
				}}
				outs := newConsumer(t, cfg, h).Process(timeout(t, time.Minute), src, deliveries("a"))
				wantOutcomes(t, outs, "a=done")
				want(t, "error", outs[0].Err, nil)
				want(t, "tries", []int{tries, outs[0].Tries}, []int{1, 1})
				want(t, "asked", st.asked(), []string{"claim a"})
				want(t, "acknowledged", src.receipts(), []string{"a#1"})
				st.wantRecord(t, "a", state{"completed", 1, ""})
				want(t, "again", short(outcome(t, cfg, never(t), delivery("a", 2))), "a=duplicate")
			})
		})
	}
}

func TestStore_TransactAndDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		h := script{"a": func(ctx context.Context) error { _ = transact(ctx, st); return works(time.Hour)(ctx) }}
		wantOutcomes(t, drained(t, newSource(t), guarded(t, steady(3), st), h, 10*time.Second, "a"), "a=done")
		want(t, "asked", st.asked(), []string{"claim a"})
	})
}

// A transaction that did not go through is the handler's failure like any other.
func TestStore_FailedTransactIsTheHandlersFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, tries := newScripted(), 0
		h := script{"a": func(ctx context.Context) error {
			if tries++; tries < 3 {
				return errStore
			}
			return transact(ctx, st)
		}}
		o := outcome(t, guarded(t, steady(3), st), h, delivery("a", 1))
		want(t, "outcome", short(o), "a=done")
		want(t, "tries", o.Tries, 3)
		o = outcome(t, guarded(t, steady(3), st), script{"b": always(errStore)}, delivery("b", 1))
		want(t, "outcome", short(o), "b=retry+10s")
		wantErr(t, o.Err, errStore)
	})
}

// Without a guard there is no claim, and with one each message has its own.
func TestStore_ClaimInTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys := make(map[string]string)
		h := consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
			c, ok := idempotency.FromContext(ctx)
			if ok {
				keys[m.ID] = c.Key()
			}
			return nil
		})
		cfg := guarded(t, steady(1), newScripted())
		cfg.Concurrency, cfg.TryTimeout = 1, time.Minute
		newConsumer(t, cfg, h).Process(t.Context(), newSource(t), deliveries("a", "b"))
		newConsumer(t, steady(1), h).Process(t.Context(), newSource(t), deliveries("c"))
		want(t, "keys", keys, map[string]string{"a": standardARN + "#id:a", "b": standardARN + "#id:b"})
	})
}
