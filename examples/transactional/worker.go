package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

// workerEnv makes this program a worker; it holds its task, as JSON.
const workerEnv = "ACKWISE_TRANSACTIONAL_WORKER"

// task is what a worker is told.
type task struct {
	Worker       int
	Dies         bool   // right after its transaction
	SQS, Queue   string // URLs
	DynamoDB     string // URL
	Claims, Shop string // tables
}

// worker is the Lambda function.
type worker struct {
	task
	shop *shop
	w    io.Writer
}

// runWorker works the queue off until it is empty.
func runWorker(ctx context.Context, text string, w io.Writer) error {
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return err
	}
	client, closeIdle, err := newClient(ctx, t.DynamoDB)
	if err != nil {
		return err
	}
	defer closeIdle()
	store, err := dynamostore.New(client, t.Claims, dynamostore.Config{})
	if err != nil {
		return err
	}
	wk := &worker{task: t, shop: &shop{client: client, table: t.Shop, store: store}, w: w}
	queue := sqs.New(sqs.Options{
		Region: sqstest.DefaultRegion, BaseEndpoint: &t.SQS, Credentials: credentials.NewStaticCredentialsProvider("any", "any", ""),
	})
	adapter, err := wk.adapter(queue)
	if err != nil {
		return err
	}
	source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{
		Client: queue, QueueURL: t.Queue, Handler: adapter, Timeout: functionTimeout,
	})
	if err != nil {
		return err
	}
	return source.Drain(ctx)
}

// adapter is what a Lambda function would give to lambda.Start.
func (wk *worker) adapter(queue *sqs.Client) (*lambdasqs.Adapter, error) {
	guard, err := idempotency.New(wk.shop.store, idempotency.Config{})
	if err != nil {
		return nil, err
	}
	c, err := consumer.New(consumer.JSON(wk.handle), consumer.Config{
		Idempotency: guard,
		// A business key also recognises an order that its sender sent twice.
		Key:     consumer.Strict(consumer.JSONField("id")),
		Logger:  slog.New(slog.DiscardHandler), // observe prints what matters here
		Observe: wk.observe,
	})
	if err != nil {
		return nil, err
	}
	return lambdasqs.New(c, lambdasqs.Config{SQS: queue})
}

func (wk *worker) handle(ctx context.Context, o order, m *consumer.Message) error {
	attempt, _ := m.Attempt()
	printf(wk.w, "worker %d: order %s, receive %d: runs, attempt %d\n", wk.Worker, o.ID, m.ReceiveCount, attempt)
	if err := wk.shop.book(ctx, o); err != nil {
		return err
	}
	printf(wk.w, "worker %d: committed: the order, the account and the completion, in one transaction\n", wk.Worker)
	if wk.Dies {
		return wk.die(ctx)
	}
	return nil
}

// die kills this process as nothing can prevent or notice.
func (wk *worker) die(ctx context.Context) error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Kill(); err != nil {
		return err
	}
	<-ctx.Done() // dead by now
	return fmt.Errorf("worker %d is still alive", wk.Worker)
}

// observe prints the outcomes.
func (wk *worker) observe(e consumer.Event) {
	if e.Kind != consumer.EventOutcome {
		return
	}
	text := ""
	switch e.Outcome.Verdict {
	case consumer.VerdictDuplicate:
		text = ": its work is done already, so it is acknowledged without a run"
	case consumer.VerdictDone:
	default:
		text = fmt.Sprintf(", comes back in %v: %v", e.Outcome.Delay, e.Outcome.Err)
	}
	printf(wk.w, "worker %d: receive %d is %v%s\n", wk.Worker, e.Message.ReceiveCount, e.Outcome.Verdict, text)
}
