package main

import (
	"context"
	"time"

	ackwise "github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
)

// runAckwise is the poller with a plain handler; prefetch 0 is its default.
func runAckwise(prefetch int) func(context.Context, job) error {
	return func(ctx context.Context, j job) error {
		c, err := ackwise.New(
			ackwise.HandlerFunc(func(_ context.Context, m *ackwise.Message) error {
				j.handle(m.Body)
				return nil
			}),
			ackwise.Config{Concurrency: workers},
		)
		if err != nil {
			return err
		}
		p, err := poller.New(c, poller.Config{
			SQS:      j.client,
			QueueURL: j.queueURL,
			Prefetch: prefetch,
			// Nothing is measured while it drains, and a drain lets polls in
			// flight finish for half of this.
			Grace: 2 * time.Second,
		})
		if err != nil {
			return err
		}
		return p.Run(ctx)
	}
}
