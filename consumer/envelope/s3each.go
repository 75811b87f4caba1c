package envelope

import (
	"context"
	"fmt"
	"strings"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

// each calls fn for every record and joins what failed.
func each(ctx context.Context, records []S3Record, m *consumer.Message,
	fn func(context.Context, S3Record, *consumer.Message) error,
) error {
	if len(records) == 1 {
		return fn(ctx, records[0], m)
	}
	var failed []error
	for i, r := range records {
		if i > 0 && ctx.Err() != nil {
			failed = append(failed, fmt.Errorf("record %d of %d was not begun: %w", i+1, len(records), context.Cause(ctx)))
			break
		}
		if err := fn(ctx, r, m); err != nil {
			failed = append(failed, fmt.Errorf("record %d of %d: %w", i+1, len(records), err))
		}
	}
	if failed == nil {
		return nil
	}
	return &recordsError{failed}
}

// recordsError holds the failures of a message's records. Joined by errors.Join they
// would be permanent if one of them is, and the others would not be tried again.
type recordsError struct{ errs []error }

func (e *recordsError) Error() string {
	texts := make([]string, len(e.errs))
	for i, err := range e.errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap gives the failures that decide about the message: those that trying again
// may cure, and all if there is none.
func (e *recordsError) Unwrap() []error {
	var curable []error
	for _, err := range e.errs {
		if !retry.IsPermanent(err) {
			curable = append(curable, err)
		}
	}
	if curable == nil {
		return e.errs
	}
	return curable
}
