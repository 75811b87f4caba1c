// Package lambdasqs runs a consumer inside an AWS Lambda function that an SQS
// queue invokes: an event comes in, the ids of what failed go out.
//
// The event source mapping must have FunctionResponseTypes set to
// ReportBatchItemFailures. Without it Lambda ignores the answer and deletes
// every message of the batch, those that failed included; see
// [Config.FailAny] for a mapping that cannot have it.
//
//	adapter, err := lambdasqs.New(c, lambdasqs.Config{SQS: client})
//	…
//	lambda.Start(adapter)
package lambdasqs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
)

// Config configures an [Adapter]. The zero value is usable.
type Config struct {
	// SQS changes the visibility of messages that failed, so that they come
	// back after their backoff. It needs sqs:ChangeMessageVisibility on the
	// queue, which the policy that SAM attaches by itself does not grant (use
	// SQSPollerPolicy). Default nil: no calls; failed messages come back when
	// the queue's visibility timeout has passed.
	SQS *sqs.Client
	// Reserve is how long before the function's timeout handlers are cancelled
	// so that the answer still gets out: a timeout throws away the whole batch,
	// finished work included. At least 100 ms, and at most a quarter of the time
	// that an invocation begins with. Default 2 s.
	Reserve time.Duration
	// ExtendVisibility extends all messages of a batch at the start, to 30 s
	// past the function's timeout: one call for ten messages. Useful where the
	// queue's visibility timeout is too close to the function's timeout, since
	// time can pass between Lambda's receive and the invocation. Needs SQS.
	// Default false: the mapping is only accepted with a visibility timeout of
	// at least the function's timeout.
	ExtendVisibility bool
	// FailWhole answers with an error, instead of all ids, if every message of
	// the batch failed, so that Lambda's Errors metric shows it. To SQS it is
	// the same. Default false.
	FailWhole bool
	// FailAny answers with an error if any message failed. It is for a mapping
	// without ReportBatchItemFailures, and only for that: the messages that
	// succeeded come back with the others. Excludes FailWhole. Default false.
	FailAny bool
	// QueueURL gives the URL of a queue by its ARN, where the one made from the
	// ARN does not do. Needs SQS. Default: the URL that the SDK's endpoint
	// rules give, or one under the client's own BaseEndpoint; GetQueueUrl for a
	// partition that the SDK does not know.
	QueueURL map[string]string
}

// Adapter is the handler to give to lambda.Start. It is safe for concurrent
// use: a process may run several invocations at once (AWS_LAMBDA_MAX_CONCURRENCY).
type Adapter struct {
	c      *consumer.Consumer
	cfg    Config
	queues sync.Map // ARN to *queue; all that outlives an invocation
}

// New returns an Adapter that runs c. Everything that is wrong with cfg is an
// error here.
func New(c *consumer.Consumer, cfg Config) (*Adapter, error) {
	if err := cfg.validate(c); err != nil {
		return nil, fmt.Errorf("lambdasqs: %w", err)
	}
	return &Adapter{c: c, cfg: cfg}, nil
}

// minReserve is the least that an answer takes to get out in time.
const minReserve = 100 * time.Millisecond

func (cfg Config) validate(c *consumer.Consumer) error {
	switch {
	case c == nil:
		return errors.New("the consumer is nil; make one with consumer.New")
	case cfg.Reserve != 0 && cfg.Reserve < minReserve:
		return fmt.Errorf("Reserve is %v; use %v or more, or 0 for the default of 2 s", cfg.Reserve, minReserve)
	case cfg.SQS == nil && cfg.ExtendVisibility:
		return errors.New("ExtendVisibility is set without SQS; set SQS to a client, or leave ExtendVisibility off")
	case cfg.SQS == nil && len(cfg.QueueURL) > 0:
		return errors.New("QueueURL is set without SQS; set SQS to a client, or remove QueueURL")
	case cfg.FailAny && cfg.FailWhole:
		return errors.New("FailAny and FailWhole are both set; FailAny covers FailWhole, so remove that")
	}
	for arn, raw := range cfg.QueueURL {
		if _, err := sqsqueue.ParseARN(arn); err != nil {
			return fmt.Errorf("QueueURL has a key that is no queue: %w", err)
		}
		if u, err := url.Parse(raw); err != nil || u.Scheme == "" || u.Host == "" {
			return fmt.Errorf("QueueURL[%q] is %q; use a whole URL, with scheme and host", arn, raw)
		}
	}
	return nil
}

// Invoke implements lambda.Handler: payload is the event as Lambda sends it,
// and what it returns is the answer, {"batchItemFailures":[…]}.
//
// A record that cannot be decoded is reported as failed, and costs no other
// record. An event that cannot be answered with ids is an error before any
// handler runs: one of another service, one that is not JSON, a record without
// a message id. So is [consumer.ErrStuck].
//
// ctx has the function's deadline; without one nothing is ever cut off. A handler
// must not call Invoke of its own adapter: it would wait for slots that its like
// hold.
func (a *Adapter) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	records, err := decodeEvent(payload)
	if err != nil {
		return nil, err
	}
	failed, err := a.run(ctx, records)
	if err != nil {
		return nil, err
	}
	return appendAnswer(failed), nil
}

// Handle does what [Adapter.Invoke] does, for an event that was decoded
// already, for instance by a handler of your own that looks at it first. Invoke
// is faster, and a single undecodable record does not fail its event.
func (a *Adapter) Handle(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	failed, err := a.run(ctx, recordsOf(e))
	if err != nil {
		return events.SQSEventResponse{}, err
	}
	// Never nil: a nil slice is encoded as null.
	items := make([]events.SQSBatchItemFailure, len(failed))
	for i, id := range failed {
		items[i].ItemIdentifier = id
	}
	return events.SQSEventResponse{BatchItemFailures: items}, nil
}
