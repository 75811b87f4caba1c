package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

// always returns a function that fails with err every time.
func always(err error) func(context.Context) error { return func(context.Context) error { return err } }

func TestRetry_WithinADelivery(t *testing.T) {
	t.Parallel()
	permanent := retry.Permanent(errTest)
	for name, tt := range map[string]struct {
		do    func(context.Context) error
		out   string
		tries int
		took  time.Duration
	}{
		"first try":                    {steps(), "a=done", 1, 0},
		"second try":                   {steps(errTest), "a=done", 2, time.Second},
		"last try":                     {steps(errTest, errTest), "a=done", 3, 2 * time.Second},
		"used up":                      {fails, "a=retry+10s", 3, 2 * time.Second},
		"permanent":                    {always(permanent), "a=rejected+4s", 1, 0},
		"permanent at last":            {steps(errTest, permanent), "a=rejected+4s", 2, time.Second},
		"permanent, wrapped":           {always(fmt.Errorf("order 7: %w", permanent)), "a=rejected+4s", 1, 0},
		"permanent inside Join":        {always(errors.Join(errTest, permanent)), "a=rejected+4s", 1, 0},
		"after":                        {steps(retry.After(3*time.Second, errTest)), "a=done", 2, 3 * time.Second},
		"after 0":                      {steps(retry.After(0, errTest)), "a=done", 2, 0},
		"after longer than MaxWait":    {always(retry.After(6*time.Second, errTest)), "a=retry+6s", 1, 0},
		"after as long as MaxWait":     {steps(retry.After(5*time.Second, errTest)), "a=done", 2, 5 * time.Second},
		"after, used up":               {always(retry.After(2*time.Second, errTest)), "a=retry+2s", 3, 4 * time.Second},
		"after a fraction, used up":    {always(retry.After(300*time.Millisecond, errTest)), "a=retry+1s", 3, 600 * time.Millisecond},
		"after 0, used up":             {always(retry.After(0, errTest)), "a=retry+0s", 3, 0},
		"after negative":               {always(retry.After(-1, errTest)), "a=retry-", 1, 0},
		"permanent that says after":    {always(retry.Permanent(retry.After(time.Hour, errTest))), "a=rejected+4s", 1, 0},
		"only the last failure's wait": {steps(retry.After(2*time.Second, errTest), errTest, errTest), "a=retry+10s", 3, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				outs := newConsumer(t, steady(3), script{"a": tt.do}).Process(t.Context(), newSource(t), deliveries("a"))
				wantOutcomes(t, outs, tt.out)
				want(t, "tries", outs[0].Tries, tt.tries)
				want(t, "time", time.Since(begin), tt.took)
				want(t, "attempt", outs[0].Attempt, 1)
				if outs[0].Verdict != consumer.VerdictDone {
					wantErr(t, outs[0].Err, errTest)
				}
			})
		})
	}
}

// A policy is shared by all messages and must not age.
func TestRetry_EveryMessageHasAllItsTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConsumer(t, steady(3), script{"a": fails, "b": fails, "c": fails})
		for range 3 {
			for _, o := range c.Process(t.Context(), newSource(t), deliveries("a", "b", "c")) {
				want(t, "tries of "+short(o), o.Tries, 3)
			}
		}
	})
}

func TestRetry_WaitLongerThanMaxWaitIsLeftToTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin, cfg := time.Now(), steady(5)
		cfg.Retry.Backoff = func(n int) time.Duration { return time.Duration(n) * 2 * time.Second }
		cfg.Retry.MaxWait = 5 * time.Second
		outs := newConsumer(t, cfg, script{"a": fails}).Process(t.Context(), newSource(t), deliveries("a"))
		wantOutcomes(t, outs, "a=retry+10s")
		want(t, "tries", outs[0].Tries, 3) // waits of 2 and 4 s; 6 is too long
		want(t, "time", time.Since(begin), 6*time.Second)
		wantErr(t, outs[0].Err, errTest, retry.ErrWait)
	})
}

func TestRetry_RedeliveryBackoffByReceiveCountWithoutAStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := steady(1)
		cfg.Redelivery.Backoff = func(n int) time.Duration { return time.Duration(n) * time.Minute }
		ds := []*consumer.Delivery{delivery("a", 1), delivery("b", 4), delivery("c", 0)}
		outs := newConsumer(t, cfg, script{"a": fails, "b": fails, "c": fails}).Process(t.Context(), newSource(t), ds)
		wantOutcomes(t, outs, "a=retry+1m0s", "b=retry+4m0s", "c=retry+1m0s")
	})
}

