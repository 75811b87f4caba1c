package retry

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrExhausted is what every [ExhaustedError] is, for errors.Is.
	ErrExhausted = errors.New("retry: gave up")
	// ErrTries is the cause when all tries were used.
	ErrTries = errors.New("all tries were used")
	// ErrWait is the cause when the next wait was not begun: longer than
	// [Policy.MaxWait], or longer than the time left before the deadline.
	ErrWait = errors.New("the next wait is too long to sleep here")
)

// ExhaustedError says that [Do] gave up although the last failure was one that
// trying again might have cured.
type ExhaustedError struct {
	// Tries is how often the function was called; 0 if the context had ended
	// before the first call.
	Tries int
	// Last is what the last call returned, as it returned it; nil if there was
	// no call.
	Last error
	// Cause says why there was no further try: [ErrTries], [ErrWait], or the
	// cause with which the context ended.
	Cause error
}

// Error names the number of tries, the last failure and the cause.
func (e *ExhaustedError) Error() string {
	if e.Last == nil {
		return fmt.Sprintf("not tried: %v", e.Cause)
	}
	tries := "tries"
	if e.Tries == 1 {
		tries = "try"
	}
	return fmt.Sprintf("%v (gave up after %d %s: %v)", e.Last, e.Tries, tries, e.Cause)
}

// Is reports whether target is [ErrExhausted].
func (e *ExhaustedError) Is(target error) bool { return target == ErrExhausted }

// Unwrap gives both the last failure and the cause, so errors.Is and errors.As
// find either.
func (e *ExhaustedError) Unwrap() []error {
	errs := make([]error, 0, 2)
	for _, err := range []error{e.Last, e.Cause} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// Permanent marks err as one that trying again cannot cure, here or in a later
// delivery. The text stays as it is. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// IsPermanent reports whether err, or any error it wraps or joins, was marked
// by [Permanent].
func IsPermanent(err error) bool {
	_, ok := errors.AsType[*permanentError](err)
	return ok
}

type delayedError struct {
	error

	delay time.Duration
}

func (e *delayedError) Unwrap() error { return e.error }

// After asks for the next try to come d from now, whatever the backoff says,
// for instance because a Retry-After header said so. A d of 0 asks for one at
// once. A negative d asks not to be tried again in here and leaves it to the
// caller when to come back; the consumer then leaves the message's visibility
// as it is. The text of err stays as it is. After(d, nil) is nil.
func After(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &delayedError{err, d}
}

// Delay finds what [After] asked for in err or in any error it wraps or joins;
// the outermost, then the first one, counts.
func Delay(err error) (time.Duration, bool) {
	if d, ok := errors.AsType[*delayedError](err); ok {
		return d.delay, true
	}
	return 0, false
}
