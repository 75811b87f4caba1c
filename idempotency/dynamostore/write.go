package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/ackwise/ackwise/retry"
)

// conflicts is how the Store retries what the SDK does not: a conflict ends with
// the transaction or the write that it is one with, in milliseconds.
var conflicts = retry.Policy{
	Tries:   6,
	Backoff: retry.HalfJitter(retry.Exponential(20*time.Millisecond, 500*time.Millisecond)),
}

// answer is what DynamoDB made of a write: the record as written, or what
// refused it.
type answer struct {
	refused bool
	found   item
}

// write makes a change, or has it refused; an error says that neither is known.
// It is an [*unsureError] if the change may have been made.
func (s *Store) write(ctx context.Context, op, key string, c *change) (answer, error) {
	in := &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: s.key(key),
		UpdateExpression: &c.update, ConditionExpression: &c.condition,
		ExpressionAttributeNames: s.used(c), ExpressionAttributeValues: c.values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	var (
		a  answer
		ls landings
	)
	err := again(ctx, func(ctx context.Context) (more bool, err error) {
		out, err := s.client.UpdateItem(ctx, in, ls.observe)
		if err == nil {
			a = answer{found: out.Attributes}
			return false, nil
		}
		if no, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
			a = answer{refused: true, found: no.Item}
			return false, nil
		}
		return isConflict(err), err
	})
	if err == nil {
		return a, nil
	}
	err = s.explain(op, "UpdateItem", err)
	if ls.possible.Load() {
		err = &unsureError{err}
	}
	return answer{}, err
}

// again calls fn until it does not ask for more, within ctx. The error does not
// carry a mark of package retry's: to a consumer that would be a verdict on the
// message.
func again(ctx context.Context, fn func(ctx context.Context) (more bool, err error)) error {
	var last error
	err := retry.Do(ctx, conflicts, func(ctx context.Context) error {
		more, err := fn(ctx)
		if last = err; err != nil && !more {
			return retry.Permanent(err)
		}
		return err
	})
	if retry.IsPermanent(err) {
		return last
	}
	return err
}

// isConflict reports whether a plain write met a transaction, or a write in
// another Region of a table with multi-Region strong consistency.
func isConflict(err error) bool {
	if _, ok := errors.AsType[*types.TransactionConflictException](err); ok {
		return true
	}
	_, ok := errors.AsType[*types.ReplicatedWriteConflictException](err)
	return ok
}

// explain says what was being done, and what to do about an error that does not
// pass by itself.
func (s *Store) explain(op, action string, err error) error {
	code, msg := "", ""
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code, msg = api.ErrorCode(), strings.ToLower(api.ErrorMessage())
	}
	switch code {
	case "ResourceNotFoundException":
		return fmt.Errorf("dynamostore: %s: table %q was not found in this account and Region; correct the name or the Region, or create it: %w",
			op, s.table, err)
	case "AccessDeniedException", "AccessDenied":
		return fmt.Errorf("dynamostore: %s: grant dynamodb:%s on table %q: %w", op, action, s.table, err)
	case "ValidationException":
		if strings.Contains(msg, "key") {
			return fmt.Errorf("dynamostore: %s: the keys of table %q do not fit the Config; Store.Check says how: %w", op, s.table, err)
		}
	}
	return fmt.Errorf("dynamostore: %s: %w", op, err)
}
