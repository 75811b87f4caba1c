package dynamostore_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
	"github.com/ackwise/ackwise/retry"
)

// reasons is a cancellation by these codes, ours last.
func reasons(codes ...string) fault {
	var rs []wireReason
	for _, code := range codes {
		rs = append(rs, wireReason{Code: code, Message: "scripted"})
	}
	answer := cancelled(rs...)
	return fault{status: answer.status, body: answer.body}
}

func TestTransactRetries(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		ft   fault
	}{
		{"conflict of an item", reasons("TransactionConflict", "None")},
		{"conflict of the completion", reasons("None", "TransactionConflict")}, // with a renewal, say
		{"throttled item", reasons("ThrottlingError", "None")},
		{"throttled completion", reasons("None", "ProvisionedThroughputExceeded")},
		{"conflict", conflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, s := setup(t)
				ctx, c := claimed(t, s)
				f.plan(faults(3, tc.ft)...)
				if err := s.Transact(ctx, order("o1")); err != nil {
					t.Error(err)
				}
				wantDone(t, f, c, true)
				wantOps(t, f, append([]string{"UpdateItem"}, repeat("TransactWriteItems", 4)...)...)
			})
		})
	}
}

func TestTransactGivesUp(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		codes []string
		index int // of the item in the error; -1 for another error
		calls int
	}{
		{"conflicts of an item without end", []string{"None", "TransactionConflict", "None"}, 1, 6},
		{"throttled without end", []string{"ThrottlingError", "None", "None"}, 0, 6},
		{"conflicts of the completion without end", []string{"None", "None", "TransactionConflict"}, -1, 6},
		{"an item that fails for good", []string{"TransactionConflict", "ValidationError", "None"}, 1, 1},
		{"collection too large", []string{"None", "ItemCollectionSizeLimitExceeded", "TransactionConflict"}, 1, 1},
		{"the completion fails for good", []string{"None", "None", "ValidationError"}, -1, 1},
		{"reasons of another request", []string{"ConditionalCheckFailed"}, -1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, s := setup(t)
				ctx, c := claimed(t, s)
				f.ops()
				defer f.breakAll(reasons(tc.codes...))()
				began := time.Now()
				err := s.Transact(ctx, order("o1"), order("o2"))
				item, ok := errors.AsType[*dynamostore.TransactError](err)
				if err == nil || ok != (tc.index >= 0) || ok && (item.Index != tc.index || item.Code != tc.codes[tc.index]) {
					t.Errorf("got %v, want an error about item %d", err, tc.index)
				}
				if _, ok := errors.AsType[*types.TransactionCanceledException](err); !ok {
					t.Errorf("%v does not wrap the SDK's error", err)
				}
				if errors.Is(err, idempotency.ErrLost) || retry.IsPermanent(err) {
					t.Errorf("%v, permanent: %t", err, retry.IsPermanent(err))
				}
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("took %v, want at most 2s", took)
				}
				wantDone(t, f, c, false)
				wantOps(t, f, repeat("TransactWriteItems", tc.calls)...)
			})
		})
	}
}

func TestTransactEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := setup(t)
		ctx, _ := claimed(t, s)
		defer f.breakAll(reasons("TransactionConflict", "None"))()
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		began := time.Now()
		if err := s.Transact(ctx, order("o1")); err == nil || time.Since(began) > 50*time.Millisecond {
			t.Errorf("%v after %v, want an error after 50ms at the most", err, time.Since(began))
		}
	})
}

