package lambdasqs

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// shapeError is valid JSON that is no SQS event.
type shapeError struct{ what, want, got string }

func (e *shapeError) Error() string {
	return fmt.Sprintf("%s is %s, not %s", e.what, e.got, e.want)
}

// trailingError is data that follows the event.
type trailingError struct{ after int64 }

func (e *trailingError) Error() string {
	return fmt.Sprintf("more data after byte %d, where the event ends", e.after)
}

// describe turns an error of the decoder into one that does not quote the event,
// which may hold anything.
func describe(err error, size int) error {
	if shape := (*shapeError)(nil); errors.As(err, &shape) {
		return fmt.Errorf("lambdasqs: not an SQS event: %w", err)
	}
	if trailing := (*trailingError)(nil); errors.As(err, &trailing) {
		return fmt.Errorf("lambdasqs: the event is not valid JSON: %w", err)
	}
	syntax := (*jsontext.SyntacticError)(nil)
	if errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("lambdasqs: the event is not valid JSON: broken at byte %d of %d", syntax.ByteOffset, size)
	}
	return fmt.Errorf("lambdasqs: the event is not valid JSON: it ends too early, at byte %d", size)
}

// describeKind names the type of a JSON value.
func describeKind(k jsontext.Kind) string {
	switch k {
	case jsontext.KindNull:
		return "null"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "a boolean"
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "a number"
	case jsontext.KindBeginObject:
		return "an object"
	case jsontext.KindBeginArray:
		return "an array"
	default:
		return "no JSON"
	}
}
