package retry_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/retry"
)

var errDrain = errors.New("draining")

func TestDoEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errDrain)
	s := newScript(nil)
	checkExhausted(t, retry.Do(ctx, retry.Policy{}, s.call), 0, nil, errDrain)
	if len(s.calls) != 0 {
		t.Errorf("called %d times after the end, want none", len(s.calls))
	}
}

// The work was done, whatever became of the context meanwhile.
func TestDoSuccessAfterTheEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	err := retry.Do(ctx, retry.Policy{}, func(context.Context) error {
		cancel()
		return nil
	})
	if err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestDoContextEndsInACall(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		policy retry.Policy
	}{
		{name: "with tries left", policy: retry.Policy{Tries: 3, Backoff: steps}},
		{name: "with no wait", policy: retry.Policy{Tries: 3, Backoff: retry.Constant(0)}},
		{name: "in the last try", policy: retry.Policy{Tries: 1, Backoff: steps}},
		{name: "before a wait too long", policy: retry.Policy{Tries: 3, Backoff: retry.Constant(time.Hour)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				s := newScript(errBoom)
				err := retry.Do(ctx, tc.policy, func(ctx context.Context) error {
					cancel(errDrain)
					return s.call(ctx)
				})
				checkExhausted(t, err, 1, errBoom, errDrain)
				if past := time.Since(s.began); past != 0 {
					t.Errorf("took %v, want no wait", past)
				}
			})
		})
	}
}

func TestDoBeforeADeadline(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		left  time.Duration
		calls []time.Duration
		cause error
	}{
		{name: "every wait fits", left: time.Hour, calls: seconds(0, 1, 3), cause: retry.ErrTries},
		{name: "the last wait just fits", left: 3*time.Second + 1, calls: seconds(0, 1, 3), cause: retry.ErrTries},
		{name: "the last wait ends at the deadline", left: 3 * time.Second, calls: seconds(0, 1), cause: retry.ErrWait},
		{name: "the last wait ends after it", left: 2 * time.Second, calls: seconds(0, 1), cause: retry.ErrWait},
		{name: "no wait fits", left: time.Second, calls: seconds(0), cause: retry.ErrWait},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.left)
				defer cancel()
				s := newScript(errBoom)
				err := retry.Do(ctx, retry.Policy{Backoff: steps}, s.call)
				checkExhausted(t, err, len(tc.calls), errBoom, tc.cause)
				if diff := cmp.Diff(tc.calls, s.calls); diff != "" {
					t.Errorf("times of the calls (-want +got):\n%s", diff)
				}
				if past := time.Since(s.began); past != tc.calls[len(tc.calls)-1] {
					t.Errorf("returned after %v, want right after the last call", past)
				}
			})
		})
	}
}

func TestDoPassesItsContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "value")
	err := retry.Do(ctx, retry.Policy{}, func(ctx context.Context) error {
		if ctx.Value(key{}) != "value" {
			return retry.Permanent(errBoom)
		}
		return nil
	})
	if err != nil {
		t.Error("the function did not get the caller's context")
	}
}

func TestDoPanics(t *testing.T) {
	t.Parallel()
	calls := 0
	defer func() {
		if got := recover(); got != "ouch" {
			t.Errorf("recovered %v, want the function's own panic", got)
		}
		if calls != 1 {
			t.Errorf("called %d times, want once", calls)
		}
	}()
	err := retry.Do(t.Context(), retry.Policy{}, func(context.Context) error {
		calls++
		panic("ouch")
	})
	t.Errorf("returned %v, want a panic", err)
}

func TestDoInvalidPolicy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		policy retry.Policy
		says   []string
	}{
		{name: "tries", policy: retry.Policy{Tries: -1}, says: []string{"Tries", "-1", "use 1"}},
		{name: "wait", policy: retry.Policy{MaxWait: -time.Second}, says: []string{"MaxWait", "-1s", "use 0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newScript(nil)
			err := retry.Do(t.Context(), tc.policy, s.call)
			if err == nil || len(s.calls) != 0 {
				t.Fatalf("got %v after %d calls, want an error before any", err, len(s.calls))
			}
			if errors.Is(err, retry.ErrExhausted) {
				t.Error("an invalid policy looks like an exhausted one")
			}
			for _, word := range tc.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
		})
	}
}

func TestPolicyWithDefaults(t *testing.T) {
	t.Parallel()
	zero := retry.Policy{}
	p := zero.WithDefaults()
	if p.Tries != retry.DefaultTries || p.MaxWait != retry.DefaultMaxWait || p.Backoff == nil {
		t.Errorf("got %+v, want every default", p)
	}
	if zero.Tries != 0 || zero.MaxWait != 0 || zero.Backoff != nil {
		t.Errorf("the receiver became %+v, want it untouched", zero)
	}
	set := retry.Policy{Tries: 7, MaxWait: time.Hour, Backoff: steps}.WithDefaults()
	if set.Tries != 7 || set.MaxWait != time.Hour || set.Backoff(9) != 9*time.Second {
		t.Errorf("got %+v, want what was set", set)
	}
	for _, policy := range []retry.Policy{zero, p, set} {
		if err := policy.Validate(); err != nil {
			t.Errorf("%+v does not validate: %v", policy, err)
		}
	}
}
