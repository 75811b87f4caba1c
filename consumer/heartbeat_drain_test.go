package consumer_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// What is given back waits for an extension under way. The drain does not wait
// with it: handlers are cut off when they should be.
func TestDrain_AnExtensionThatHangsHoldsUpNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at time.Duration
		var cause error
		src, cfg := newSource(t), steady(1)
		src.extend = hangs // from 10 s to 15 s
		cfg.Concurrency = 1
		k := newKept(t, src, cfg, script{"a": lostAt(&at, &cause)}, consumer.SessionOptions{Capacity: 10})
		k.submit(k.fresh("a", "b")...)
		room, err := k.Room(t.Context(), 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		k.after(10500 * time.Millisecond)
		k.Drain()
		synctest.Wait()
		if err := room.Submit(k.fresh("c")...); err != nil {
			t.Error(err)
		}
		want(t, "time to begin", time.Since(src.began), 10500*time.Millisecond)
		if err := k.Close(timeout(t, time.Second)); err != nil {
			t.Error(err)
		}
		want(t, "end of the handler", at, 11500*time.Millisecond)
		wantErr(t, cause, consumer.ErrDraining)
		// A second is for handlers that need it.
		want(t, "end", time.Since(src.began), 12500*time.Millisecond)
		outs := shorts(k.told())
		slices.Sort(outs[1:])
		want(t, "outcomes", outs, []string{"c=deferred+0s", "a=deferred+0s", "b=deferred+0s"})
		k.after(time.Hour)
	})
}

// Without a deadline, too, nothing holds up the end for ever once handlers have
// been cut off: not the store, not the parking, not a hook.
func TestClose_WithoutADeadlineEndsFiveSecondsAfterItsContext(t *testing.T) {
	t.Parallel()
	forever := func() { time.Sleep(24 * time.Hour) }
	for name, spoil := range map[string]func(cfg *consumer.Config, st *scripted, src *source){
		"store": func(_ *consumer.Config, st *scripted, _ *source) { st.before["complete"] = blocks },
		"deaf store": func(_ *consumer.Config, st *scripted, _ *source) {
			st.before["complete"] = delays(24 * time.Hour)
		},
		"parking": func(cfg *consumer.Config, _ *scripted, _ *source) {
			cfg.DeadLetter = parkFunc(func(ctx context.Context, _ consumer.Outcome) error { <-ctx.Done(); return ctx.Err() })
		},
		"deaf parking": func(cfg *consumer.Config, _ *scripted, _ *source) {
			cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error { forever(); return nil })
		},
		"deaf renewal":   func(_ *consumer.Config, st *scripted, _ *source) { st.before["renew"] = delays(24 * time.Hour) },
		"deaf extension": func(_ *consumer.Config, _ *scripted, src *source) { src.extend = slowly(24 * time.Hour) },
		"hook": func(cfg *consumer.Config, _ *scripted, _ *source) {
			cfg.Observe = func(consumer.Event) { forever() }
		},
		"acknowledgement": func(_ *consumer.Config, _ *scripted, src *source) {
			src.ack = func(context.Context, consumer.Outcome) error { forever(); return nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				src, st := newSource(t), newScripted()
				cfg := guarded(t, steady(1), st)
				spoil(&cfg, st, src)
				h := script{"a": sleeps(11 * time.Second), "p": permanentAfter(11 * time.Second), "b": sleeps(500 * time.Hour)}
				k := newKept(t, src, cfg, h, consumer.SessionOptions{})
				k.submit(k.fresh("a", "p", "b")...)
				k.after(10500 * time.Millisecond)
				began := time.Now()
				if err := k.Close(timeout(t, time.Second)); err != nil {
					t.Error(err)
				}
				// A source may take 1.5 s of the five, to flush; ours here takes none.
				want(t, "ended in time", time.Since(began) <= time.Second+3500*time.Millisecond, true)
				k.after(1000 * time.Hour)
			})
		})
	}
}
