package retry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ackwise/ackwise/retry"
)

func ExampleDo() {
	policy := retry.Policy{
		Tries:   3,
		Backoff: retry.Constant(0), // so that the example does not wait
	}
	calls := 0
	err := retry.Do(context.Background(), policy, func(context.Context) error {
		calls++
		if calls < 3 {
			return errors.New("connection reset")
		}
		return nil
	})
	fmt.Println(calls, err)
	// Output: 3 <nil>
}

func ExampleDo_exhausted() {
	policy := retry.Policy{Tries: 2, Backoff: retry.Constant(0)}
	err := retry.Do(context.Background(), policy, func(context.Context) error {
		return errors.New("connection reset")
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, retry.ErrTries))
	// Output:
	// connection reset (gave up after 2 tries: all tries were used)
	// true
}

func ExamplePermanent() {
	calls := 0
	err := retry.Do(context.Background(), retry.Policy{}, func(context.Context) error {
		calls++
		return retry.Permanent(errors.New("no such customer"))
	})
	fmt.Println(calls, err, retry.IsPermanent(err))
	// Output: 1 no such customer true
}

// A wait longer than MaxWait is not slept. The caller learns how long it should
// have been.
func ExampleAfter() {
	err := retry.Do(context.Background(), retry.Policy{}, func(context.Context) error {
		return retry.After(90*time.Second, errors.New("too many requests"))
	})
	fmt.Println(err)
	fmt.Println(retry.Delay(err))
	// Output:
	// too many requests (gave up after 1 try: the next wait is too long to sleep here)
	// 1m30s true
}

func ExampleExponential() {
	backoff := retry.Exponential(time.Second, 10*time.Second)
	for n := 1; n <= 5; n++ {
		fmt.Print(backoff(n), " ")
	}
	fmt.Println(backoff(1_000_000))
	// Output: 1s 2s 4s 8s 10s 10s
}

func ExampleFullJitter() {
	backoff := retry.FullJitter(retry.Exponential(time.Second, 10*time.Second))
	for n := 1; n <= 100; n++ {
		if d := backoff(n); d <= 0 || d > 10*time.Second {
			fmt.Println("outside:", d)
		}
	}
	fmt.Println("all above 0 and at most 10s")
	// Output: all above 0 and at most 10s
}

func ExampleExhaustedError() {
	ctx, cancel := context.WithCancelCause(context.Background())
	err := retry.Do(ctx, retry.Policy{}, func(context.Context) error {
		cancel(errors.New("shutting down"))
		return errors.New("connection reset")
	})
	if gaveUp, ok := errors.AsType[*retry.ExhaustedError](err); ok {
		fmt.Println("tries:", gaveUp.Tries)
		fmt.Println("last:", gaveUp.Last)
		fmt.Println("cause:", gaveUp.Cause)
	}
	// Output:
	// tries: 1
	// last: connection reset
	// cause: shutting down
}
