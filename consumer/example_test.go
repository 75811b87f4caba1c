package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

// handOver runs messages as a host would, and prints what becomes of them.
func handOver(h consumer.Handler, cfg consumer.Config, bodies ...string) {
	cfg.Logger = slog.New(slog.DiscardHandler)
	c, err := consumer.New(h, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	var ds []*consumer.Delivery
	for i, body := range bodies {
		ds = append(ds, &consumer.Delivery{Message: &consumer.Message{ID: fmt.Sprintf("m-%d", i+1), Body: body, ReceiveCount: 1}})
	}
	for _, o := range c.Process(context.Background(), nowhere{}, ds) {
		fmt.Printf("%s: %v after %d tries", o.Delivery.ID, o.Verdict, o.Tries)
		if !o.Acknowledged() {
			fmt.Printf(", back in %v: %v", o.Delay, o.Err)
		}
		fmt.Println()
	}
}

func ExampleJSON() {
	type order struct {
		ID    string `json:"id"`
		Total int    `json:"total"`
	}
	handler := consumer.JSON(func(_ context.Context, o order, _ *consumer.Message) error {
		fmt.Println("order", o.ID, "of", o.Total)
		return nil
	})
	handOver(handler, consumer.Config{Concurrency: 1}, `{"id":"o-7","total":1999}`, `{"id":7}`)
	// Output:
	// order o-7 of 1999
	// m-1: done after 1 tries
	// m-2: rejected after 1 tries, back in 4s: body does not decode as consumer_test.order: field id has another type (at byte 7)
}

// A permanent error is not tried again: it is parked if there is a DeadLetter,
// and left to the queue's redrive policy otherwise.
func ExampleHandlerFunc_permanent() {
	handler := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
		if m.Body == "" {
			return retry.Permanent(errors.New("nothing to do"))
		}
		return nil
	})
	handOver(handler, consumer.Config{}, "")
	// Output:
	// m-1: rejected after 1 tries, back in 4s: nothing to do
}

// A wait longer than Retry.MaxWait is not slept in the process: the message
// waits in its queue.
func ExampleHandlerFunc_after() {
	handler := consumer.HandlerFunc(func(context.Context, *consumer.Message) error {
		return retry.After(90*time.Second, errors.New("429: slow down"))
	})
	handOver(handler, consumer.Config{}, "x")
	// Output:
	// m-1: retry after 1 tries, back in 1m30s: 429: slow down (gave up after 1 try: the next wait is too long to sleep here)
}

func ExampleMiddleware() {
	logged := func(next consumer.Handler) consumer.Handler {
		return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
			fmt.Println("begin", m.ID)
			err := next.Handle(ctx, m)
			fmt.Println("end", m.ID, err)
			return err
		})
	}
	handler := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
		fmt.Println("handle", m.Body)
		return nil
	})
	handOver(handler, consumer.Config{Middleware: []consumer.Middleware{logged}}, "x")
	// Output:
	// begin m-1
	// handle x
	// end m-1 <nil>
	// m-1: done after 1 tries
}

func ExampleMessage_Attempt() {
	handler := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
		if n, limit := m.Attempt(); n == limit {
			fmt.Println("the last attempt: undo the reservation")
		} else {
			fmt.Println("attempt", n)
		}
		return nil
	})
	handOver(handler, consumer.Config{}, "x")
	// Output:
	// attempt 1
	// m-1: done after 1 tries
}