// Whose table or item is meant DynamoDB does not say.
func TestTransactRefused(t *testing.T) {
	t.Parallel()
	const tables = `the claim's table "records" or a table of the items`
	for _, tc := range []struct{ code, want string }{
		{"IdempotentParameterMismatchException", "changed the request"},
		{"AccessDeniedException", "grant dynamodb:UpdateItem (and what the items need) on " + tables},
		{"ResourceNotFoundException", tables + " was not found"},
		{"ValidationException", "fault with an item, or the keys do not fit " + tables},
	} {
		t.Run(tc.code, func(t *testing.T) {
			t.Parallel()
			f, s := setup(t)
			ctx, c := claimed(t, s)
			f.plan(fault{status: http.StatusBadRequest, code: tc.code})
			err := s.Transact(ctx, order("o1"))
			if err == nil || !strings.Contains(err.Error(), tc.want) || retry.IsPermanent(err) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			wantDone(t, f, c, false)
			wantOps(t, f, "UpdateItem", "TransactWriteItems")
		})
	}
}

func TestTransactWithoutClaim(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	if err := s.Transact(t.Context(), order("o1")); !errors.Is(err, dynamostore.ErrNoClaim) {
		t.Errorf("got %v, want ErrNoClaim", err)
	}
	wantOps(t, f, []string{}...)
}

type itemsCase struct {
	name  string
	items []types.TransactWriteItem
	want  []string // of the error; nothing if there is none
}

func itemsCases() []itemsCase {
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	own := map[string]types.AttributeValue{"pk": text(key)}
	arn := aws.String("arn:aws:dynamodb:eu-central-1:123456789012:table/" + table)
	large := func(n int) []types.TransactWriteItem {
		var items []types.TransactWriteItem
		for range n {
			it := order("o")
			it.Put.Item["data"] = text(strings.Repeat("x", 399_000))
			items = append(items, it)
		}
		return items
	}
	many := func(n int) (items []types.TransactWriteItem) {
		for i := range n {
			items = append(items, order(strings.Repeat("o", i+1)))
		}
		return items
	}
	var updates []types.TransactWriteItem
	for range 11 {
		updates = append(updates, types.TransactWriteItem{Update: &types.Update{
			ExpressionAttributeValues: map[string]types.AttributeValue{":v": text(strings.Repeat("x", 399_000)), ":n": text("n")},
		}})
	}
	const mine = "item 0 is the claim's own record"
	return []itemsCase{
		{"99 items", many(99), nil},
		{"100 items", many(100), []string{"100 items", "takes 100", "complete the claim"}},
		{"nearly 4 MB", large(10), nil},
		{"above 4 MB", large(11), []string{"4389077 bytes", "4194304", "S3"}},
		{"above 4 MB in updates", updates, []string{"4389055 bytes"}},
		{"nothing in an item", []types.TransactWriteItem{order("o1"), {}}, []string{"item 1", "0 of Put", "exactly one"}},
		{"two in an item", []types.TransactWriteItem{{Put: order("o").Put, Delete: &types.Delete{}}}, []string{"item 0", "2 of Put"}},
		{"put of the record", []types.TransactWriteItem{{Put: &types.Put{TableName: aws.String(table), Item: own}}}, []string{mine, table}},
		{"update of the record", []types.TransactWriteItem{{Update: &types.Update{TableName: arn, Key: own}}}, []string{mine}},
		{"delete of the record", []types.TransactWriteItem{{Delete: &types.Delete{TableName: aws.String(table), Key: own}}}, []string{mine}},
		{"check of the record", []types.TransactWriteItem{{ConditionCheck: &types.ConditionCheck{TableName: aws.String(table), Key: own}}}, []string{mine}},
		{"the key in another table", []types.TransactWriteItem{{Put: &types.Put{TableName: aws.String(orders), Item: own}}}, nil},
		{"another key in the table", []types.TransactWriteItem{
			{Put: &types.Put{TableName: aws.String(table), Item: map[string]types.AttributeValue{"pk": text("order#1")}}},
		}, nil},
	}
}

func TestTransactRejectsItems(t *testing.T) {
	t.Parallel()
	for _, tc := range itemsCases() {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, s := setup(t)
			ctx, _ := claimed(t, s)
			f.ops()
			err := s.Transact(ctx, tc.items...)
			if tc.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				wantOps(t, f, "TransactWriteItems")
				return
			}
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			wantOps(t, f, []string{}...)
		})
	}
}
