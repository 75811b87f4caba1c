package retry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	goretry "github.com/sethvargo/go-retry"

	"github.com/ackwise/ackwise/retry"
)

// One test for each way in which the loop underneath surprises who uses it bare.
// All were measured with go-retry v0.5.0 or earlier.

// A Backoff of go-retry counts, so a second run on the same one found its
// retries used up: 4, 1 and 1 tries instead of 4, 4 and 4.
func TestTrapSharedPolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := retry.Policy{Tries: 4, Backoff: retry.Exponential(time.Second, 4*time.Second)}
		run := func() []time.Duration {
			s := newScript(errBoom)
			checkExhausted(t, retry.Do(t.Context(), policy, s.call), 4, errBoom, retry.ErrTries)
			return s.calls
		}
		want := seconds(0, 1, 3, 7)
		for i := range 3 {
			if diff := cmp.Diff(want, run()); diff != "" {
				t.Errorf("run %d (-want +got):\n%s", i, diff)
			}
		}

		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				if diff := cmp.Diff(want, run()); diff != "" {
					t.Errorf("concurrent run %d (-want +got):\n%s", i, diff)
				}
			})
		}
		wg.Wait()
	})
}

// WithMaxDuration starts its clock when it is built. A policy has none.
func TestTrapPolicyDoesNotAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := retry.Policy{Backoff: retry.Exponential(time.Second, 4*time.Second)}
		time.Sleep(24 * time.Hour)
		s := newScript(errBoom)
		checkExhausted(t, retry.Do(t.Context(), policy, s.call), 3, errBoom, retry.ErrTries)
		if diff := cmp.Diff(seconds(0, 1, 3), s.calls); diff != "" {
			t.Errorf("times of the calls (-want +got):\n%s", diff)
		}
	})
}

// WithJitter(0), NewExponential(0) and NewConstant(0) panicked.
func TestTrapZeroDurations(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]retry.Backoff{
		"constant":                retry.Constant(0),
		"exponential":             retry.Exponential(0, 0),
		"exponential with limit":  retry.Exponential(0, time.Minute),
		"full jitter":             retry.FullJitter(retry.Constant(0)),
		"half jitter":             retry.HalfJitter(retry.Constant(0)),
		"full jitter below zero":  retry.FullJitter(func(int) time.Duration { return -1 }),
		"half jitter below zero":  retry.HalfJitter(func(int) time.Duration { return -1 }),
		"full jitter of no base":  retry.FullJitter(retry.Exponential(0, time.Minute)),
		"jitter over jitter of 0": retry.HalfJitter(retry.FullJitter(retry.Constant(0))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, n := range []int{0, 1, 64} {
					if d := b(n); d != 0 {
						t.Errorf("b(%d) = %v, want 0", n, d)
					}
				}
				s := newScript(errBoom)
				checkExhausted(t, retry.Do(t.Context(), retry.Policy{Backoff: b}, s.call), 3, errBoom, retry.ErrTries)
				if diff := cmp.Diff(seconds(0, 0, 0), s.calls); diff != "" {
					t.Errorf("times of the calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The smallest wait has no half to draw from.
func TestTrapSmallestJitter(t *testing.T) {
	t.Parallel()
	one := retry.Constant(1)
	if full, half := retry.FullJitter(one)(1), retry.HalfJitter(one)(1); full != 1 || half != 1 {
		t.Errorf("full jitter of 1 ns is %d ns and half jitter %d ns, want 1 and 1", full, half)
	}
	longest := retry.Constant(forever)
	if full, half := retry.FullJitter(longest)(1), retry.HalfJitter(longest)(1); full <= 0 || half < forever/2 {
		t.Errorf("full jitter of the longest wait is %v and half jitter %v", full, half)
	}
}

// Jitter put around a cap of 10 s made waits of 14.99 s. Here it cannot be put
// outside: whatever the order, a wait is at most what it was without.
func TestTrapCapAfterJitter(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Second
	for name, b := range map[string]retry.Backoff{
		"full": retry.FullJitter(retry.Exponential(time.Second, limit)),
		"half": retry.HalfJitter(retry.Exponential(time.Second, limit)),
		"both": retry.FullJitter(retry.HalfJitter(retry.Exponential(time.Second, limit))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range 10_000 {
				if d := b(i); d <= 0 || d > limit {
					t.Fatalf("b(%d) = %v, want above 0 and at most %v", i, d, limit)
				}
			}
		})
	}
}

// When the context ended in a wait, the caller got "context canceled" and the
// handler's error was gone.
func TestTrapContextEndsInAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(1500*time.Millisecond, func() { cancel(errDrain) })
		last := fmt.Errorf("order 7: %w", errBoom)
		s := newScript(errOther, last)
		err := retry.Do(ctx, retry.Policy{Backoff: steps}, s.call)
		checkExhausted(t, err, 2, last, errDrain)
		if !errors.Is(err, errBoom) || !errors.Is(err, errDrain) {
			t.Errorf("%v does not lead to both the failure and the cause", err)
		}
		if past := time.Since(s.began); past != 1500*time.Millisecond {
			t.Errorf("returned after %v, want when the context ended", past)
		}
	})
}

// The loop slept into the deadline: with 2 s left and waits of 1, 2, 4 and 8 s it
// used all the time there was and returned when nothing could be done any more.
func TestTrapSleepsIntoTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		s := newScript(errBoom)
		err := retry.Do(ctx, retry.Policy{Tries: 5, Backoff: retry.Exponential(time.Second, 0)}, s.call)
		checkExhausted(t, err, 2, errBoom, retry.ErrWait)
		if ctx.Err() != nil || time.Since(s.began) != time.Second {
			t.Errorf("returned after %v with the context at %v, want 1s with a second left", time.Since(s.began), ctx.Err())
		}
	})
}

// On exhaustion the loop unwrapped what RetryableError had wrapped, and the text
// around it was lost.
func TestTrapTextOutsideTheWrapper(t *testing.T) {
	t.Parallel()
	last := fmt.Errorf("order 7: %w", goretry.RetryableError(errBoom))
	s := newScript(last)
	err := retry.Do(t.Context(), retry.Policy{Backoff: retry.Constant(0)}, s.call)
	checkExhausted(t, err, 3, last, retry.ErrTries)
	if !strings.Contains(err.Error(), "order 7: ") || !errors.Is(err, errBoom) {
		t.Errorf("%q lost the text or the error", err)
	}
}

// The loop looks for its own mark through the whole error, so a permanent error
// that came out of somebody else's go-retry loop would be tried again.
func TestTrapPermanentWithForeignMark(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"permanent outside": retry.Permanent(fmt.Errorf("order 7: %w", goretry.RetryableError(errBoom))),
		"permanent inside":  goretry.RetryableError(retry.Permanent(errBoom)),
		"side by side":      errors.Join(goretry.RetryableError(errOther), retry.Permanent(errBoom)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(err)
			got := retry.Do(t.Context(), retry.Policy{Backoff: retry.Constant(0)}, s.call)
			if got != err || len(s.calls) != 1 { //nolint:errorlint // returned as it is
				t.Errorf("got %v after %d calls, want the error itself after one", got, len(s.calls))
			}
		})
	}
}
