package consumer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

type invalidDeadLetter struct{ parkFunc }

func (invalidDeadLetter) Validate() error { return errors.New("the URL is missing; pass one") }

// Every refusal names the field, what it is, and what to write instead.
func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	fine := script{}
	through := func(h consumer.Handler) consumer.Handler { return h }
	for name, tt := range map[string]struct {
		h     consumer.Handler
		set   func(c *consumer.Config)
		texts []string
	}{
		"nil handler":           {nil, func(*consumer.Config) {}, []string{"the handler is nil", "pass a Handler"}},
		"nil HandlerFunc":       {consumer.HandlerFunc(nil), func(*consumer.Config) {}, []string{"the handler is nil", "pass a Handler"}},
		"JSON(nil)":             {consumer.JSON[int](nil), func(*consumer.Config) {}, []string{"the handler is nil", "consumer.JSON"}},
		"Retry.Tries":           {fine, func(c *consumer.Config) { c.Retry.Tries = -1 }, []string{"Retry.Tries is -1", "use 1 for no retry"}},
		"Retry.MaxWait":         {fine, func(c *consumer.Config) { c.Retry.MaxWait = -time.Second }, []string{"Retry.MaxWait is -1s", "use 0"}},
		"TryTimeout":            {fine, func(c *consumer.Config) { c.TryTimeout = -1 }, []string{"TryTimeout is -1ns", "use 0"}},
		"Concurrency":           {fine, func(c *consumer.Config) { c.Concurrency = -2 }, []string{"Concurrency is -2", "use 1", "0 for the default of 10"}},
		"Redelivery.MaxAge":     {fine, func(c *consumer.Config) { c.Redelivery.MaxAge = -time.Hour }, []string{"Redelivery.MaxAge is -1h0m0s", "use 0"}},
		"negative MaxAttempts":  {fine, func(c *consumer.Config) { c.Redelivery.MaxAttempts = -3 }, []string{"Redelivery.MaxAttempts is -3", "use 0"}},
		"MaxAttempts, no store": {fine, func(c *consumer.Config) { c.Redelivery.MaxAttempts = 5 }, []string{"Redelivery.MaxAttempts is 5", "maxReceiveCount"}},
		"nil middleware": {fine, func(c *consumer.Config) {
			c.Middleware = []consumer.Middleware{through, nil}
		}, []string{"Middleware[1] is nil", "remove it"}},
		"middleware of nothing": {fine, func(c *consumer.Config) {
			c.Middleware = []consumer.Middleware{through, func(consumer.Handler) consumer.Handler { return nil }}
		}, []string{"Middleware[1] returned a nil handler", "return the one it was given"}},
		"DeadLetter": {fine, func(c *consumer.Config) { c.DeadLetter = invalidDeadLetter{} }, []string{"DeadLetter: the URL is missing; pass one"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cfg consumer.Config
			tt.set(&cfg)
			c, err := consumer.New(tt.h, cfg)
			if err == nil || c != nil {
				t.Fatalf("accepted: %v, %v", c, err)
			}
			for _, text := range append(tt.texts, "consumer: ") {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error is %q, without %q", err, text)
				}
			}
		})
	}
}

func TestNew_ZeroConfigIsUsable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := script{"a": fails}
		for _, id := range []string{"b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"} {
			h[id] = second
		}
		c := newConsumer(t, journaled(consumer.Config{Logger: steady(1).Logger}, j), h)
		outs := c.Process(t.Context(), newSource(t), deliveries("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"))
		want(t, "default tries", outs[0].Tries, 3)
		want(t, "default concurrency", j.atOnce(), consumer.DefaultConcurrency)
		want(t, "verdict", outs[12].Verdict, consumer.VerdictDone)
	})
}

func TestNew_DoesNotKeepTheMiddlewareSlice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		count := func(next consumer.Handler) consumer.Handler {
			return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error { calls++; return next.Handle(ctx, m) })
		}
		cfg := steady(1)
		cfg.Middleware = []consumer.Middleware{count}
		c := newConsumer(t, cfg, script{})
		cfg.Middleware[0] = nil
		wantOutcomes(t, c.Process(t.Context(), newSource(t), deliveries("a")), "a=done")
		want(t, "calls", calls, 1)
	})
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	var zero consumer.Outcome
	want(t, "zero value", zero.Verdict, consumer.VerdictRetry)
	want(t, "an outcome that nobody filled in is acknowledged", zero.Acknowledged(), false)
	for v, name := range map[consumer.Verdict]string{
		consumer.VerdictRetry: "retry", consumer.VerdictDone: "done", consumer.VerdictDuplicate: "duplicate",
		consumer.VerdictDeferred: "deferred", consumer.VerdictRejected: "rejected", 99: "unknown",
	} {
		want(t, "name", v.String(), name)
		o, done := consumer.Outcome{Verdict: v}, v == consumer.VerdictDone || v == consumer.VerdictDuplicate
		want(t, name+" is acknowledged", o.Acknowledged(), done)
		o.Parked = true
		want(t, name+", parked, is acknowledged", o.Acknowledged(), done || v == consumer.VerdictRejected)
	}
}

func TestPanicError_OfAPermanentErrorIsPermanent(t *testing.T) {
	t.Parallel()
	err := error(&consumer.PanicError{Value: retry.Permanent(errTest)})
	want(t, "permanent", retry.IsPermanent(err), true)
	wantErr(t, err, errTest)
	want(t, "unwrapped text", (&consumer.PanicError{Value: "boom"}).Unwrap(), nil)
}
