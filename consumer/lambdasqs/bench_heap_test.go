package lambdasqs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ackwise/ackwise/consumer"
)

// BenchmarkHeap measures the heap of an invocation of 10,000 records: what it
// holds while its last message is handled, the event itself included, and the
// most that it takes at any time, garbage included. The case "plain" is the
// baseline of BenchmarkInvoke.
func BenchmarkHeap(b *testing.B) {
	const n = 10_000
	event := benchEvent(n)
	run := func(name string, h *heap, handler lambda.Handler) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				runtime.GC()
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				if _, err := handler.Invoke(ctx, event); err != nil {
					b.Fatal(err)
				}
				cancel()
			}
			b.ReportMetric(float64(h.live.Load())/(1<<20), "MiB-live")
			b.ReportMetric(float64(h.peak.Load())/(1<<20), "MiB-peak")
		})
	}
	var plain heap
	run("plain", &plain, lambda.NewHandler(func(_ context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
		resp := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
		for _, m := range e.Records {
			var o benchOrder
			if json.Unmarshal([]byte(m.Body), &o) != nil || o.do() != nil {
				resp.BatchItemFailures = append(resp.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
			plain.look(n)
		}
		runtime.KeepAlive(e.Records)
		return resp, nil
	}))
	for _, concurrency := range []int{1, 10} {
		var h heap
		run(fmt.Sprintf("ackwise/concurrency=%d", concurrency), &h,
			benchHandler(b, concurrency, func(_ context.Context, o benchOrder, _ *consumer.Message) error {
				h.look(n)
				return o.do()
			}))
	}
}

// heap is looked at once per message.
type heap struct {
	seen       atomic.Int64
	live, peak atomic.Uint64
}

func (h *heap) look(n int64) {
	seen := h.seen.Add(1)
	if seen%100 == 1 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		h.peak.Store(max(h.peak.Load(), sample[0].Value.Uint64()))
	}
	if seen%n == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		h.live.Store(m.HeapAlloc)
	}
}
