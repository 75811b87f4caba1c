package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/ackwise/ackwise/retry"
)

// conflicts is how the Store retries what the SDK does not: a conflict ends with
// the transaction or the write that it is one with, in milliseconds.
var conflicts = retry.Policy{
	Tries:   6,
	Backoff: retry.HalfJitter(retry.Exponential(20*time.Millisecond, 500*time.Millisecond)),
}

// insisting is how a completion or a release is tried again: what it records is
// lost otherwise. Each try has its own time, so that one connection that hangs
// does not take all of it.
var insisting = retry.Policy{
	Tries:   100,
	Backoff: retry.HalfJitter(retry.Exponential(50*time.Millisecond, time.Second)),
}

const insistingTry = 2 * time.Second

// opTransact is what errors call an operation that is not on our table alone.
const opTransact = "transact"

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
	policy := conflicts
	if c.insist {
		policy = insisting
	}
	err := again(ctx, policy, func(ctx context.Context) (more bool, err error) {
		if c.insist {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, insistingTry)
			defer cancel()
		}
		out, err := s.client.UpdateItem(ctx, in, ls.observe)
		if err == nil {
			a = answer{found: out.Attributes}
			return false, nil
		}
		if no, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
			a = answer{refused: true, found: no.Item}
			return false, nil
		}
		return isConflict(err) || c.insist && mayPass(err), err
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
func again(ctx context.Context, policy retry.Policy, fn func(ctx context.Context) (more bool, err error)) error {
	var last error
	err := retry.Do(ctx, policy, func(ctx context.Context) error {
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

// mayPass reports whether a failure may be over after a while: the network's, the
// server's, and throttling.
func mayPass(err error) bool {
	if resp, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && resp.HTTPStatusCode() >= http.StatusInternalServerError {
		return true // whatever its code: a proxy answers with none
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok || api.ErrorFault() == smithy.FaultServer {
		return true
	}
	switch api.ErrorCode() {
	case "ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded":
		return true
	default:
		return false
	}
}

// explain says what was being done, and what to do about an error that does not
// pass by itself. A transaction is not the claim's alone: what is wrong may be
// the user's.
func (s *Store) explain(op, action string, err error) error {
	code, msg := "", ""
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code, msg = api.ErrorCode(), strings.ToLower(api.ErrorMessage())
	}
	where, shared := fmt.Sprintf("table %q", s.table), op == opTransact
	if shared {
		where, action = fmt.Sprintf("the claim's table %q or a table of the items", s.table), action+" (and what the items need)"
	}
	switch {
	case code == "ResourceNotFoundException":
		return fmt.Errorf("dynamostore: %s: %s was not found in this account and Region; correct the name or the Region, or create it: %w",
			op, where, err)
	case code == "AccessDeniedException" || code == "AccessDenied":
		return fmt.Errorf("dynamostore: %s: grant dynamodb:%s on %s: %w", op, action, where, err)
	case code == "ValidationException" && shared:
		return fmt.Errorf("dynamostore: %s: DynamoDB finds fault with an item, or the keys do not fit %s; look at the items, "+
			"and at what Store.Check says: %w", op, where, err)
	case code == "ValidationException" && strings.Contains(msg, "key"):
		return fmt.Errorf("dynamostore: %s: the keys of %s do not fit the Config; Store.Check says how: %w", op, where, err)
	default:
		return fmt.Errorf("dynamostore: %s: %w", op, err)
	}
}
