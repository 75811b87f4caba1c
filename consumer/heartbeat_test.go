package consumer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// VT-03: an extension counts from now. Each asks for the visibility, not for what
// has passed besides.
func TestHeartbeat_EachExtensionIsOneVisibility(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		src.queue.Visibility = time.Minute
		k := newKept(t, src, steady(1), script{"a": sleeps(70 * time.Second)}, consumer.SessionOptions{Beat: 20 * time.Second})
		k.submit(k.fresh("a")...)
		k.after(time.Hour)
		k.wantExtensions("20s a#1 +1m0s", "40s a#1 +1m0s", "1m0s a#1 +1m0s")
		wantOutcomes(t, k.close(), "a=done")
	})
}

// VT-06: what waits for a slot is extended as what runs is.
func TestHeartbeat_WhatWaitsIsExtendedToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg, j := steady(1), newJournal()
		cfg.Concurrency = 1
		five := consumer.HandlerFunc(func(ctx context.Context, _ *consumer.Message) error { return sleeps(5 * time.Second)(ctx) })
		k := newKept(t, newSource(t), journaled(cfg, j), five, consumer.SessionOptions{})
		k.after(2 * time.Second) // so that no beat comes just when a handler returns
		var ids []string
		for i := range 10 {
			ids = append(ids, fmt.Sprint(i))
		}
		k.submit(k.fresh(ids...)...)
		k.after(time.Hour)
		want(t, "calls of the handler", len(j.starts()), 10)
		var left []int // at each beat, with one call for all
		for _, b := range k.src.extensions() {
			left = append(left, strings.Count(b, "#"))
		}
		want(t, "messages extended", left, []int{9, 7, 5, 3, 1})
		for _, o := range k.close() {
			want(t, "verdict", o.Verdict, consumer.VerdictDone)
		}
	})
}

// A beat skips what is not due: what would have half of its visibility left, or
// more, at the next beat.
func TestHeartbeat_ABeatLeavesOutWhatIsNotDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t, newSource(t), steady(1), script{"a": sleeps(59 * time.Second), "b": sleeps(time.Minute)}, consumer.SessionOptions{})
		k.submit(k.fresh("a")...)
		k.after(6 * time.Second)
		k.submit(k.fresh("b")...)
		k.after(time.Hour)
		k.wantExtensions("10s a#1 +30s", "20s a#1 b#1 +30s", "30s a#1 b#1 +30s", "40s a#1 b#1 +30s", "50s a#1 b#1 +30s", "1m0s b#1 +30s")
		k.close()
	})
}

// Nothing is extended once it is settled, and not without a Beat.
func TestHeartbeat_ShortWorkCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKept(t, newSource(t), steady(1), script{"a": second, "b": fails}, consumer.SessionOptions{})
		k.submit(k.fresh("a", "b")...)
		k.after(time.Hour)
		k.wantExtensions()
		k.close()

		src := newSource(t) // has no answer to an extension
		src.queue.Visibility = 30 * time.Second
		s := newConsumer(t, steady(1), script{"a": sleeps(time.Hour)}).Open(src, consumer.SessionOptions{})
		if err := s.Submit(t.Context(), deliveries("a")...); err != nil {
			t.Error(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// VT-10: a handler that hangs does not keep its message for ever. The last
// extension ends with MaxHold, and the handler with it.
func TestHeartbeat_MaxHoldBoundsAHandler(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]time.Duration{
		"beats": 50 * time.Second, "between beats": 45 * time.Second, "no whole seconds": 45*time.Second + 700*time.Millisecond,
		"the visibility": 30 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var at time.Duration
				var cause error
				k := newKept(t, newSource(t), steady(3), script{"a": lostAt(&at, &cause)}, consumer.SessionOptions{MaxHold: hold})
				k.submit(k.fresh("a")...)
				k.after(time.Hour)
				want(t, "end of the handler's context", at > hold-time.Second && at <= hold, true)
				wantErr(t, cause, consumer.ErrLeaseLost)
				outs := k.close()
				wantOutcomes(t, outs, "a=retry-")
				wantErr(t, outs[0].Err, consumer.ErrLeaseLost)
				want(t, "attempt", outs[0].Attempt, 1)
				for _, b := range k.src.extensions() {
					var began, d string
					if _, err := fmt.Sscanf(b, "%s a#1 +%s", &began, &d); err != nil {
						t.Fatal(b, err)
					}
					from, _ := time.ParseDuration(began)
					if length, _ := time.ParseDuration(d); from+length > hold || length%time.Second != 0 {
						t.Errorf("extension %s goes beyond %v, or is none of whole seconds", b, hold)
					}
				}
			})
		})
	}
}

// The default, and the most, is what SQS allows from a receive, less a minute.
func TestHeartbeat_MaxHoldIsTwelveHoursLessAMinute(t *testing.T) {
	t.Parallel()
	for _, hold := range []time.Duration{0, 24 * time.Hour, 12 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var at time.Duration
			var cause error
			src := newSource(t)
			src.queue.Visibility = time.Hour
			k := newKept(t, src, steady(3), script{"a": lostAt(&at, &cause)}, consumer.SessionOptions{MaxHold: hold, Beat: 20 * time.Minute})
			k.submit(k.fresh("a")...)
			k.after(13 * time.Hour)
			want(t, "end of the handler's context", at, 12*time.Hour-time.Minute)
			k.close()
		})
	}
}

// What waited for its slot has as long as any other, once its handler is entered.
func TestHeartbeat_MaxHoldCountsFromTheHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at time.Duration
		var cause error
		k := newKept(t, newSource(t), steady(3), script{"a": lostAt(&at, &cause)}, consumer.SessionOptions{MaxHold: time.Minute})
		d := k.fresh("a")[0]
		d.VisibleUntil = d.VisibleUntil.Add(-7 * time.Second)
		k.submit(d)
		k.after(time.Hour)
		want(t, "end of the handler's context", at, time.Minute)
		k.close()
	})
}
