package idempotency

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrCompleted says that the work under the key is done.
	ErrCompleted = errors.New("idempotency: the work is already done")
	// ErrHeld is what every [HeldError] is, for errors.Is.
	ErrHeld = errors.New("idempotency: somebody else holds the key")
	// ErrMismatch is what every [MismatchError] is.
	ErrMismatch = errors.New("idempotency: the key was used for another payload")
	// ErrExhausted is what every [ExhaustedError] is.
	ErrExhausted = errors.New("idempotency: the attempts are used up")
	// ErrLost says that the claim is no longer ours: its lease has ended and
	// somebody else took over, or its record is gone.
	ErrLost = errors.New("idempotency: the claim was lost")
	// ErrUnavailable is what every [UnavailableError] is.
	ErrUnavailable = errors.New("idempotency: the store is unavailable")
	// ErrLease says that a claim was not made because its lease would have
	// ended already.
	ErrLease = errors.New("idempotency: there is no time left to hold the key for")
)

// The texts of the errors below leave the key out: it comes from the payload,
// and an error ends up in logs.

// HeldError says that somebody else holds the key.
type HeldError struct {
	Key string
	// Until is when their lease ends. It can be taken over MaxSkew later.
	Until time.Time
}

// Error names the end of the lease.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%v until %s", ErrHeld, e.Until.UTC().Format(time.RFC3339Nano))
}

// Is reports whether target is [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// MismatchError says that the key was used for another payload. Either two
// different things have one key, or the payload selector takes in something that
// changes from one delivery to the next.
type MismatchError struct{ Key string }

// Error says what all of its kind say.
func (e *MismatchError) Error() string { return ErrMismatch.Error() }

// Is reports whether target is [ErrMismatch].
func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

// ExhaustedError says that the work was rejected in this life, or that its
// attempts are used up.
type ExhaustedError struct {
	Key      string
	Attempts int
	// Last is what the record says of the last failure.
	Last string
}

// Error names the attempts and the last failure.
func (e *ExhaustedError) Error() string {
	if e.Last == "" {
		return fmt.Sprintf("%v after %d", ErrExhausted, e.Attempts)
	}
	return fmt.Sprintf("%v after %d, the last one with: %s", ErrExhausted, e.Attempts, e.Last)
}

// Is reports whether target is [ErrExhausted].
func (e *ExhaustedError) Is(target error) bool { return target == ErrExhausted }

// UnavailableError says that the store could not be reached, or did not answer
// in time.
type UnavailableError struct {
	Op  string // claim, renew, complete or release
	Err error
}

// Error names the operation and the cause.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%v: %s: %v", ErrUnavailable, e.Op, e.Err)
}

// Is reports whether target is [ErrUnavailable].
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// Unwrap gives the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }
