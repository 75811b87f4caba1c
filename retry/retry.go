// Package retry runs a function until it succeeds, within limits: a number of
// tries, a longest wait, and the deadline of the context. It knows nothing of
// messages.
//
// The loop is that of github.com/sethvargo/go-retry; this package adds what a
// long-lived consumer needs: backoffs without state, an end before the deadline
// rather than in it, and errors that never lose the last failure.
package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	goretry "github.com/sethvargo/go-retry"
)

// The defaults of a [Policy].
const (
	// DefaultTries is how often the function is called at the most.
	DefaultTries = 3
	// DefaultMaxWait is the longest wait between two tries.
	DefaultMaxWait = 5 * time.Second
)

// Policy limits a run of [Do]. It holds no state, so one value serves any
// number of runs at once. The zero value is usable.
type Policy struct {
	// Tries is how often the function is called at the most, the first call
	// included. Default 3; 1 means no retry.
	Tries int
	// Backoff is the wait after the nth failure. Default: full jitter under an
	// exponential from 100 ms to 2 s. An answer below 0 counts as 0. [After]
	// overrides it.
	Backoff Backoff
	// MaxWait is the longest wait that is slept. Default 5 s. A longer one is
	// not begun: Do gives up, and whoever called it does the waiting.
	MaxWait time.Duration
}

// Validate reports the first setting that makes no sense, and what to write
// instead.
func (p Policy) Validate() error {
	if p.Tries < 0 {
		return fmt.Errorf("Tries is %d; use 1 for no retry or 0 for the default of %d", p.Tries, DefaultTries)
	}
	if p.MaxWait < 0 {
		return fmt.Errorf("MaxWait is %v; use 0 for the default of %v or Tries 1 for no retry", p.MaxWait, DefaultMaxWait)
	}
	return nil
}

var defaultBackoff = FullJitter(Exponential(100*time.Millisecond, 2*time.Second))

// WithDefaults returns a copy with every zero field set to its default.
func (p Policy) WithDefaults() Policy {
	if p.Tries == 0 {
		p.Tries = DefaultTries
	}
	if p.Backoff == nil {
		p.Backoff = defaultBackoff
	}
	if p.MaxWait == 0 {
		p.MaxWait = DefaultMaxWait
	}
	return p
}

// Do calls fn until it returns nil, and returns nil then.
//
// An error marked by [Permanent] ends the run and is returned as it is. Any
// other is tried again, until the tries are used up, the next wait is longer
// than the policy's MaxWait or does not end before the context's deadline, or
// the context ends; Do then returns an [*ExhaustedError], which keeps the last
// failure whatever ended the run. A context that has ended already means no
// call at all. A policy that does not validate is an error before any call.
//
// fn gets ctx and is called in the caller's goroutine; a panic passes through.
func Do(ctx context.Context, p Policy, fn func(ctx context.Context) error) error {
	if err := p.Validate(); err != nil {
		return fmt.Errorf("retry: invalid policy: %w", err)
	}
	if ctx.Err() != nil {
		return &ExhaustedError{Cause: context.Cause(ctx)}
	}
	// The first try is the last one nearly always, and costs nothing more then.
	first := fn(ctx)
	if first == nil || IsPermanent(first) {
		return first
	}
	return again(ctx, p.WithDefaults(), fn, first)
}

// again goes on after the first try.
func again(ctx context.Context, p Policy, fn func(ctx context.Context) error, first error) error {
	r := &run{policy: p, ctx: ctx, tries: 1, last: first}
	told := false
	err := goretry.Do(ctx, r, func(ctx context.Context) error {
		if !told {
			told = true
			return errTransient
		}
		r.tries++
		r.last = fn(ctx)
		switch {
		case r.last == nil:
			return nil
		case IsPermanent(r.last):
			return errPermanent
		default:
			return errTransient
		}
	})
	switch {
	case err == nil:
		return nil
	case err == errPermanent: //nolint:errorlint // the very value from above
		return r.last
	case r.cause == nil:
		// The loop saw the context end: before the first call or in a wait.
		r.cause = context.Cause(ctx)
	}
	return &ExhaustedError{Tries: r.tries, Last: r.last, Cause: r.cause}
}

// What the loop is told of a failure. The failure itself is kept aside: the
// loop would lose it when the context ends, strip text around it on exhaustion,
// and try a permanent one again if it happened to wrap a RetryableError.
var (
	errPermanent = errors.New("permanent")
	errTransient = goretry.RetryableError(errors.New("transient"))
)

// run is one run of Do. go-retry's backoffs are stateful and single-use, so
// each run is its own.
type run struct {
	policy Policy
	ctx    context.Context
	tries  int
	last   error
	cause  error
}

// Next implements [goretry.Backoff].
func (r *run) Next() (time.Duration, bool) {
	wait, err := r.next()
	r.cause = err
	return wait, err != nil
}

func (r *run) next() (time.Duration, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	if r.tries >= r.policy.Tries {
		return 0, ErrTries
	}
	wait, asked := Delay(r.last)
	if !asked {
		wait = max(r.policy.Backoff(r.tries), 0)
	}
	if wait < 0 || wait > r.policy.MaxWait {
		return 0, ErrWait
	}
	if end, ok := r.ctx.Deadline(); ok && wait >= time.Until(end) {
		return 0, ErrWait
	}
	return wait, nil
}
