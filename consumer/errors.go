package consumer

import (
	"errors"
	"fmt"
)

// Why a handler's context ended, or why a delivery was not begun; see
// context.Cause.
var (
	// ErrDeadline: the host has to answer soon, and what is left of its time is
	// reserved for that.
	ErrDeadline = errors.New("the deadline of the invocation is near")
	// ErrDraining: the session is closing.
	ErrDraining = errors.New("the consumer is draining")
	// ErrLeaseLost: the message may be visible to others by now.
	ErrLeaseLost = errors.New("the lease on the message was lost")
	// errHeld is the other reason why a lease ends.
	errHeld = fmt.Errorf("%w: its handler has taken longer than MaxHold", ErrLeaseLost)
	// ErrTryTimeout: this try has outlived [Config.TryTimeout].
	ErrTryTimeout = errors.New("the try has taken longer than TryTimeout")
)

var (
	// ErrStuck says that every slot is held by a handler that was abandoned and
	// has not returned: this process can do no more work.
	ErrStuck = errors.New("every slot is held by a handler that ignores its context; " +
		"make the handler return when ctx ends, or restart the process")
	// ErrAbandoned says that the handler did not return although its context had
	// ended. It was left alone, and whatever it returns later is ignored.
	ErrAbandoned = errors.New("the handler did not return when its context ended")
	// ErrStillRunning says that an earlier delivery of the message was abandoned
	// and its handler is still running in this process.
	ErrStillRunning = errors.New("an abandoned handler is still running for this message")
	// ErrGroupFailed says that an earlier message of the same group has failed,
	// and that order would be lost if this one went first.
	ErrGroupFailed = errors.New("an earlier message of the group was not finished")
	// ErrAttempts says that the message has had all attempts that
	// [Redelivery.MaxAttempts] gives it.
	ErrAttempts = errors.New("all attempts were used")
	// ErrTooOld says that the next delivery would come after
	// [Redelivery.MaxAge].
	ErrTooOld = errors.New("the message would be too old at its next delivery")
	// ErrParkingFailed says that a rejected message could not be copied to the
	// dead-letter queue, so it stays on its queue.
	ErrParkingFailed = errors.New("parking failed")
)

// PanicError is a panic of a handler, or its call of runtime.Goexit, as an
// error. It is tried again as any other error is.
type PanicError struct {
	// Value is what the handler panicked with; nil if it called runtime.Goexit.
	Value any
	// Stack is the stack of the goroutine at that moment, as debug.Stack
	// formats it.
	Stack []byte
}

// Error gives the value, without the stack.
func (e *PanicError) Error() string {
	if e.Value == nil {
		return "the handler called runtime.Goexit"
	}
	return fmt.Sprintf("the handler panicked: %v", e.Value)
}

// Unwrap gives the value if the handler panicked with an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
