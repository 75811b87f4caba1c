package retry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/retry"
)

// script is a function under retry: its nth call returns the nth error, and
// calls beyond the script return the last one again. It notes when it was called.
type script struct {
	errs  []error
	began time.Time
	calls []time.Duration
}

func newScript(errs ...error) *script { return &script{errs: errs, began: time.Now()} }

func (s *script) call(context.Context) error {
	s.calls = append(s.calls, time.Since(s.began))
	return s.errs[min(len(s.calls), len(s.errs))-1]
}

// steps waits 1 s after the first failure, 2 s after the second and so on, so
// that the times of the calls show which n the backoff was asked for.
func steps(n int) time.Duration { return time.Duration(n) * time.Second }

func seconds(ss ...float64) []time.Duration {
	ds := make([]time.Duration, 0, len(ss))
	for _, s := range ss {
		ds = append(ds, time.Duration(s*float64(time.Second)))
	}
	return ds
}

// checkExhausted compares with ==, because Last is what the function returned,
// not merely something that wraps it.
func checkExhausted(t *testing.T, err error, tries int, last, cause error) {
	t.Helper()
	var got *retry.ExhaustedError
	if !errors.As(err, &got) {
		t.Fatalf("got %v (%T), want an ExhaustedError", err, err)
	}
	if got.Tries != tries || got.Last != last || got.Cause != cause { //nolint:errorlint // identity is what is promised
		t.Errorf("got %d tries, last %v, cause %v; want %d, %v, %v", got.Tries, got.Last, got.Cause, tries, last, cause)
	}
}

type doCase struct {
	name   string
	policy retry.Policy
	errs   []error
	calls  []time.Duration
	cause  error // of an ExhaustedError with the last of errs
	want   error // returned as it is, where cause is nil
}

var doCases = []doCase{
	{name: "success at once", errs: []error{nil}, calls: seconds(0)},
	{
		name:   "success at the third try",
		policy: retry.Policy{Backoff: steps},
		errs:   []error{errBoom, errOther, nil},
		calls:  seconds(0, 1, 3),
	},
	{
		name:   "success at the last of many tries",
		policy: retry.Policy{Tries: 5, Backoff: steps},
		errs:   []error{errBoom, errBoom, errBoom, errBoom, nil},
		calls:  seconds(0, 1, 3, 6, 10),
	},
	{
		name:   "three tries by default",
		policy: retry.Policy{Backoff: steps},
		errs:   []error{errOther, errOther, errBoom},
		calls:  seconds(0, 1, 3),
		cause:  retry.ErrTries,
	},
	{
		name:   "one try is no retry",
		policy: retry.Policy{Tries: 1, Backoff: steps},
		errs:   []error{errBoom},
		calls:  seconds(0),
		cause:  retry.ErrTries,
	},
	{
		name:   "a wait of exactly MaxWait is slept",
		policy: retry.Policy{Tries: 2, MaxWait: time.Second, Backoff: retry.Constant(time.Second)},
		errs:   []error{errBoom},
		calls:  seconds(0, 1),
		cause:  retry.ErrTries,
	},
	{
		name:   "a wait beyond MaxWait is not begun",
		policy: retry.Policy{Tries: 9, MaxWait: 2 * time.Second, Backoff: steps},
		errs:   []error{errBoom},
		calls:  seconds(0, 1, 3),
		cause:  retry.ErrWait,
	},
	{
		name:   "MaxWait is 5 s by default",
		policy: retry.Policy{Tries: 9, Backoff: steps},
		errs:   []error{errBoom},
		calls:  seconds(0, 1, 3, 6, 10, 15),
		cause:  retry.ErrWait,
	},
	{
		name:   "a negative backoff does not wait",
		policy: retry.Policy{Backoff: func(int) time.Duration { return -time.Hour }},
		errs:   []error{errBoom},
		calls:  seconds(0, 0, 0),
		cause:  retry.ErrTries,
	},
}

var markCases = []doCase{
	{name: "permanent at once", errs: []error{errPermanent}, calls: seconds(0), want: errPermanent},
	{
		name:   "permanent later",
		policy: retry.Policy{Backoff: steps},
		errs:   []error{errBoom, errPermanent},
		calls:  seconds(0, 1),
		want:   errPermanent,
	},
	{name: "permanent in a join", errs: []error{errPermanentJoined}, calls: seconds(0), want: errPermanentJoined},
	{name: "permanent wins over After", errs: []error{errPermanentAfter}, calls: seconds(0), want: errPermanentAfter},
	{
		name:   "After replaces one wait",
		policy: retry.Policy{Tries: 4, Backoff: steps},
		errs:   []error{errBoom, retry.After(4500*time.Millisecond, errBoom), errBoom, nil},
		calls:  seconds(0, 1, 5.5, 8.5),
	},
	{
		name:   "After is found when wrapped",
		policy: retry.Policy{Backoff: steps},
		errs:   []error{fmt.Errorf("order 7: %w", retry.After(4*time.Second, errBoom)), nil},
		calls:  seconds(0, 4),
	},
	{
		name:   "After 0 is at once",
		policy: retry.Policy{Backoff: steps},
		errs:   []error{retry.After(0, errBoom), nil},
		calls:  seconds(0, 0),
	},
	{
		name:   "After does not add tries",
		policy: retry.Policy{Tries: 2, Backoff: steps},
		errs:   []error{errAfterSecond},
		calls:  seconds(0, 1),
		cause:  retry.ErrTries,
	},
	{
		name:   "After beyond MaxWait is left to the caller",
		policy: retry.Policy{Backoff: steps},
		errs:   []error{errAfterMinute},
		calls:  seconds(0),
		cause:  retry.ErrWait,
	},
	{
		name:   "After below 0 is left to the caller",
		policy: retry.Policy{Backoff: steps},
		errs:   []error{errAfterNever},
		calls:  seconds(0),
		cause:  retry.ErrWait,
	},
}

// Errors that cases compare by identity.
var (
	errPermanent       = retry.Permanent(errBoom)
	errPermanentJoined = errors.Join(errOther, errPermanent)
	errPermanentAfter  = retry.After(time.Second, errPermanent)
	errAfterSecond     = retry.After(time.Second, errBoom)
	errAfterMinute     = retry.After(time.Minute, errBoom)
	errAfterNever      = retry.After(-1, errBoom)
)

func TestDo(t *testing.T) {
	t.Parallel()
	for _, tc := range slices.Concat(doCases, markCases) {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScript(tc.errs...)
				err := retry.Do(t.Context(), tc.policy, s.call)
				switch {
				case tc.cause != nil:
					checkExhausted(t, err, len(tc.calls), tc.errs[len(tc.errs)-1], tc.cause)
				case err != tc.want: //nolint:errorlint // returned as it is
					t.Errorf("got %v, want %v", err, tc.want)
				}
				if diff := cmp.Diff(tc.calls, s.calls); diff != "" {
					t.Errorf("times of the calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestDoDefaultBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 200 {
			s := newScript(errBoom)
			err := retry.Do(t.Context(), retry.Policy{Tries: 8}, s.call)
			checkExhausted(t, err, 8, errBoom, retry.ErrTries)
			for i := 1; i < len(s.calls); i++ {
				wait, most := s.calls[i]-s.calls[i-1], min(100*time.Millisecond<<(i-1), 2*time.Second)
				if wait <= 0 || wait > most {
					t.Fatalf("waited %v after failure %d, want above 0 and at most %v", wait, i, most)
				}
			}
		}
	})
}
