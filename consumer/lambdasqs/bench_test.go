package lambdasqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/retry"
)

// benchOrder is the work of both programs: decode a body of about 30 bytes and
// look at it. One order in ten fails.
type benchOrder struct {
	ID     int    `json:"id"`
	Status string `json:"status"`
}

var errBench = errors.New("declined")

func (o benchOrder) do() error {
	if o.Status == "declined" {
		return errBench
	}
	return nil
}

func benchEvent(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"Records":[`)
	for i := range n {
		status := "approved"
		if i%10 == 3 {
			status = "declined"
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"messageId":"059f36b4-87a3-44ab-83d2-%012d","receiptHandle":"AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a%0130d",`+
			`"body":"{\"id\":%d,\"status\":\"%s\"}","attributes":{"ApproximateReceiveCount":"1","SentTimestamp":"1545082649183",`+
			`"SenderId":"AIDAIENQZJOLO23YVJ4VO","ApproximateFirstReceiveTimestamp":"1545082649185"},"messageAttributes":{},`+
			`"md5OfBody":"e4e68fb7bd0e697a0ae8f1bb342846b3","eventSource":"aws:sqs",`+
			`"eventSourceARN":"arn:aws:sqs:us-east-2:111122223333:my-queue","awsRegion":"us-east-2"}`, i, i, 100000+i%900000, status)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

// plainHandler is what one writes without a framework.
func plainHandler(_ context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	resp := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, m := range e.Records {
		var o benchOrder
		err := json.Unmarshal([]byte(m.Body), &o)
		if err == nil {
			err = o.do()
		}
		if err != nil {
			resp.BatchItemFailures = append(resp.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	return resp, nil
}

func ackwiseHandler(tb testing.TB, concurrency int) lambda.Handler {
	tb.Helper()
	return benchHandler(tb, concurrency, func(_ context.Context, o benchOrder, _ *consumer.Message) error {
		return o.do()
	})
}

func benchHandler(tb testing.TB, concurrency int, fn func(context.Context, benchOrder, *consumer.Message) error) lambda.Handler {
	tb.Helper()
	c, err := consumer.New(consumer.JSON(fn), consumer.Config{
		Concurrency: concurrency,
		Retry:       retry.Policy{Tries: 1}, // the plain one does not retry either
		Logger:      slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	a, err := lambdasqs.New(c, lambdasqs.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// BenchmarkInvoke runs the whole path, from the bytes of the event to the bytes
// of the answer. The case "plain" is the baseline: an aws-lambda-go handler
// that loops over events.SQSEvent and does the same work.
func BenchmarkInvoke(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		event := benchEvent(n)
		run := func(name string, h lambda.Handler) {
			b.Run(fmt.Sprintf("records=%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					if _, err := h.Invoke(ctx, event); err != nil {
						b.Fatal(err)
					}
					cancel()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/msg")
			})
		}
		run("plain", lambda.NewHandler(plainHandler))
		for _, c := range []int{1, 10} {
			run(fmt.Sprintf("ackwise/concurrency=%d", c), ackwiseHandler(b, c))
		}
	}
}
