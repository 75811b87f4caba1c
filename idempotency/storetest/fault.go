package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

// op is one of the four operations, by the owner "a".
type op struct {
	name string
	call func(e *env, ctx context.Context) error
}

var ops = []op{
	{"Claim", func(e *env, ctx context.Context) error {
		_, err := e.h.Store.Claim(ctx, e.request("a"))
		return err
	}},
	{"Renew", func(e *env, ctx context.Context) error {
		return e.h.Store.Renew(ctx, e.key, "a", e.now.Add(time.Hour), e.expires())
	}},
	{"Complete", func(e *env, ctx context.Context) error {
		return e.h.Store.Complete(ctx, e.key, "a", e.expires())
	}},
	{"Release", func(e *env, ctx context.Context) error {
		f := idempotency.Failure{Status: idempotency.Failed, Expires: e.expires()}
		return e.h.Store.Release(ctx, e.key, "a", f)
	}},
}

// faultRules are about a store that cannot be reached (ID-06). The error is none
// of those that the contract names, so that nobody takes it for an answer.
var faultRules = []rule{
	{"Fault/EndedContextWritesNothing", func(e *env) {
		ctx, cancel := context.WithCancel(e.ctx)
		cancel()
		e.eachOp(context.Canceled, func(o op) error { return o.call(e, ctx) })
	}},
	{"Fault/PassedDeadlineWritesNothing", func(e *env) {
		ctx, cancel := context.WithDeadline(e.ctx, time.Now().Add(-time.Second))
		defer cancel()
		e.eachOp(context.DeadlineExceeded, func(o op) error { return o.call(e, ctx) })
	}},
	{"Fault/FailureWritesNothing", func(e *env) {
		if e.h.Faults.Fail == nil {
			e.Skip("the harness cannot make calls fail: Harness.Faults.Fail is nil")
		}
		e.eachOp(nil, func(o op) error {
			restore := e.h.Faults.Fail()
			defer restore()
			return o.call(e, e.ctx)
		})
	}},
	{"Fault/HangEndsWithTheContext", func(e *env) {
		if e.h.Faults.Hang == nil {
			e.Skip("the harness cannot make a call hang: Harness.Faults.Hang is nil")
		}
		e.eachOp(context.DeadlineExceeded, func(o op) error {
			ctx, cancel := context.WithTimeout(e.ctx, 200*ms)
			defer cancel()
			e.h.Faults.Hang()
			begin := time.Now()
			err := o.call(e, ctx)
			// A claim may take a second more to give back what it may have got.
			if took := time.Since(begin); took > 3*time.Second {
				e.Errorf("%s came back after %v, 200ms were given", o.name, took)
			}
			return err
		})
	}},
}

// eachOp makes each operation fail, on a record that it would change, and sees
// that it did not.
func (e *env) eachOp(want error, call func(op) error) {
	e.Helper()
	for _, o := range ops {
		if o.name == "Claim" {
			e.put(e.record(idempotency.Failed, "z"))
		} else {
			e.put(e.record(idempotency.InProgress, "a"))
		}
		before := e.get()
		err := call(o)
		switch {
		case err == nil:
			e.Errorf("%s succeeded", o.name)
		case named(err):
			e.Errorf("%s: %v; want an error that the contract does not name", o.name, err)
		case want != nil && !errors.Is(err, want):
			e.Errorf("%s: %v; want it to be %v", o.name, err, want)
		}
		e.same("after "+o.name+", the record", e.get(), before)
	}
}

// named reports whether err is one of the answers that the contract names.
func named(err error) bool {
	for _, e := range []error{
		idempotency.ErrCompleted, idempotency.ErrHeld, idempotency.ErrMismatch, idempotency.ErrExhausted, idempotency.ErrLost,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
