package dynamostore_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
	"github.com/ackwise/ackwise/idempotency/memstore"
	"github.com/ackwise/ackwise/retry"
)

const orders = "orders"

// order is a put of an order that must not be there yet.
func order(id string) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: aws.String(orders), Item: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: id}},
		ConditionExpression: aws.String("attribute_not_exists(#pk)"), ExpressionAttributeNames: map[string]string{"#pk": "pk"},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

func (f *fake) has(order string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.items[f.keyOf(orders, wireItem{"pk": {"S": order}})]
	return ok
}

// wantDone checks that the transaction was made: the work is done, and so is its
// effect.
func wantDone(t *testing.T, f *fake, c *idempotency.Claim, want bool) {
	t.Helper()
	if st := recordIn(f).Status; (st == idempotency.Completed) != want {
		t.Errorf("the record is %v; want it completed: %t", st, want)
	}
	if f.has("o1") != want {
		t.Errorf("the order is there: %t, want %t", f.has("o1"), want)
	}
	if c.Completed() != want {
		t.Errorf("the claim is completed: %t, want %t", c.Completed(), want)
	}
}

func TestTransact(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	ctx, c := claimed(t, s)
	if err := s.Transact(ctx, order("o1"), order("o2")); err != nil {
		t.Fatal(err)
	}
	wantDone(t, f, c, true)
	if !f.has("o2") {
		t.Error("the second order is not there")
	}
	rec := recordIn(f)
	if !rec.Lease.IsZero() || rec.Err != "" || !rec.Expires.After(time.Now().Add(14*24*time.Hour)) || rec.Owner != c.Owner() {
		t.Errorf("the record is %+v; want it as after Complete", rec)
	}
	if err := c.Complete(ctx); err != nil {
		t.Errorf("Complete: %v", err)
	}
	wantOps(t, f, "UpdateItem", "TransactWriteItems")
}

func TestTransactRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := setup(t)
		ctx, c := claimed(t, s)
		f.plan(fault{status: http.StatusInternalServerError}, conflict)
		if err := s.Transact(ctx, order("o1")); err != nil {
			t.Fatal(err)
		}
		var tokens []string
		for _, call := range f.calls[1:] {
			var in struct {
				ClientRequestToken string
				TransactItems      []struct{ Put, Update *wireWrite }
			}
			if err := json.Unmarshal([]byte(call.body), &in); err != nil {
				t.Fatal(err)
			}
			tokens = append(tokens, in.ClientRequestToken)
			last := in.TransactItems[len(in.TransactItems)-1].Update
			if len(in.TransactItems) != 2 || in.TransactItems[0].Put == nil || last == nil ||
				last.ConditionExpression != "#own = :tok AND #st = :ip" || last.ReturnValuesOnConditionCheckFailure != "ALL_OLD" {
				t.Errorf("items: %s; want the order and then the completion", call.body)
			}
		}
		// The SDK's own retry has the same token, ours another: DynamoDB would
		// take no other time stamps under the first.
		if len(tokens) != 3 || tokens[0] != tokens[1] || tokens[1] == tokens[2] {
			t.Errorf("tokens %q; want three, the first two alike", tokens)
		}
		for _, token := range tokens {
			if len(token) > 36 || !strings.HasPrefix(token, c.Owner()) {
				t.Errorf("token %q; want that of the owner, %q, and at most 36 characters", token, c.Owner())
			}
		}
	})
}

func TestTransactOfNothing(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	ctx, c := claimed(t, s)
	if err := s.Transact(ctx); err != nil || !c.Completed() || recordIn(f).Status != idempotency.Completed {
		t.Errorf("%v, completed: %t, record %+v; want the work done", err, c.Completed(), recordIn(f))
	}
}

