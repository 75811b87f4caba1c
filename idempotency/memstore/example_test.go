package memstore_test

import (
	"context"
	"fmt"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
)

// A test can look at what was recorded.
func Example() {
	store := memstore.New()
	guard, err := idempotency.New(store, idempotency.Config{Namespace: "orders"})
	if err != nil {
		fmt.Println(err)
		return
	}
	claim, err := guard.Claim(context.Background(), idempotency.Work{Kind: "id", Key: "7"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(claim.Complete(context.Background()))

	rec, ok := store.Get("orders#id:7")
	fmt.Println(ok, rec.Status, rec.Attempts)
	// Output:
	// <nil>
	// true completed 1
}
