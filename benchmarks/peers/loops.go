package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"
)

// The loops below are what one writes with the SDK alone: no retries, no
// heartbeat, no drain. They ask for the system attributes, as Ackwise does: who
// acts on the receive count has to.

// runWorkers is ten independent workers, and the ceiling for everybody else:
// per ten messages nothing but one receive, the work and one delete.
func runWorkers(ctx context.Context, j job) error {
	g, ctx := errgroup.WithContext(ctx)
	for range workers {
		g.Go(func() error {
			for {
				messages, err := j.receive(ctx)
				if err != nil {
					return err
				}
				for i := range messages {
					j.handle(aws.ToString(messages[i].Body))
				}
				if err := j.deleteAll(ctx, messages); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

// runBarrier works on ten at once too, but on no eleventh before all ten are done.
func runBarrier(ctx context.Context, j job) error {
	for {
		messages, err := j.receive(ctx)
		if err != nil {
			return err
		}
		var g errgroup.Group
		for i := range messages {
			g.Go(func() error {
				j.handle(aws.ToString(messages[i].Body))
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if err := j.deleteAll(ctx, messages); err != nil {
			return err
		}
	}
}

// runSingle is the shape of most small libraries: receivers feed a channel,
// workers take from it and delete what they have handled.
func runSingle(ctx context.Context, j job) error {
	const receivers = 2
	g, ctx := errgroup.WithContext(ctx)
	queue := make(chan types.Message)
	for range receivers {
		g.Go(func() error { return j.feed(ctx, queue) })
	}
	for range workers {
		g.Go(func() error { return j.drain(ctx, queue) })
	}
	return g.Wait()
}

func (j *job) feed(ctx context.Context, queue chan<- types.Message) error {
	for {
		messages, err := j.receive(ctx)
		if err != nil {
			return err
		}
		for _, m := range messages {
			select {
			case queue <- m:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

func (j *job) drain(ctx context.Context, queue <-chan types.Message) error {
	for {
		select {
		case m := <-queue:
			j.handle(aws.ToString(m.Body))
			_, err := j.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{
				QueueUrl: &j.queueURL, ReceiptHandle: m.ReceiptHandle,
			})
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (j *job) receive(ctx context.Context) ([]types.Message, error) {
	out, err := j.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl:                    &j.queueURL,
		MaxNumberOfMessages:         10,
		WaitTimeSeconds:             20,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		MessageAttributeNames:       []string{"All"},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

var errNotDeleted = errors.New("SQS did not delete a message")

func (j *job) deleteAll(ctx context.Context, messages []types.Message) error {
	if len(messages) == 0 {
		return nil
	}
	entries := make([]types.DeleteMessageBatchRequestEntry, len(messages))
	for i := range messages {
		entries[i].Id = aws.String(strconv.Itoa(i))
		entries[i].ReceiptHandle = messages[i].ReceiptHandle
	}
	out, err := j.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{
		QueueUrl: &j.queueURL, Entries: entries,
	})
	if err != nil {
		return err
	}
	if len(out.Failed) > 0 {
		return fmt.Errorf("%w: %s", errNotDeleted, aws.ToString(out.Failed[0].Code))
	}
	return nil
}
