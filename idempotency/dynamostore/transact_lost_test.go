package dynamostore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

// The answer is lost and the SDK asks again: by its token DynamoDB knows that it
// is the same one, and without (after ten minutes, say) it is known by the
// record.
func TestTransactAnswerLost(t *testing.T) {
	t.Parallel()
	for _, forget := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f, s := setup(t)
			ctx, c := claimed(t, s)
			f.plan(fault{lose: true, then: func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				if forget {
					clear(f.tokens)
				}
			}})
			if err := s.Transact(ctx, order("o1")); err != nil {
				t.Errorf("tokens forgotten: %t: %v", forget, err)
			}
			wantDone(t, f, c, true)
			wantOps(t, f, "UpdateItem", "TransactWriteItems", "TransactWriteItems")
		})
	}
}

// Every answer is lost, and the handler cannot know. Whatever comes next finds
// that the work is done.
func TestTransactUnsure(t *testing.T) {
	t.Parallel()
	t.Run("and tried again", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f, s, ctx, c := unsure(t)
			if err := s.Transact(ctx, order("o1")); err != nil {
				t.Error(err)
			}
			wantDone(t, f, c, true)
		})
	})
	t.Run("and released", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f, _, ctx, c := unsure(t)
			if err := c.Release(ctx, errors.New("no answer")); !errors.Is(err, idempotency.ErrCompleted) {
				t.Errorf("Release: %v, want ErrCompleted", err)
			}
			wantDone(t, f, c, true)
		})
	})
	t.Run("and renewed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f, _, ctx, c := unsure(t)
			if err := c.Renew(ctx, time.Now().Add(time.Hour)); err != nil {
				t.Errorf("Renew: %v", err)
			}
			wantDone(t, f, c, true)
		})
	})
}

func unsure(t *testing.T) (*fake, *dynamostore.Store, context.Context, *idempotency.Claim) {
	t.Helper()
	f, s := setup(t)
	ctx, c := claimed(t, s)
	f.plan(lost, hung)
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := s.Transact(short, order("o1")); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, idempotency.ErrLost) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if c.Completed() {
		t.Error("the claim is completed")
	}
	return f, s, ctx, c
}
