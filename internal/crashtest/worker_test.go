package crashtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
	"github.com/ackwise/ackwise/retry"
)

// Everything is as short as it may be: what a killed worker held comes back when
// its visibility ends, and can be taken over two seconds after its deadline.
const (
	workerEnv       = "ACKWISE_CRASHTEST_WORKER" // its settings, as JSON
	functionTimeout = 2 * time.Second
	visibility      = 2 * time.Second
	backoff         = time.Second
	concurrency     = 5
	budget          = 6
	namespace       = "crash"
	keyPrefix       = namespace + "#json.order:" // of the records, before the order
)

// settings are what a worker is told.
type settings struct {
	SQS, QueueURL, DeadURL string
	DynamoDB               string
	Records, Effects       string // tables
	Journal                string // a file
	Run                    int
	Seed                   uint64
}

// job is the body of a message.
type job struct {
	Order int `json:"order"`
	// Fail is how many attempts fail before one can succeed.
	Fail int `json:"fail"`
	// Transact says that the effect and the completion are one transaction. Else
	// the effect comes first, by itself, and happens at least once.
	Transact bool `json:"transact"`
}

// worker is a Lambda function with its event source mapping, in a process of its
// own.
type worker struct {
	settings
	journal *journal
	db      *dynamodb.Client
	store   *dynamostore.Store
}

// workUntilEOF works the queue off until standard input ends, as it also does
// when the parent dies.
func workUntilEOF(text string) error {
	w := &worker{}
	if err := json.Unmarshal([]byte(text), &w.settings); err != nil {
		return err
	}
	source, err := w.open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	fmt.Println("ready")
	return source.Run(ctx)
}

func (w *worker) open() (*sqstest.EventSource, error) {
	var err error
	if w.journal, err = openJournal(w.Journal); err != nil {
		return nil, err
	}
	w.db = dynamodbClient(w.DynamoDB)
	if w.store, err = dynamostore.New(w.db, w.Records, dynamostore.Config{}); err != nil {
		return nil, err
	}
	guard, err := idempotency.New(w.store, idempotency.Config{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	queue := sqs.New(sqs.Options{Region: sqstest.DefaultRegion, BaseEndpoint: &w.SQS, Credentials: anybody})
	c, err := consumer.New(consumer.JSON(w.handle), consumer.Config{
		Concurrency: concurrency,
		Idempotency: guard,
		Key:         consumer.Strict(consumer.JSONField("order")),
		Retry:       retry.Policy{Tries: 1},
		Redelivery:  consumer.Redelivery{Backoff: retry.Constant(backoff), MaxAttempts: budget},
		DeadLetter:  dlq.New(queue, w.DeadURL),
		Logger:      slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Observe:     w.observe,
	})
	if err != nil {
		return nil, err
	}
	adapter, err := lambdasqs.New(c, lambdasqs.Config{SQS: queue})
	if err != nil {
		return nil, err
	}
	return sqstest.NewEventSource(sqstest.EventSourceConfig{
		Client: queue, QueueURL: w.QueueURL, Handler: adapter, Timeout: functionTimeout, BatchSize: concurrency, Concurrency: 2,
	})
}

// errFlaky is a failure on purpose.
var errFlaky = errors.New("not yet")

func (w *worker) handle(ctx context.Context, j job, m *consumer.Message) (err error) {
	attempt, _ := m.Attempt()
	w.journal.write(line{event: eventStart, order: j.Order, attempt: attempt, run: w.Run})
	defer func() {
		event := eventFinish
		if err != nil {
			event = eventFail
		}
		w.journal.write(line{event: event, order: j.Order, attempt: attempt, run: w.Run})
	}()
	random := rand.New(rand.NewPCG(w.Seed, uint64(j.Order*(budget+1)+attempt)))
	pause := func(longest time.Duration) error {
		return wait(ctx, time.Duration(random.Int64N(int64(longest))))
	}
	if err := pause(150 * time.Millisecond); err != nil {
		return err
	}
	if attempt <= j.Fail {
		return errFlaky
	}
	if err := w.effect(ctx, j); err != nil {
		return err
	}
	return pause(50 * time.Millisecond)
}

// effect counts in an item of the order how often its work was done.
func (w *worker) effect(ctx context.Context, j job) error {
	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: strconv.Itoa(j.Order)}}
	one := map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}}
	update := aws.String("ADD times :one")
	if j.Transact {
		return w.store.Transact(ctx, types.TransactWriteItem{Update: &types.Update{
			TableName: &w.Effects, Key: key, UpdateExpression: update, ExpressionAttributeValues: one,
		}})
	}
	_, err := w.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &w.Effects, Key: key, UpdateExpression: update, ExpressionAttributeValues: one,
	})
	return err
}

// observe notes outcomes, before SQS hears of those that are acknowledged.
func (w *worker) observe(e consumer.Event) {
	var j job
	if json.Unmarshal([]byte(e.Message.Body), &j) != nil {
		return
	}
	switch e.Kind {
	case consumer.EventUnrecorded:
		w.journal.write(line{event: eventUnrecorded, order: j.Order, attempt: e.Outcome.Attempt, run: w.Run})
	case consumer.EventOutcome:
		w.journal.write(line{event: e.Outcome.Verdict.String(), order: j.Order, attempt: e.Outcome.Attempt, run: w.Run})
	default:
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var anybody = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
})

func dynamodbClient(endpoint string, opts ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: sqstest.DefaultRegion, BaseEndpoint: &endpoint, Credentials: anybody}, opts...)
}
