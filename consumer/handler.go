package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/ackwise/ackwise/retry"
)

// Handler does the work of one message. Returning nil means that it is done;
// the message leaves the queue then. Any error means that it is not: the
// message is tried again, in here and later from the queue. Wrap the error in
// [retry.Permanent] if trying again cannot help, or in [retry.After] to say
// when to.
//
// Handle is called from several goroutines at once. It should return soon after
// ctx ends; context.Cause(ctx) says why it did (see [ErrDeadline],
// [ErrDraining], [ErrLeaseLost], [ErrTryTimeout]). If it returns nil all the
// same, the work counts as done. A handler that does not return keeps its slot.
type Handler interface {
	Handle(ctx context.Context, m *Message) error
}

// HandlerFunc is a function that is a [Handler].
type HandlerFunc func(ctx context.Context, m *Message) error

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, m *Message) error { return f(ctx, m) }

// Middleware wraps a handler. It runs once per try, inside the try's timeout
// and recovery; the first of [Config.Middleware] is the outermost.
type Middleware func(Handler) Handler

// JSON makes a handler of a function that takes the body decoded as a T, by the
// rules of encoding/json.
//
// A body that does not decode is a permanent failure, a [*DecodeError]: it will
// not decode next time either. So is the body null, which encoding/json would
// take for an empty T. Fields that T does not have are ignored.
func JSON[T any](fn func(ctx context.Context, v T, m *Message) error) Handler {
	if fn == nil {
		return nil // New says so, at construction
	}
	quick := plainBody(reflect.TypeFor[T]())
	return HandlerFunc(func(ctx context.Context, m *Message) error {
		v := new(T)
		if err := decodeBody(m.Body, v, quick); err != nil {
			return retry.Permanent(newDecodeError[T](err))
		}
		if isNull(m.Body) {
			return retry.Permanent(newDecodeError[T](errNullBody))
		}
		return fn(ctx, *v, m)
	})
}

var errNullBody = errors.New("the body is null")

// isNull reports whether a body that is valid JSON is null.
func isNull(body string) bool {
	for i := range len(body) {
		switch body[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return body[i] == 'n'
		}
	}
	return false
}

// DecodeError says that a body is not what [JSON] was to decode. Its text names
// place and type but nothing of the body, so that it can be logged.
type DecodeError struct {
	// Type is the Go type that was asked for.
	Type string
	// Field is the path of the field that did not fit, if one was to blame.
	Field string
	// Offset is how many bytes of the body were read before the error; 0 if the
	// decoder did not say.
	Offset int64

	err error
}

func newDecodeError[T any](err error) *DecodeError {
	d := &DecodeError{Type: reflect.TypeFor[T]().String(), err: err}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		d.Offset = syntax.Offset
	case errors.As(err, &kind):
		d.Offset, d.Field = kind.Offset, kind.Field
	}
	return d
}

// Error says where and what, without a word of the body.
func (e *DecodeError) Error() string {
	what := "it is not valid JSON"
	var syntax *json.SyntaxError
	switch {
	case e.err == errNullBody: //nolint:errorlint // the very value from above
		what = errNullBody.Error()
	case e.Field != "":
		what = fmt.Sprintf("field %s has another type", e.Field)
	case !errors.As(e.err, &syntax):
		what = "its value does not fit"
	}
	if e.Offset > 0 {
		what += fmt.Sprintf(" (at byte %d)", e.Offset)
	}
	return fmt.Sprintf("body does not decode as %s: %s", e.Type, what)
}

// Unwrap gives the decoder's own error, whose text may quote the body.
func (e *DecodeError) Unwrap() error { return e.err }