func TestTryTimeout(t *testing.T) {
	t.Parallel()
	var cause error
	for name, tt := range map[string]struct {
		do    func(context.Context) error
		out   string
		tries int
		took  time.Duration
	}{
		"prompt return may be tried again": {steps2(works(time.Minute)), "a=done", 2, 11 * time.Second},
		"prompt every time":                {works(time.Minute), "a=retry+10s", 3, 32 * time.Second},
		"nil after the timeout is done":    {sleeps(15 * time.Second), "a=done", 1, 15 * time.Second},
		// It is waited for, and nothing else is started beside it.
		"late error may be tried again": {steps2(func(context.Context) error { time.Sleep(40 * time.Second); return errTest }), "a=done", 2, 41 * time.Second},
		"never returns":                 {func(context.Context) error { time.Sleep(time.Hour); return nil }, "a=retry-", 1, 89 * time.Second},
		"cause": {func(ctx context.Context) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return retry.Permanent(errTest)
		}, "a=rejected+4s", 1, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin, cfg, j := time.Now(), steady(3), newJournal()
				cfg.TryTimeout = 10 * time.Second
				c := newConsumer(t, journaled(cfg, j), script{"a": tt.do})
				outs := c.Process(timeout(t, 90*time.Second), newSource(t), deliveries("a"))
				wantOutcomes(t, outs, tt.out)
				want(t, "tries", outs[0].Tries, tt.tries)
				want(t, "time", time.Since(begin), tt.took)
				want(t, "calls at once", j.atOnce(), 1)
				if name == "cause" {
					wantErr(t, cause, consumer.ErrTryTimeout)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// steps2 does one thing at the first call and succeeds at the next.
func steps2(do func(context.Context) error) func(context.Context) error {
	called := false
	return func(ctx context.Context) error {
		if called {
			return nil
		}
		called = true
		return do(ctx)
	}
}

// A handler may return the error of a context that has not ended, or nil in one
// that has.
func TestRetry_OnlyWhatTheHandlerReturnsCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		h := script{
			"canceled": always(fmt.Errorf("call: %w", context.Canceled)),
			"drain":    always(consumer.ErrDraining),
			"nil": func(context.Context) error {
				time.Sleep(time.Minute)
				cancel()
				time.Sleep(time.Millisecond)
				return nil
			},
		}
		outs := newConsumer(t, steady(2), h).Process(parent, newSource(t), deliveries("canceled", "drain", "nil"))
		wantOutcomes(t, outs, "canceled=retry+10s", "drain=retry+10s", "nil=done")
		wantErr(t, outs[0].Err, context.Canceled)
	})
}

// A handler that retries by itself, and then says that it is of no use, is
// believed: the mark is not lost in the bookkeeping of its own tries.
func TestRetry_PermanentAroundANestedDoStaysPermanent(t *testing.T) {
	t.Parallel()
	nested := func(ctx context.Context) error {
		return retry.Do(ctx, retry.Policy{Tries: 5, Backoff: retry.Constant(0)}, func(context.Context) error { return errTest })
	}
	for name, tt := range map[string]struct {
		do    func(ctx context.Context) error
		out   string
		tries int
	}{
		"around it":   {func(ctx context.Context) error { return retry.Permanent(nested(ctx)) }, "a=rejected+4s", 1},
		"around text": {func(ctx context.Context) error { return retry.Permanent(fmt.Errorf("bank: %w", nested(ctx))) }, "a=rejected+4s", 1},
		"inside": {func(ctx context.Context) error {
			return retry.Do(ctx, retry.Policy{Tries: 5}, func(context.Context) error { return retry.Permanent(errTest) })
		}, "a=rejected+4s", 1},
		"joined": {func(ctx context.Context) error { return errors.Join(nested(ctx), retry.Permanent(errTest)) }, "a=rejected+4s", 1},
		"none":   {nested, "a=retry+10s", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				outs := newConsumer(t, steady(3), script{"a": tt.do}).Process(t.Context(), newSource(t), deliveries("a"))
				wantOutcomes(t, outs, tt.out)
				want(t, "tries", outs[0].Tries, tt.tries)
				wantErr(t, outs[0].Err, errTest)
			})
		})
	}
}

// An error that only says that some time was up names TryTimeout if that it was.
func TestTryTimeout_IsNamedInTheError(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do    func(ctx context.Context) error
		named bool
	}{
		"err":     {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, true},
		"cause":   {func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, true},
		"wrapped": {func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("bank: %w", ctx.Err()) }, true},
		"the handler's own timeout": {func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			<-ctx.Done()
			return ctx.Err()
		}, false},
		"another error": {func(ctx context.Context) error { <-ctx.Done(); return errTest }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := steady(1)
				cfg.TryTimeout = 5 * time.Second
				outs := newConsumer(t, cfg, script{"a": tt.do}).Process(t.Context(), newSource(t), deliveries("a"))
				wantOutcomes(t, outs, "a=retry+10s")
				want(t, "named", errors.Is(outs[0].Err, consumer.ErrTryTimeout), tt.named)
			})
		})
	}
}

// permanentAfter returns a function that fails permanently after d.
func permanentAfter(d time.Duration) func(context.Context) error {
	return func(context.Context) error { time.Sleep(d); return retry.Permanent(errTest) }
}