func TestTransactItemFails(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	ctx, c := claimed(t, s)
	f.items[f.keyOf(orders, wireItem{"pk": {"S": "o2"}})] = wireItem{"pk": {"S": "o2"}, "by": {"S": "hand"}}
	err := s.Transact(ctx, order("o1"), order("o2"), order("o3"))
	got, ok := errors.AsType[*dynamostore.TransactError](err)
	if !ok {
		t.Fatalf("got %v, want a TransactError", err)
	}
	by, _ := got.Item["by"].(*types.AttributeValueMemberS)
	if got.Index != 1 || got.Code != "ConditionalCheckFailed" || got.Message == "" || by == nil || by.Value != "hand" || len(got.Reasons) != 3 {
		t.Errorf("got %+v; want item 1 of 3, refused by what was there", got)
	}
	for i, want := range []string{"None", "ConditionalCheckFailed", "None"} {
		if code := aws.ToString(got.Reasons[i].Code); code != want {
			t.Errorf("reason %d is %q, want %q", i, code, want)
		}
	}
	if !strings.Contains(err.Error(), "item 1 of 3: ConditionalCheckFailed") {
		t.Errorf("the error says %q", err)
	}
	if _, ok := errors.AsType[*types.TransactionCanceledException](err); !ok {
		t.Errorf("%v does not wrap the SDK's error", err)
	}
	if retry.IsPermanent(err) {
		t.Error("it is a verdict on the message; that is for the handler to say")
	}
	wantDone(t, f, c, false)
	wantOps(t, f, "UpdateItem", "TransactWriteItems") // it is not tried again
	if err := s.Transact(ctx, order("o1")); err != nil {
		t.Errorf("the next one: %v; want success, the claim is still held", err)
	}
	wantDone(t, f, c, true)
}

func TestTransactLost(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	ctx, c := claimed(t, s)
	next := recorded(idempotency.InProgress)
	f.put(itemOf(key, next))
	// An item that fails as well is no reason: somebody else is at it.
	f.items[f.keyOf(orders, wireItem{"pk": {"S": "o2"}})] = wireItem{"pk": {"S": "o2"}}
	if err := s.Transact(ctx, order("o1"), order("o2")); !errors.Is(err, idempotency.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	} else if strings.Contains(err.Error(), "no record") {
		t.Errorf("%v; but there is a record", err)
	}
	wantDone(t, f, c, false)

	f.empty()
	if err := s.Transact(ctx, order("o1")); !errors.Is(err, idempotency.ErrLost) {
		t.Errorf("with the record gone: %v, want ErrLost", err)
	}
	if f.has("o1") {
		t.Error("the order is there")
	}
}

// The claim is one in another store: there is no record of it here.
func TestTransactUnderAClaimOfAnotherStore(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	ctx, c := claimed(t, memstore.New())
	err := s.Transact(ctx, order("o1"))
	if !errors.Is(err, idempotency.ErrLost) || !strings.Contains(err.Error(), "is Config.Idempotency a Guard on this Store?") {
		t.Errorf("got %v, want ErrLost that asks for the Guard", err)
	}
	wantDone(t, f, c, false)
}

func TestTransactTwice(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	ctx, _ := claimed(t, s)
	if err := s.Transact(ctx, order("o1")); err != nil {
		t.Fatal(err)
	}
	f.ops()
	if err := s.Transact(ctx, order("o2")); !errors.Is(err, idempotency.ErrCompleted) {
		t.Errorf("got %v, want ErrCompleted", err)
	}
	wantOps(t, f, []string{}...)
}

// Two at once: the slower one must not be told that its items were written.
func TestTransactBesideAnother(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	ctx, c := claimed(t, s)
	var inner error
	f.plan(fault{status: http.StatusBadRequest, code: "TransactionConflictException", then: func() { inner = s.Transact(ctx, order("o1")) }})
	if err := s.Transact(ctx, order("o2")); !errors.Is(err, idempotency.ErrCompleted) {
		t.Errorf("got %v, want ErrCompleted", err)
	}
	if inner != nil || f.has("o2") {
		t.Errorf("the faster one: %v; the order of the slower one is there: %t", inner, f.has("o2"))
	}
	wantDone(t, f, c, true)
}

func TestTransactCountsAsOneRun(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	ctx, _ := claimed(t, s)
	if err := s.Transact(ctx, order("o1")); err != nil {
		t.Fatal(err)
	}
	r := request("b")
	if _, err := s.Claim(t.Context(), r); !errors.Is(err, idempotency.ErrCompleted) {
		t.Errorf("a duplicate: %v, want ErrCompleted", err)
	}
	if diff := cmp.Diff([]string{"UpdateItem", "TransactWriteItems", "UpdateItem"}, f.ops()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
