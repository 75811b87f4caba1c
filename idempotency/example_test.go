package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
)

// What the consumer does with each message. Three deliveries of one order: the
// first is still at work when the second comes, and done when the third does.
func Example() {
	guard, err := idempotency.New(memstore.New(), idempotency.Config{Namespace: "orders"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	order := idempotency.Work{Kind: "json", Key: "order-7", MaxAttempts: 3}

	claim, err := guard.Claim(ctx, order)
	fmt.Println("first: attempt", claim.Attempt(), err)

	_, err = guard.Claim(ctx, order)
	fmt.Println("second: held", errors.Is(err, idempotency.ErrHeld))

	fmt.Println("first: completed", claim.Complete(ctx))

	_, err = guard.Claim(ctx, order)
	fmt.Println("third:", err)
	// Output:
	// first: attempt 1 <nil>
	// second: held true
	// first: completed <nil>
	// third: idempotency: the work is already done
}

// Attempts are counted in the store, whatever SQS counts. A refund gives one
// back; a new life, as after a redrive, brings all of them back.
func ExampleClaim_Release() {
	guard, _ := idempotency.New(memstore.New(), idempotency.Config{Namespace: "orders"})
	ctx := context.Background()
	order := idempotency.Work{Kind: "id", Key: "7", Life: 1, MaxAttempts: 2}

	claim, _ := guard.Claim(ctx, order)
	_ = claim.Refund(ctx, errors.New("shutting down"))
	for range 2 {
		claim, _ = guard.Claim(ctx, order)
		fmt.Println("attempt", claim.Attempt())
		_ = claim.Release(ctx, errors.New("no such customer"))
	}
	_, err := guard.Claim(ctx, order)
	fmt.Println(err)

	order.Life = 2
	claim, _ = guard.Claim(ctx, order)
	fmt.Println("redriven: attempt", claim.Attempt())
	// Output:
	// attempt 1
	// attempt 2
	// idempotency: the attempts are used up after 2, the last one with: no such customer
	// redriven: attempt 1
}

// The same key with another payload is refused, not taken for a duplicate. Field
// leaves out what differs between two sends of the same work.
func ExampleField() {
	guard, _ := idempotency.New(memstore.New(), idempotency.Config{Namespace: "payments", Payload: idempotency.Field("amount")})
	ctx := context.Background()
	for _, payload := range []string{
		`{"amount": 10, "sent": "12:00"}`,
		`{"sent": "12:05", "amount": 1.0e1}`,
		`{"amount": 99, "sent": "12:05"}`,
	} {
		claim, err := guard.Claim(ctx, idempotency.Work{Kind: "id", Key: "req-7", Payload: payload})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println("completed", claim.Complete(ctx))
	}
	// Output:
	// completed <nil>
	// idempotency: the work is already done
	// idempotency: the key was used for another payload
}

// A handler finds the claim it runs under in its context.
func ExampleFromContext() {
	handler := func(ctx context.Context) {
		if claim, ok := idempotency.FromContext(ctx); ok {
			fmt.Println("attempt", claim.Attempt(), "under", claim.Key())
		}
	}
	guard, _ := idempotency.New(memstore.New(), idempotency.Config{Namespace: "orders"})
	claim, err := guard.Claim(context.Background(), idempotency.Work{
		Kind: "id", Key: "7", Deadline: time.Now().Add(time.Minute),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler(idempotency.NewContext(context.Background(), claim))
	// Output: attempt 1 under orders#id:7
}
