package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ackwise/ackwise/idempotency"
)

func TestErrorTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		is   error
		text string
	}{
		{
			&idempotency.HeldError{Key: "a#id:7", Until: now}, idempotency.ErrHeld,
			`idempotency: somebody else holds the key until 2026-11-30T12:00:00Z`,
		},
		{
			&idempotency.MismatchError{Key: "a#id:7"}, idempotency.ErrMismatch,
			`idempotency: the key was used for another payload`,
		},
		{
			&idempotency.ExhaustedError{Key: "a#id:7", Attempts: 3}, idempotency.ErrExhausted,
			`idempotency: the attempts are used up after 3`,
		},
		{
			&idempotency.ExhaustedError{Key: "a#id:7", Attempts: 3, Last: "no such customer"}, idempotency.ErrExhausted,
			`idempotency: the attempts are used up after 3, the last one with: no such customer`,
		},
		{
			&idempotency.UnavailableError{Op: "claim", Err: context.DeadlineExceeded}, idempotency.ErrUnavailable,
			"idempotency: the store is unavailable: claim: context deadline exceeded",
		},
	} {
		if got := c.err.Error(); got != c.text {
			t.Errorf("%T: %s\nwant %s", c.err, got, c.text)
		}
		wrapped := fmt.Errorf("wrapped: %w", c.err)
		for _, sentinel := range []error{
			idempotency.ErrCompleted, idempotency.ErrHeld, idempotency.ErrMismatch, idempotency.ErrExhausted,
			idempotency.ErrLost, idempotency.ErrUnavailable, idempotency.ErrLease, idempotency.ErrNoPayload,
		} {
			if got, want := errors.Is(wrapped, sentinel), errors.Is(c.is, sentinel); got != want {
				t.Errorf("%T is %q: %v, want %v", c.err, sentinel, got, want)
			}
		}
	}
}

func TestUnavailableKeepsTheCause(t *testing.T) {
	t.Parallel()
	err := error(&idempotency.UnavailableError{Op: "claim", Err: context.Canceled})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not %v", err, context.Canceled)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	// What stores have written stays readable.
	for st, text := range map[idempotency.Status]string{
		idempotency.InProgress: "in_progress", idempotency.Completed: "completed",
		idempotency.Failed: "failed", idempotency.Rejected: "rejected",
	} {
		if st.String() != text || idempotency.ParseStatus(text) != st {
			t.Errorf("%d is %q, and %q is %d", st, st, text, idempotency.ParseStatus(text))
		}
	}
	for _, text := range []string{"", "Completed", "done"} {
		if got := idempotency.ParseStatus(text); got != 0 {
			t.Errorf("ParseStatus(%q) = %d, want 0", text, got)
		}
	}
	if got := idempotency.Status(99).String() + idempotency.Status(0).String(); got != "" {
		t.Errorf("what is no status is written %q", got)
	}
}
