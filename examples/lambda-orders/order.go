package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

// Order is the body of a message.
type Order struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Amount   int    `json:"amount"` // cents

	// Simulate is this example's demonstration switch, see simulate.go. An
	// order of your own has no such thing.
	Simulate string `json:"simulate,omitempty"`
}

// validate says what is wrong with the order itself. No later try changes that.
func (o Order) validate() error {
	switch {
	case o.ID == "":
		return errors.New("the order has no id")
	case o.Amount <= 0:
		return fmt.Errorf("order %s has an amount of %d cents", o.ID, o.Amount)
	}
	return nil
}

// Charge takes the money of an order. An error is taken for a temporary one.
type Charge func(ctx context.Context, o Order) error

// handle is the work on one message.
func (charge Charge) handle(ctx context.Context, o Order, _ *consumer.Message) error {
	if err := o.validate(); err != nil {
		return retry.Permanent(err)
	}
	return charge(ctx, o)
}
