package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

// Order is the body of a message.
type Order struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Amount   int    `json:"amount"` // cents

	// Fails is how many attempts fail before one succeeds. It is this example's
	// simulation; an order of your own has no such thing.
	Fails int `json:"fails,omitempty"`
}

var errBank = errors.New("the bank does not answer")

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

// desk is where orders are booked.
type desk struct{ log *slog.Logger }

// book is the work on one message. Its last line is what a booking looks like
// from outside.
func (d desk) book(ctx context.Context, o Order, m *consumer.Message) error {
	if err := o.validate(); err != nil {
		return retry.Permanent(err)
	}
	if attempt, _ := m.Attempt(); attempt <= o.Fails {
		return errBank
	}
	d.log.InfoContext(ctx, "order booked", slog.String("order", o.ID), slog.Int("cents", o.Amount))
	return nil
}
