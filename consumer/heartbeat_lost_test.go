package consumer_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

var errGone = fmt.Errorf("%w: the receipt handle has expired", consumer.ErrLeaseLost)

// A lease is lost when the time that was confirmed has passed, however the
// extensions fail, and not before.
func TestLeaseLost_WhenTheConfirmedTimeHasPassed(t *testing.T) {
	t.Parallel()
	for name, extend := range map[string]func(context.Context, []*consumer.Delivery, time.Duration) []error{
		"throttled": refuses(errTest),
		"hung":      hangs,
		"deaf": func(context.Context, []*consumer.Delivery, time.Duration) []error {
			time.Sleep(25 * time.Second) // and is accepted, for a time that is not the real one
			return nil
		},
		"bad handle": refuses(errGone), // was never accepted: may be all that this SQS says
	} {
		for _, received := range []time.Duration{0, 3 * time.Second, 9999 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s %v", name, received), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var at time.Duration
					var cause error
					src := newSource(t)
					src.extend = extend
					h := script{}
					k := newKept(t, src, steady(3), h, consumer.SessionOptions{})
					k.after(received)
					h["a"] = lostAt(&at, &cause)
					k.submit(k.fresh("a")...)
					k.after(time.Hour)
					want(t, "end of the handler's context", at, 30*time.Second)
					wantErr(t, cause, consumer.ErrLeaseLost)
					wantOutcomes(t, k.close(), "a=retry-")
				})
			})
		}
	}
}

func TestLeaseKept_WhenOneBeatFailsAndTheNextDoesNot(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]func(context.Context, []*consumer.Delivery, time.Duration) []error{
		"throttled": refuses(errTest), "hung": hangs,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				src, calls := newSource(t), 0
				src.extend = func(ctx context.Context, ds []*consumer.Delivery, d time.Duration) []error {
					if calls++; calls%2 == 1 {
						return bad(ctx, ds, d)
					}
					return nil
				}
				k := newKept(t, src, steady(1), script{"a": works(10*time.Minute + time.Second)}, consumer.SessionOptions{})
				k.submit(k.fresh("a")...)
				k.after(time.Hour)
				want(t, "extended to the end", calls >= 60, true)
				wantOutcomes(t, k.close(), "a=done")
			})
		})
	}
}

// SQS says that a message is somebody else's, or gone: at once, if it has accepted
// an extension by that handle before.
func TestLeaseLost_GoneAfterAnAcceptedExtension(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at time.Duration
		var cause error
		src, calls := newSource(t), 0
		src.extend = func(context.Context, []*consumer.Delivery, time.Duration) []error {
			if calls++; calls > 1 {
				return []error{errGone}
			}
			return nil
		}
		k := newKept(t, src, steady(3), script{"a": lostAt(&at, &cause)}, consumer.SessionOptions{})
		k.submit(k.fresh("a")...)
		k.after(time.Hour)
		want(t, "end of the handler's context", at, 20*time.Second)
		wantErr(t, cause, consumer.ErrLeaseLost)
		wantOutcomes(t, k.close(), "a=retry-")
	})
}

// A handler that has done its work all the same says so, and its message is
// acknowledged, whatever its lease.
func TestLeaseLost_ANilIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		src.extend = refuses(errTest)
		h := script{"a": func(ctx context.Context) error { <-ctx.Done(); return nil }}
		k := newKept(t, src, steady(3), h, consumer.SessionOptions{})
		k.submit(k.fresh("a")...)
		k.after(31 * time.Second)
		wantOutcomes(t, k.close(), "a=done")
	})
}

// VT-07 and the like: an entry that fails costs the others of its call nothing.
func TestLeaseLost_EntryByEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		src.extend = func(_ context.Context, ds []*consumer.Delivery, _ time.Duration) []error {
			errs := make([]error, len(ds))
			for i, d := range ds {
				if d.ID == "b" {
					errs[i] = errTest
				}
			}
			return errs
		}
		h := script{"a": works(2 * time.Minute), "b": works(2 * time.Minute), "c": works(2 * time.Minute)}
		k := newKept(t, src, steady(1), h, consumer.SessionOptions{})
		k.submit(k.fresh("a", "b", "c")...)
		k.after(time.Hour)
		outs := k.close()
		wantOutcomes(t, outs[:1], "b=retry-")
		want(t, "the others", map[string]bool{short(outs[1]): true, short(outs[2]): true}, map[string]bool{"a=done": true, "c=done": true})
	})
}

// What waits and may be visible to others by now is not begun: it is left to them.
func TestLeaseLost_WhatWaitsIsNotBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, cfg, j := newSource(t), steady(1), newJournal()
		cfg.Concurrency = 1
		src.extend = func(_ context.Context, ds []*consumer.Delivery, _ time.Duration) []error {
			errs := make([]error, len(ds))
			for i, d := range ds {
				if d.ID != "a" {
					errs[i] = errTest
				}
			}
			return errs
		}
		h := script{"a": sleeps(29500 * time.Millisecond), "b": second, "c": second}
		k := newKept(t, src, journaled(cfg, j), h, consumer.SessionOptions{})
		k.submit(k.fresh("a", "b", "c")...)
		k.after(time.Hour)
		want(t, "starts", j.starts(), []string{"a@0s", "b@29.5s"})
		outs := k.close()
		slices.SortFunc(outs, func(a, b consumer.Outcome) int { return cmpString(a.Delivery.ID, b.Delivery.ID) })
		wantOutcomes(t, outs, "a=done", "b=done", "c=deferred-")
		wantErr(t, outs[2].Err, consumer.ErrLeaseLost)
		want(t, "attempt", outs[2].Attempt, 0)
	})
}

// The same with a store: there is no claim, and so no attempt.
func TestLeaseLost_WhatWaitsIsNotClaimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, st := newSource(t), newScripted()
		cfg := guarded(t, steady(1), st)
		cfg.Concurrency = 1
		src.extend = refuses(errTest)
		k := newKept(t, src, cfg, script{"a": works(time.Hour), "b": second}, consumer.SessionOptions{})
		k.submit(k.fresh("a", "b")...)
		k.after(time.Hour)
		outs := shorts(k.close())
		slices.Sort(outs)
		want(t, "outcomes", outs, []string{"a=retry-", "b=deferred-"})
		for _, op := range st.asked() {
			if op == "claim b" {
				t.Error("the key of a message was claimed that may be somebody else's")
			}
		}
	})
}

// A message whose visibility lapses while its key is being claimed is not begun
// either, and its key is free for whoever has it.
func TestLeaseLost_DuringTheClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, st := newSource(t), newScripted()
		src.queue.Visibility = 3 * time.Second
		src.extend = refuses(errTest)
		st.before["claim"] = delays(4 * time.Second)
		k := newKept(t, src, guarded(t, steady(1), st), never(t), consumer.SessionOptions{Beat: time.Second})
		k.submit(k.fresh("a")...)
		k.after(time.Hour)
		outs := k.close()
		wantOutcomes(t, outs, "a=deferred-")
		wantErr(t, outs[0].Err, consumer.ErrLeaseLost)
		st.wantRecord(t, "a", state{"failed", 0, "not tried: the lease on the message was lost"})
	})
}
