package retry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ackwise/ackwise/retry"
)

var (
	errBoom  = errors.New("boom")
	errOther = errors.New("other")
)

func TestIsPermanent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  error
		want bool
	}{
		{name: "nil", err: nil, want: false},
		{name: "plain", err: errBoom, want: false},
		{name: "permanent of nil", err: retry.Permanent(nil), want: false},
		{name: "permanent", err: retry.Permanent(errBoom), want: true},
		{name: "wrapped", err: fmt.Errorf("order 7: %w", retry.Permanent(errBoom)), want: true},
		{name: "joined first", err: errors.Join(retry.Permanent(errBoom), errOther), want: true},
		{name: "joined last", err: errors.Join(errOther, retry.Permanent(errBoom)), want: true},
		{name: "below After", err: retry.After(time.Second, retry.Permanent(errBoom)), want: true},
		{name: "only After", err: retry.After(time.Second, errBoom), want: false},
		{name: "last of an exhausted run", err: &retry.ExhaustedError{Last: retry.Permanent(errBoom)}, want: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := retry.IsPermanent(tc.err); got != tc.want {
				t.Errorf("IsPermanent(%v) = %v, want %v", tc.err, got, tc.want)
			}
		})
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  error
		want time.Duration
		ok   bool
	}{
		{name: "nil", err: nil},
		{name: "plain", err: errBoom},
		{name: "after of nil", err: retry.After(time.Second, nil)},
		{name: "after", err: retry.After(time.Second, errBoom), want: time.Second, ok: true},
		{name: "at once", err: retry.After(0, errBoom), want: 0, ok: true},
		{name: "not in here", err: retry.After(-1, errBoom), want: -1, ok: true},
		{name: "wrapped", err: fmt.Errorf("order 7: %w", retry.After(time.Second, errBoom)), want: time.Second, ok: true},
		{
			name: "outermost wins",
			err:  retry.After(time.Minute, fmt.Errorf("order 7: %w", retry.After(time.Second, errBoom))),
			want: time.Minute, ok: true,
		},
		{
			name: "first of joined wins",
			err:  errors.Join(errOther, retry.After(time.Second, errBoom), retry.After(time.Minute, errBoom)),
			want: time.Second, ok: true,
		},
		{
			name: "last of an exhausted run",
			err:  &retry.ExhaustedError{Tries: 1, Last: retry.After(time.Hour, errBoom), Cause: retry.ErrWait},
			want: time.Hour, ok: true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, ok := retry.Delay(tc.err)
			if got != tc.want || ok != tc.ok {
				t.Errorf("Delay(%v) = %v, %v, want %v, %v", tc.err, got, ok, tc.want, tc.ok)
			}
		})
	}
}

// A mark changes what is done with an error, not what it is or says.
func TestMarksKeepTheError(t *testing.T) {
	t.Parallel()
	for name, marked := range map[string]error{
		"permanent": retry.Permanent(errBoom),
		"after":     retry.After(time.Second, errBoom),
		"both":      retry.Permanent(retry.After(time.Second, errBoom)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !errors.Is(marked, errBoom) {
				t.Error("errors.Is does not find the marked error")
			}
			if marked.Error() != errBoom.Error() {
				t.Errorf("says %q, want %q", marked, errBoom)
			}
		})
	}
}

func TestExhaustedError(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  *retry.ExhaustedError
		text string
		is   []error
	}{
		{
			name: "tries used",
			err:  &retry.ExhaustedError{Tries: 3, Last: errBoom, Cause: retry.ErrTries},
			text: "boom (gave up after 3 tries: all tries were used)",
			is:   []error{retry.ErrExhausted, retry.ErrTries, errBoom},
		},
		{
			name: "one try",
			err:  &retry.ExhaustedError{Tries: 1, Last: errBoom, Cause: retry.ErrWait},
			text: "boom (gave up after 1 try: the next wait is too long to sleep here)",
			is:   []error{retry.ErrExhausted, retry.ErrWait, errBoom},
		},
		{
			name: "not tried",
			err:  &retry.ExhaustedError{Cause: context.Canceled},
			text: "not tried: context canceled",
			is:   []error{retry.ErrExhausted, context.Canceled},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			wrapped := fmt.Errorf("message 1: %w", tc.err)
			if got := tc.err.Error(); got != tc.text {
				t.Errorf("says %q, want %q", got, tc.text)
			}
			for _, target := range tc.is {
				if !errors.Is(wrapped, target) {
					t.Errorf("errors.Is does not find %q", target)
				}
			}
			if errors.Is(wrapped, errOther) {
				t.Error("errors.Is finds an error that is not in it")
			}
		})
	}
}
