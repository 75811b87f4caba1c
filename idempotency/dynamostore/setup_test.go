package dynamostore_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

const (
	key    = "queue#id:1"
	life   = 1_000
	budget = 3
)

func setup(t *testing.T) (*fake, *dynamostore.Store) {
	t.Helper()
	f := newFake()
	return f, newStore(t, f.client(), dynamostore.Config{})
}

// request is a claim of key that begins now.
func request(owner string) idempotency.Request {
	now := time.Now().Truncate(time.Millisecond)
	return idempotency.Request{
		Key: key, Owner: owner, Now: now, Lease: now.Add(time.Minute), Life: life, MaxAttempts: budget,
		Expires: now.Truncate(time.Second).Add(idempotency.DefaultRetention),
	}
}

// recorded is what another owner left a minute ago, with one attempt in it. Its
// lease has ended, if it has any.
func recorded(st idempotency.Status) idempotency.Record {
	before := time.Now().Truncate(time.Second).Add(-time.Minute)
	rec := idempotency.Record{
		Status: st, Owner: "before", Expires: before.Add(idempotency.DefaultRetention), Life: life, Attempts: 1,
		Err: "it broke", Updated: before, Created: before,
	}
	if st == idempotency.InProgress {
		rec.Lease = before
	}
	return rec
}

func wantOps(t *testing.T, f *fake, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, f.ops()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func repeat(op string, n int) []string {
	ops := make([]string, n)
	for i := range ops {
		ops[i] = op
	}
	return ops
}

// recordIn is the record under key; the zero one if there is none.
func recordIn(f *fake) idempotency.Record {
	it, _ := f.item(key)
	return recordOf(it)
}

// claimed is a context that carries a claim of a Guard on s, as a handler's.
func claimed(t *testing.T, s idempotency.Store) (context.Context, *idempotency.Claim) {
	t.Helper()
	g, err := idempotency.New(s, idempotency.Config{Namespace: "queue"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.Claim(t.Context(), idempotency.Work{Kind: "id", Key: "1", Life: life, MaxAttempts: budget})
	if err != nil {
		t.Fatal(err)
	}
	return idempotency.NewContext(t.Context(), c), c
}
