package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		of   []float64
		want float64
	}{
		{nil, 0}, {[]float64{7}, 7}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(test.of); got != test.want {
			t.Errorf("median(%v) = %v, want %v", test.of, got, test.want)
		}
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	one := func(elapsed, cpu time.Duration, allocs uint64, receives int) sample {
		return sample{
			Messages: 2000, Elapsed: elapsed, CPU: cpu, Allocs: allocs, InHand: receives,
			Calls: map[string]int{
				"ReceiveMessage": receives, "DeleteMessage": 1, "DeleteMessageBatch": 199,
				"ChangeMessageVisibilityBatch": 4, "GetQueueAttributes": 1, "SendMessageBatch": 1,
			},
		}
	}
	got := summarize("c", []sample{
		one(1*time.Second, 90*time.Millisecond, 200_000, 210),
		one(4*time.Second, 50*time.Millisecond, 180_000, 200),
		one(2*time.Second, 70*time.Millisecond, 190_000, 220),
	})
	want := row{
		consumer: "c", messages: 2000,
		perSecond: 1000, slowest: 500, fastest: 2000,
		cpu: 3.5, allocs: 95, inHand: 210,
		calls: calls{receive: 105, remove: 100, visibility: 2, other: 1},
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{}, calls{}), near); diff != "" {
		t.Errorf("summarize (-want +got):\n%s", diff)
	}
	if got := got.calls.perMessage(); got != 207 {
		t.Errorf("calls that messages cause: %v, want 207", got)
	}
}

func TestWriteTable(t *testing.T) {
	t.Parallel()
	tab := table{
		scenario: scenario{title: "stub server"},
		rows: []row{{
			consumer: "Loop", messages: 100_000, perSecond: 38_412.4, slowest: 999.6, fastest: 1_234_567,
			cpu: 2.64, allocs: 86.4, inHand: 1100, calls: calls{receive: 100.04, remove: 1000, other: 0.01},
		}},
	}
	var b strings.Builder
	if err := tab.write(&b); err != nil {
		t.Fatal(err)
	}
	//nolint:lll // a row of a table is a line
	want := `
### Stub server

| consumer | messages | messages/s (worst–best) | in hand at most | CPU-s per 100,000 | allocs per message | SQS calls per 1,000: receive | delete | visibility | other |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |
| Loop | 100,000 | 38,412 (1,000–1,234,567) | 1,100 | 2.6 | 86 | 100 | 1000 | 0 | <0.1 |
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	tables := []table{{
		scenario: scenario{name: noLatency},
		rows: []row{
			{consumer: ours, perSecond: 900, cpu: 3.02, calls: calls{receive: 100, remove: 100.4}},
			{consumer: loopWorkers, perSecond: 1000, cpu: 2, calls: calls{receive: 100, remove: 100}},
			{consumer: loopBarrier, calls: calls{receive: 90, remove: 100}},
			{consumer: goCloud, perSecond: 300, calls: calls{receive: 100, remove: 170}},
		},
	}}
	var b strings.Builder
	if err := writeTargets(&b, tables); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| fast | messages/s | Ackwise, prefetch 90 | SDK loop, 10 workers | ≥ 0.90 | 0.90 | met |",
		"| fast | CPU per message | Ackwise, prefetch 90 | SDK loop, 10 workers | ≤ 1.50 | 1.51 | NOT met |",
		"| fast | messages/s | Ackwise, prefetch 90 | Go Cloud pubsub | ≥ 4.00 | 3.00 | NOT met |",
		"| fast | SQS calls per message | Ackwise, prefetch 90 | SDK loop, 10 workers | ≤ 1.00 | 1.00 | met |",
		"| fast | SQS calls per message | Ackwise, prefetch 90 | SDK loop, batch barrier | ≤ 1.00 | 1.05 | NOT met |",
		"| fast | SQS calls per message | Ackwise, prefetch 90 | SDK loop, single deletes | ≤ 1.00 | – | not measured |",
		"| 10ms | messages/s | Ackwise, prefetch 490 | Go Cloud pubsub | ≥ 1.00 | – | not measured |",
		"| slow | messages/s | Ackwise, prefetch 90 | SDK loop, batch barrier | ≥ 3.00 | – | not measured |",
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("no line %q in:\n%s", want, b.String())
		}
	}
}
