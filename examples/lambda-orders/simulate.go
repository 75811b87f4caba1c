package main

import (
	"context"
	"errors"
	"log"
	"time"
)

var errBank = errors.New("the bank does not answer")

// simulatedCharge stands where the call of a payment service would. By the
// order's Simulate it behaves as such calls do on bad days:
//
//	"fail"   always returns an error
//	"panic"  panics
//	"slow"   takes a minute, but returns when ctx ends
//	"stuck"  takes ten seconds and does not look at ctx
//
// Anything else, "" too, is a charge that succeeds.
func simulatedCharge(ctx context.Context, o Order) error {
	switch o.Simulate {
	case "fail":
		return errBank
	case "panic":
		panic("no such account: " + o.Customer)
	case "slow":
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case "stuck":
		time.Sleep(10 * time.Second)
	}
	log.Printf("charged order %s: %d cents", o.ID, o.Amount)
	return nil
}
