package consumer_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

// perform does one thing at each call, by its name, and succeeds when they are
// used up.
func perform(acts ...string) func(context.Context) error {
	next := 0
	return func(context.Context) error {
		if next == len(acts) {
			return nil
		}
		next++
		switch acts[next-1] {
		case "panic":
			panic("boom")
		case "panic-nil":
			panic(nil)
		case "panic-error":
			panic(errTest)
		case "panic-permanent":
			panic(retry.Permanent(errTest))
		case "goexit":
			runtime.Goexit()
		case "error":
			return errTest
		case "permanent":
			return retry.Permanent(errTest)
		}
		return nil
	}
}

func TestRecover(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		acts  string
		out   string
		tries int
		err   string
	}{
		{"panic", "a=done", 2, ""},
		{"panic,panic,panic", "a=retry+10s", 3, "the handler panicked: boom"},
		{"panic-nil,panic-nil,panic-nil", "a=retry+10s", 3, "panic called with nil argument"},
		{"panic-error,panic-error,panic-error", "a=retry+10s", 3, "the handler panicked: declined"},
		{"panic-permanent", "a=rejected+4s", 1, "the handler panicked: declined"},
		{"goexit", "a=done", 2, ""},
		{"goexit,goexit", "a=done", 3, ""},
		{"error,goexit", "a=done", 3, ""},
		{"goexit,goexit,goexit", "a=retry+10s", 3, "the handler called runtime.Goexit"},
		{"error,error,goexit", "a=retry+10s", 3, "the handler called runtime.Goexit"},
		{"goexit,error,error", "a=retry+10s", 3, "declined"},
		{"error,goexit,error", "a=retry+10s", 3, "declined"},
		{"panic,goexit,error", "a=retry+10s", 3, "declined"},
		{"goexit,permanent", "a=rejected+4s", 2, "declined"},
	} {
		for _, atOnce := range []bool{false, true} {
			t.Run(tt.acts, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					begin, cfg := time.Now(), steady(3)
					cfg.Concurrency = 1 // the others need the slot of the one that panicked
					c := newConsumer(t, cfg, script{"a": perform(strings.Split(tt.acts, ",")...)})
					outs := c.Open(newFIFO(t), consumer.SessionOptions{SettlesAtOnce: atOnce}).Run(deliveries("a", "b", "c"))
					wantOutcomes(t, outs, tt.out, "b=done", "c=done")
					want(t, "tries", outs[0].Tries, tt.tries)
					want(t, "time", time.Since(begin), time.Duration(tt.tries-1)*time.Second)
					if tt.err != "" && !strings.Contains(outs[0].Err.Error(), tt.err) {
						t.Errorf("error is %q, without %q", outs[0].Err, tt.err)
					}
				})
			})
		}
	}
}

func TestRecover_TheErrorHasValueAndStack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConsumer(t, steady(1), script{"a": perform("panic-error"), "b": perform("goexit")})
		for i, o := range c.Process(t.Context(), newSource(t), deliveries("a", "b")) {
			var p *consumer.PanicError
			if !errors.As(o.Err, &p) || !strings.Contains(string(p.Stack), "recover_test.go") {
				t.Fatalf("%s: no PanicError with a stack: %v", o.Delivery.ID, o.Err)
			}
			if p.Value != [...]any{errTest, nil}[i] {
				t.Errorf("%s: value %v", o.Delivery.ID, p.Value)
			}
			want(t, "unwraps to the value", errors.Is(o.Err, errTest), i == 0)
			var gaveUp *retry.ExhaustedError
			if !errors.As(o.Err, &gaveUp) || gaveUp.Tries != 1 {
				t.Errorf("%s: no ExhaustedError of 1 try: %v", o.Delivery.ID, o.Err)
			}
		}
	})
}

// A Goexit while the session drains is the failure it is, and tried no more.
func TestRecover_GoexitWhenNothingMayStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		h := script{"a": func(context.Context) error { time.Sleep(time.Minute); runtime.Goexit(); return nil }}
		s := newConsumer(t, steady(3), h).Open(src, consumer.SessionOptions{})
		if err := s.Submit(t.Context(), deliveries("a")...); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		o := src.told()[0].Outcome
		wantOutcomes(t, []consumer.Outcome{o}, "a=retry+10s")
		want(t, "tries", o.Tries, 1)
		var p *consumer.PanicError
		if !errors.As(o.Err, &p) || !errors.Is(o.Err, consumer.ErrDraining) {
			t.Errorf("error is %v", o.Err)
		}
	})
}

func TestRecover_CountsEveryTryForObserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := steady(4)
		var tries []int
		var failed []bool
		cfg.Observe = func(e consumer.Event) {
			if e.Kind == consumer.EventTry {
				tries, failed = append(tries, e.Try), append(failed, e.Err != nil)
			}
		}
		c := newConsumer(t, cfg, script{"a": perform("error", "goexit", "panic")})
		wantOutcomes(t, c.Process(t.Context(), newSource(t), deliveries("a")), "a=done")
		want(t, "tries", tries, []int{1, 2, 3, 4})
		want(t, "failed", failed, []bool{true, true, true, false})
	})
}
