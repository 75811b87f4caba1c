package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

// budget is how many attempts an order gets where a store counts them.
const budget = 5

// worker is the poller with its health endpoint.
type worker struct {
	poller *poller.Poller
	health *health            // nil: none
	store  *dynamostore.Store // nil: none
	log    *slog.Logger
}

// newWorker makes no call of AWS. Its errors are mistakes in the settings.
func newWorker(ctx context.Context, s settings, log *slog.Logger) (*worker, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("the AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, errors.New("AWS_REGION is not set: set it to the region of the queue")
	}
	client := sqs.NewFromConfig(cfg)
	c, store, err := newConsumer(s, cfg, client, log)
	if err != nil {
		return nil, err
	}
	p, err := poller.New(c, poller.Config{
		SQS: client, QueueURL: s.Queue, Grace: s.Grace, Prefetch: s.Prefetch, ProtectTask: s.ProtectTask,
	})
	if err != nil {
		return nil, err
	}
	w := &worker{poller: p, store: store, log: log}
	if s.HealthAddr != "" {
		if w.health, err = serveHealth(ctx, s.HealthAddr, p); err != nil {
			return nil, fmt.Errorf("ORDERS_HEALTH_ADDR: %w", err)
		}
	}
	return w, nil
}

// newConsumer is what a Lambda function would have as well.
func newConsumer(s settings, cfg aws.Config, client *sqs.Client, log *slog.Logger) (_ *consumer.Consumer, store *dynamostore.Store, err error) {
	c := consumer.Config{Concurrency: s.Concurrency, Logger: log}
	if s.DeadLetter != "" {
		c.DeadLetter = dlq.New(client, s.DeadLetter)
	}
	if s.Table != "" {
		if store, err = dynamostore.New(dynamodb.NewFromConfig(cfg), s.Table, dynamostore.Config{}); err != nil {
			return nil, nil, err
		}
		if c.Idempotency, err = idempotency.New(store, idempotency.Config{Logger: log}); err != nil {
			return nil, nil, err
		}
		c.Key = consumer.Strict(consumer.JSONField("id"))
		c.Redelivery.MaxAttempts = budget
	}
	made, err := consumer.New(consumer.JSON(desk{log}.book), c)
	return made, store, err
}

// run returns nil after a drain.
func (w *worker) run(ctx context.Context) error {
	if w.health != nil {
		defer w.health.close()
		w.log.Info("health endpoint", slog.String("addr", w.health.addr))
	}
	if w.store != nil {
		if err := w.store.Check(ctx); err != nil { // nothing runs unguarded, so nothing is lost; but nothing may run
			w.log.Warn("the table of ORDERS_TABLE may not do", slog.Any("error", err))
		}
	}
	w.log.Info("started")
	return w.poller.RunUntilSignal(ctx)
}
