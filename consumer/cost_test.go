package consumer_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// nowhere is a Source that costs nothing.
type nowhere struct{}

func (nowhere) Queue() consumer.Queue { return consumer.Queue{ARN: standardARN} }
func (nowhere) Extend(context.Context, []*consumer.Delivery, time.Duration) []error {
	return nil
}
func (nowhere) Settle(context.Context, []consumer.Outcome) []error { return nil }
func (nowhere) Flush(context.Context) error                        { return nil }

// batchRun returns a function that runs a batch of n messages that succeed.
func batchRun(tb testing.TB, n int, o consumer.SessionOptions) func() {
	tb.Helper()
	cfg := steady(3)
	c := newConsumer(tb, cfg, script{})
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("m%d", i)
	}
	ds := deliveries(ids...)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		with := o
		with.Context = ctx
		for _, out := range c.Open(nowhere{}, with).Run(ds) {
			if !out.Acknowledged() {
				tb.Fatal(short(out))
			}
		}
	}
}

// Not parallel, as testing.AllocsPerRun asks. The bounds are what it takes
// today: none for the delivery, one for a goroutine that settles it, and a few for
// what grows differently.
//
//nolint:paralleltest // see above
func TestCost_AllocationsOfSuccess(t *testing.T) {
	const few, many = 10, 1010
	for name, tt := range map[string]struct {
		o                  consumer.SessionOptions
		perMessage, perRun float64
	}{
		"settles at once": {consumer.SessionOptions{SettlesAtOnce: true}, 0.3, 40},
		"settles apart":   {consumer.SessionOptions{}, 1.5, 40},
	} {
		small := testing.AllocsPerRun(100, batchRun(t, few, tt.o))
		large := testing.AllocsPerRun(20, batchRun(t, many, tt.o))
		perMessage := (large - small) / (many - few)
		t.Logf("%s: %.2f per message, %.1f per batch", name, perMessage, small-few*perMessage)
		if perMessage > tt.perMessage {
			t.Errorf("%s: %.2f allocations per message, more than %v", name, perMessage, tt.perMessage)
		}
		if perRun := small - few*perMessage; perRun > tt.perRun {
			t.Errorf("%s: %.1f allocations per batch, more than %v", name, perRun, tt.perRun)
		}
	}
}

func BenchmarkProcess(b *testing.B) {
	for _, n := range []int{1, 10, 10_000} {
		for name, o := range map[string]consumer.SessionOptions{"lambda": {SettlesAtOnce: true}, "poller": {Capacity: 20}} {
			b.Run(fmt.Sprintf("n=%d/%s", n, name), func(b *testing.B) {
				run := batchRun(b, n, o)
				b.ReportAllocs()
				for b.Loop() {
					run()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/msg")
			})
		}
	}
}
