package retry_test

import (
	"context"
	"testing"

	"github.com/ackwise/ackwise/retry"
)

func succeed(context.Context) error { return nil }

// A run that succeeds at once is what nearly every message is.
//
//nolint:paralleltest // AllocsPerRun counts what the whole process allocates
func TestDoAllocations(t *testing.T) {
	ctx, policy, calls := t.Context(), retry.Policy{}, 0
	fn := func(ctx context.Context) error {
		calls++
		return ctx.Err()
	}
	const runs = 100
	got := testing.AllocsPerRun(runs, func() {
		if err := retry.Do(ctx, policy, fn); err != nil {
			t.Error(err)
		}
	})
	if got > 1 {
		t.Errorf("a success costs %v allocations, want at most the one for the state of the run", got)
	}
	if calls != runs+1 { // AllocsPerRun runs once more, to warm up
		t.Errorf("%d calls in %d runs, want one in each", calls, runs+1)
	}
}

func BenchmarkDo(b *testing.B) {
	b.ReportAllocs()
	ctx := b.Context()
	for b.Loop() {
		if err := retry.Do(ctx, retry.Policy{}, succeed); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFullJitter(b *testing.B) {
	b.ReportAllocs()
	backoff := retry.FullJitter(retry.Exponential(1, 0))
	for b.Loop() {
		backoff(40)
	}
}
