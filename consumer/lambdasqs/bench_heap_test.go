package lambdasqs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
)

// BenchmarkHeap measures what an invocation of 10,000 records holds in memory
// while its last message is handled, the event itself included. The case
// "plain" is the baseline of BenchmarkInvoke.
func BenchmarkHeap(b *testing.B) {
	const n = 10_000
	event := benchEvent(n)
	run := func(name string, peak *atomic.Uint64, h lambda.Handler) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				if _, err := h.Invoke(ctx, event); err != nil {
					b.Fatal(err)
				}
				cancel()
			}
			b.ReportMetric(float64(peak.Load())/(1<<20), "MiB-live")
		})
	}
	var plain atomic.Uint64
	run("plain", &plain, lambda.NewHandler(func(_ context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
		resp := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
		for i, m := range e.Records {
			var o benchOrder
			if json.Unmarshal([]byte(m.Body), &o) != nil || o.do() != nil {
				resp.BatchItemFailures = append(resp.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
			if i == n-1 {
				plain.Store(liveHeap())
			}
		}
		runtime.KeepAlive(e.Records)
		return resp, nil
	}))
	for _, concurrency := range []int{1, 10} {
		var peak atomic.Uint64
		var seen atomic.Int64
		h := benchHandler(b, concurrency, func(_ context.Context, o benchOrder, _ *consumer.Message) error {
			if seen.Add(1)%n == 0 {
				peak.Store(liveHeap())
			}
			return o.do()
		})
		run(fmt.Sprintf("ackwise/concurrency=%d", concurrency), &peak, h)
	}
}

// liveHeap is what is reachable at this moment.
func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

var _ lambda.Handler = (*lambdasqs.Adapter)(nil)
