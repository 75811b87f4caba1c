package consumer_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// A handler that ignores the loss of its lease is left alone after a second. It
// keeps its slot, the others go on, and its message, when it comes again, waits
// for it to return.
func TestLeaseLost_AHandlerThatIgnoresItIsAbandoned(t *testing.T) {
	t.Parallel()
	for _, stored := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			src, cfg, j, st := newSource(t), steady(3), newJournal(), newScripted()
			src.extend = refuses(errTest)
			cfg.Concurrency = 2
			if stored {
				cfg = guarded(t, cfg, st)
			}
			h := script{"a": sleeps(2 * time.Minute), "b": second, "c": second}
			k := newKept(t, src, journaled(cfg, j), h, consumer.SessionOptions{})
			k.submit(k.fresh("a")...)
			k.after(31 * time.Second)
			outs := k.told()
			wantOutcomes(t, outs, "a=retry-")
			wantErr(t, outs[0].Err, consumer.ErrAbandoned, consumer.ErrLeaseLost)
			want(t, "settled at", src.told()[0].At, 31*time.Second)
			k.submit(k.fresh("b", "c")...) // one slot is left
			k.submit(k.again("a", 2))
			k.after(29 * time.Second)
			want(t, "starts", j.starts(), []string{"a@0s", "b@31s", "c@32s"})
			outs = k.told()
			slices.SortFunc(outs, func(a, b consumer.Outcome) int { return cmpString(short(a), short(b)) })
			wantOutcomes(t, outs, "a=deferred+10s", "a=retry-", "b=done", "c=done")
			wantErr(t, outs[0].Err, consumer.ErrStillRunning)
			want(t, "attempt", outs[0].Attempt, 0)
			k.after(2 * time.Minute) // it has returned, its claim has run out
			k.submit(k.again("a", 3))
			k.after(time.Second)
			want(t, "starts", j.starts()[3:], []string{"a@3m0s"})
			src.mu.Lock()
			src.extend = accepts
			src.mu.Unlock()
			k.close()
			want(t, "outcomes of a", len(src.told()), 5)
			if stored {
				want(t, "record", st.record("a").Attempts, 2) // what the abandoned one returned was not written
			}
		})
	}
}

// The late return of a handler that was abandoned with its lease changes nothing.
func TestLeaseLost_LateReturnIsIgnored(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]func(d time.Duration) script{
		"nil": func(d time.Duration) script { return script{"a": sleeps(d)} },
		"panic": func(d time.Duration) script {
			return script{"a": func(context.Context) error { time.Sleep(d); panic("late") }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				src, outcomes := newSource(t), 0
				cfg := steady(3)
				cfg.Observe = func(e consumer.Event) {
					if e.Kind == consumer.EventOutcome {
						outcomes++
					}
				}
				src.extend = refuses(errTest)
				k := newKept(t, src, cfg, h(2*time.Minute), consumer.SessionOptions{})
				k.submit(k.fresh("a")...)
				k.after(time.Hour)
				wantOutcomes(t, k.close(), "a=retry-")
				want(t, "outcomes", outcomes, 1)
			})
		})
	}
}

// One that returns within the second is heard.
func TestLeaseLost_AHandlerThatTakesAMomentIsJoined(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		src.extend = refuses(errTest)
		k := newKept(t, src, steady(1), script{"a": sleeps(30*time.Second + 900*time.Millisecond)}, consumer.SessionOptions{})
		k.submit(k.fresh("a")...)
		k.after(time.Hour)
		wantOutcomes(t, k.close(), "a=done")
	})
}

// When all slots are held by handlers that ignore their context, nothing more can
// be done here, and the Consumer says so.
func TestLeaseLost_AllSlotsAbandonedIsStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, cfg := newSource(t), steady(1)
		cfg.Concurrency = 2
		src.extend = refuses(errTest)
		h := script{"a": sleeps(time.Hour), "b": sleeps(time.Hour)}
		k := newKept(t, src, cfg, h, consumer.SessionOptions{})
		k.submit(k.fresh("a", "b")...)
		k.submit(k.fresh("c")...)
		k.after(30 * time.Second)
		want(t, "stuck as long as they may return", k.c.Stuck(), false)
		k.after(time.Second)
		want(t, "stuck", k.c.Stuck(), true)
		began := time.Now()
		if err := k.Close(timeout(t, time.Minute)); err != nil {
			t.Error(err)
		}
		want(t, "time to close", time.Since(began), 0)
		outs := k.told()
		wantOutcomes(t, outs[2:], "c=deferred+0s")
		wantErr(t, outs[2].Err, consumer.ErrDraining)
		k.after(2 * time.Hour)
		want(t, "stuck after they have returned", k.c.Stuck(), false)
	})
}

// On a FIFO queue the group of an abandoned handler waits for it.
func TestLeaseLost_TheGroupOfAnAbandonedHandlerWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, j := newFIFO(t), newJournal()
		src.extend = refuses(errTest)
		h := script{"a1": sleeps(2 * time.Minute), "b1": second}
		k := newKept(t, src, journaled(steady(1), j), h, consumer.SessionOptions{})
		k.submit(k.fresh("a1", "a2")...)
		k.after(time.Minute)
		wantOutcomes(t, k.told(), "a1=retry-", "a2=deferred-")
		k.submit(k.fresh("a2", "b1")...)
		k.after(time.Second)
		wantOutcomes(t, k.told()[2:3], "a2=deferred+10s")
		wantErr(t, k.told()[2].Err, consumer.ErrStillRunning)
		k.close()
		want(t, "starts", j.starts(), []string{"a1@0s", "b1@1m0s"})
	})
}
