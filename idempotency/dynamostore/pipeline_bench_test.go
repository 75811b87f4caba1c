package dynamostore_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
	"github.com/ackwise/ackwise/retry"
)

// BenchmarkPipelineAgainstRaw is BenchmarkAgainstRaw for all of it: from the
// bytes of a Lambda event with ten messages to the bytes of the answer, with ten
// handlers at once, against the loop that one would write by hand, which neither
// decodes an event nor answers one. Each call of DynamoDB takes 5 ms. "ratio" is
// the time of ours over theirs.
func BenchmarkPipelineAgainstRaw(b *testing.B) {
	for _, bc := range []struct {
		name string
		done bool // before the measurement
		runs int  // of the handler, per batch
	}{{"FirstRun", false, messages}, {"Duplicate", true, 0}} {
		b.Run(bc.name, func(b *testing.B) {
			f := newFake()
			client := f.client()
			var handled atomic.Int64
			adapter := pipeline(b, newStore(b, client, dynamostore.Config{}), &handled)
			theirs := func(ctx context.Context, id string) error { return runRaw(ctx, client, id) }
			if bc.done {
				invoke(b, adapter, 0)
				batch(b, theirs, "raw/0", false)
			}
			handled.Store(0)
			defer f.breakAll(fault{delay: 5 * time.Millisecond})()
			var took [2]time.Duration
			n := 0
			for b.Loop() {
				if !bc.done {
					n++
				}
				took[0] += invoke(b, adapter, n)
				took[1] += batch(b, theirs, fmt.Sprint("raw/", n), bc.done)
			}
			if got, want := handled.Load(), int64(b.N*bc.runs); got != want {
				b.Errorf("the handler ran %d times in %d batches, want %d", got, b.N, want)
			}
			b.ReportMetric(float64(took[0].Microseconds())/1000/float64(b.N), "ours-ms")
			b.ReportMetric(float64(took[1].Microseconds())/1000/float64(b.N), "raw-ms")
			b.ReportMetric(float64(took[0])/float64(took[1]), "ratio")
		})
	}
}

// pipeline is what a Lambda function would run.
func pipeline(b *testing.B, s *dynamostore.Store, handled *atomic.Int64) *lambdasqs.Adapter {
	b.Helper()
	quiet := slog.New(slog.DiscardHandler)
	guard, err := idempotency.New(s, idempotency.Config{Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	c, err := consumer.New(consumer.JSON(func(context.Context, struct{ ID string }, *consumer.Message) error {
		handled.Add(1)
		return nil
	}), consumer.Config{
		Concurrency: messages, Idempotency: guard, Key: consumer.JSONField("id"), Retry: retry.Policy{Tries: 1},
		Redelivery: consumer.Redelivery{MaxAttempts: budget}, Logger: quiet,
	})
	if err != nil {
		b.Fatal(err)
	}
	a, err := lambdasqs.New(c, lambdasqs.Config{})
	if err != nil {
		b.Fatal(err)
	}
	return a
}

// invoke invokes the function with the nth batch and says how long it took.
// Everything in it is done afterwards, now or before.
func invoke(b *testing.B, a *lambdasqs.Adapter, n int) time.Duration {
	b.Helper()
	event := eventOf(n)
	ctx, cancel := context.WithTimeout(b.Context(), 30*time.Second)
	defer cancel()
	began := time.Now()
	answer, err := a.Invoke(ctx, event)
	took := time.Since(began)
	if err != nil || string(answer) != `{"batchItemFailures":[]}` {
		b.Fatalf("batch %d: %s, %v", n, answer, err)
	}
	return took
}

// eventOf is the nth batch as Lambda sends it.
func eventOf(n int) []byte {
	records := make([]string, messages)
	for i := range records {
		records[i] = fmt.Sprintf(`{"messageId":"059f36b4-87a3-44ab-83d2-%06d%06d","receiptHandle":"AQEBwJnKyrHigUMZj6rYigCg",`+
			`"body":"{\"id\":\"%d/%d\",\"status\":\"approved\"}","attributes":{"ApproximateReceiveCount":"1",`+
			`"SentTimestamp":"1545082649183","ApproximateFirstReceiveTimestamp":"1545082649185"},"messageAttributes":{},`+
			`"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:us-east-2:111122223333:my-queue","awsRegion":"us-east-2"}`,
			n, i, n, i)
	}
	return []byte(`{"Records":[` + strings.Join(records, ",") + `]}`)
}
