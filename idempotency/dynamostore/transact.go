package dynamostore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackwise/ackwise/idempotency"
)

// ErrNoClaim is what [Store.Transact] returns if its context carries no claim.
var ErrNoClaim = errors.New("dynamostore: the context carries no claim; call Transact with the context that the handler was given, " +
	"of a consumer whose Config.Idempotency is a Guard on this Store")

var errSecond = fmt.Errorf("dynamostore: transact: there was a transaction under this claim; put everything into one: %w", idempotency.ErrCompleted)

// errNoRecord is a loss too: a record that was deleted cannot be told from one
// that was never here.
var errNoRecord = fmt.Errorf("dynamostore: transact: there is no record under the claim: is Config.Idempotency a Guard on this Store? "+
	"Nothing was written: %w", idempotency.ErrLost)

// Transact writes items and completes the claim that ctx carries, all or
// nothing: the effects of the work happen exactly once, however often its
// message is delivered. ctx is the handler's. The work is done when Transact
// returns nil, and there can be no second transaction under the same claim.
//
// There are at most 99 items, one per record of DynamoDB, 4 MB together; each
// has exactly one of Put, Update, Delete and ConditionCheck. A transaction costs
// twice the write units.
//
// Errors:
//   - [ErrNoClaim];
//   - [idempotency.ErrLost]: somebody else took over, or there is no record under
//     the claim, as in the table of another Store; nothing was written;
//   - [*TransactError]: an item could not be written, so nothing was;
//   - [idempotency.ErrCompleted]: the claim was completed before;
//   - anything else: too many items, no permission, no answer in time and the
//     like. If DynamoDB may have got the transaction, it may have been made; a
//     further Transact under this claim then finds it and returns nil, whatever
//     its items are, and so does the consumer when it releases the claim.
//
// A TransactError is not permanent: to the consumer it is a failure like any
// other, and the work is tried again. Where that cannot help, as after a
// condition that will never hold, wrap it in retry.Permanent.
//
// Make one Transact per handler, and make it the last thing that can fail: the
// work is done with it, and what the handler returns afterwards no longer
// matters.
//
// Conflicts with other transactions and throttled items are retried a few times,
// within ctx and [Config.Timeout]. Do not call Transact concurrently under one
// claim: one transaction is made at the most, and what became of the other is
// then hard to say.
func (s *Store) Transact(ctx context.Context, items ...types.TransactWriteItem) error {
	claim, ok := idempotency.FromContext(ctx)
	switch {
	case !ok || claim == nil:
		return ErrNoClaim
	case claim.Completed():
		return errSecond
	}
	if err := s.checkItems(claim.Key(), items); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var ls landings
	err := again(ctx, conflicts, func(ctx context.Context) (more bool, err error) { return s.transact(ctx, claim, items, &ls) })
	if err != nil {
		return err
	}
	claim.MarkCompleted()
	return nil
}

// transact is one transaction; more says that another may go better.
//
// The token makes the SDK's own retries one transaction. It is another in the
// next one, whose request differs in its time stamps: DynamoDB takes a token
// only for the same request. That a transaction is not made twice does not hang
// on it, but on the completion, which the table takes once.
func (s *Store) transact(
	ctx context.Context, claim *idempotency.Claim, items []types.TransactWriteItem, ls *landings,
) (more bool, err error) {
	all := slices.Concat(items, []types.TransactWriteItem{s.completing(claim)})
	_, err = s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: all, ClientRequestToken: aws.String(token(claim.Owner())),
	}, ls.observe)
	if err == nil {
		return false, nil
	}
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok && len(cancelled.CancellationReasons) == len(all) {
		return s.cancelled(claim, cancelled, ls)
	}
	if _, ok := errors.AsType[*types.IdempotentParameterMismatchException](err); ok {
		return false, fmt.Errorf("dynamostore: transact: something between here and DynamoDB changed the request when it was sent again; "+
			"look at the client's middleware and proxies: %w", err)
	}
	return isConflict(err), s.explain(opTransact, "UpdateItem", err)
}

// completing is the completion of the claim as part of a transaction.
func (s *Store) completing(claim *idempotency.Claim) types.TransactWriteItem {
	c := completion(claim.Expiry()).fence(claim.Owner())
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &s.table, Key: s.key(claim.Key()),
		UpdateExpression: &c.update, ConditionExpression: &c.condition,
		ExpressionAttributeNames: s.used(c), ExpressionAttributeValues: c.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// token is the owner's with something of its own, in the 36 characters that
// there are.
func token(owner string) string {
	const longest, fresh = 36, 9
	return owner[:min(len(owner), longest-fresh-1)] + "-" + rand.Text()[:fresh]
}

// cancelled reads the reasons of a cancelled transaction: one per item, ours
// last. If ours was refused, that is the reason, also if items of the user's are
// in the way of themselves: the work is done, by a transaction whose answer was
// lost, or it is somebody else's.
func (s *Store) cancelled(
	claim *idempotency.Claim, err *types.TransactionCanceledException, ls *landings,
) (more bool, _ error) {
	last := len(err.CancellationReasons) - 1
	ours, users := err.CancellationReasons[last], err.CancellationReasons[:last]
	switch {
	case aws.ToString(ours.Code) != codeCondition:
	case len(ours.Item) == 0:
		return false, errNoRecord
	case !s.is(ours.Item, claim.Owner(), idempotency.Completed):
		return false, idempotency.ErrLost
	case claim.Completed() && !ls.possible.Load():
		return false, errSecond // made by a call beside this one
	default:
		return false, nil
	}
	if failed := newTransactError(users, err); failed != nil {
		return passing(failed.Code), failed
	}
	return passing(aws.ToString(ours.Code)), s.explain(opTransact, "UpdateItem", fmt.Errorf("the completion of the claim: %s: %s: %w",
		aws.ToString(ours.Code), aws.ToString(ours.Message), err))
}
