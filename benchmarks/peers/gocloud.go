package main

import (
	"context"

	"gocloud.dev/pubsub/awssnssqs"
	"golang.org/x/sync/errgroup"
)

// runGoCloud is Go Cloud's subscription as its documentation uses it.
func runGoCloud(ctx context.Context, j job) error {
	sub := awssnssqs.OpenSubscription(ctx, j.client, j.queueURL, nil)
	g, gctx := errgroup.WithContext(ctx)
	for range workers {
		g.Go(func() error {
			for {
				m, err := sub.Receive(gctx)
				if err != nil {
					return err
				}
				j.handle(string(m.Body))
				m.Ack()
			}
		})
	}
	err := g.Wait()
	// ctx has ended when all went well: the shutdown needs one that has not.
	if down := sub.Shutdown(context.WithoutCancel(ctx)); err == nil {
		err = down
	}
	return err
}
