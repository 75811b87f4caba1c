package retry_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/retry"
)

const forever = time.Duration(math.MaxInt64)

var backoffCases = []struct {
	name    string
	backoff retry.Backoff
	ns      []int
	want    []time.Duration
}{
	{
		name:    "constant",
		backoff: retry.Constant(3 * time.Second),
		ns:      []int{1, 2, 64, 1e6},
		want:    []time.Duration{3 * time.Second, 3 * time.Second, 3 * time.Second, 3 * time.Second},
	},
	{
		name:    "constant below zero",
		backoff: retry.Constant(-time.Second),
		ns:      []int{1, 64},
		want:    []time.Duration{0, 0},
	},
	{
		name:    "doubles up to the limit",
		backoff: retry.Exponential(time.Second, 10*time.Second),
		ns:      []int{1, 2, 3, 4, 5, 6},
		want: []time.Duration{
			time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second,
		},
	},
	{
		name:    "meets the limit exactly",
		backoff: retry.Exponential(time.Second, 8*time.Second),
		ns:      []int{3, 4, 5},
		want:    []time.Duration{4 * time.Second, 8 * time.Second, 8 * time.Second},
	},
	{
		name:    "limit below the base",
		backoff: retry.Exponential(time.Minute, time.Second),
		ns:      []int{1, 2},
		want:    []time.Duration{time.Second, time.Second},
	},
	{
		name:    "no failure counts as the first",
		backoff: retry.Exponential(time.Second, time.Minute),
		ns:      []int{0, -1, math.MinInt},
		want:    []time.Duration{time.Second, time.Second, time.Second},
	},
	{
		name:    "no base never waits",
		backoff: retry.Exponential(0, time.Minute),
		ns:      []int{0, 1, 31, 63, 64, 1e6},
		want:    []time.Duration{0, 0, 0, 0, 0, 0},
	},
	{
		name:    "a base below zero never waits",
		backoff: retry.Exponential(-time.Second, time.Minute),
		ns:      []int{1, 31, 64},
		want:    []time.Duration{0, 0, 0},
	},
	{
		// 30 s doubled 40 times is what wraps round to a negative Duration
		// when it is shifted without looking.
		name:    "no limit ends at the longest duration",
		backoff: retry.Exponential(30*time.Second, 0),
		ns:      []int{1, 2, 41, 63, 64, 65, 1e6, math.MaxInt},
		want:    []time.Duration{30 * time.Second, time.Minute, forever, forever, forever, forever, forever, forever},
	},
	{
		name:    "a limit below zero is none",
		backoff: retry.Exponential(time.Second, -time.Minute),
		ns:      []int{1, 10},
		want:    []time.Duration{time.Second, 512 * time.Second},
	},
	{
		name:    "the smallest base reaches the last bit",
		backoff: retry.Exponential(1, 0),
		ns:      []int{62, 63, 64},
		want:    []time.Duration{1 << 61, 1 << 62, forever},
	},
}

func TestBackoff(t *testing.T) {
	t.Parallel()

	for _, tc := range backoffCases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := make([]time.Duration, 0, len(tc.ns))
			for _, n := range tc.ns {
				got = append(got, tc.backoff(n))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("waits for n in %v (-want +got):\n%s", tc.ns, diff)
			}
		})
	}
}

// Ten equal parts of the range get about a tenth of the draws each. The bound is
// ten standard deviations wide, so only a wrong distribution leaves it.
func TestJitterIsEven(t *testing.T) {
	t.Parallel()

	const (
		whole = 10 * time.Hour
		draws = 10_000
		bound = 300
	)
	for _, tc := range []struct {
		name   string
		jitter func(retry.Backoff) retry.Backoff
		from   time.Duration
	}{
		{name: "full", jitter: retry.FullJitter, from: 0},
		{name: "half", jitter: retry.HalfJitter, from: whole / 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := tc.jitter(retry.Constant(whole))
			var parts [10]int
			for range draws {
				d := b(1)
				if d < tc.from || d > whole {
					t.Fatalf("drew %v, want %v to %v", d, tc.from, whole)
				}
				part := int((d - tc.from) * 10 / (whole - tc.from))
				parts[min(part, 9)]++
			}
			for i, n := range parts {
				if n < draws/10-bound || n > draws/10+bound {
					t.Errorf("part %d of 10 got %d of %d draws, want about %d: %v", i, n, draws, draws/10, parts)
				}
			}
		})
	}
}
