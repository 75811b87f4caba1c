package retry_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ackwise/ackwise/retry"
)

// gens draws what a backoff is made of and asked for. A generator of rapid is
// not safe for concurrent use, so every test makes its own.
type gens struct {
	n           *rapid.Generator[int]
	base, limit *rapid.Generator[time.Duration]
}

func newGens() gens {
	return gens{
		// The failures that matter: where a 32-bit or 64-bit shift ends, and a
		// message that has failed for ever; and any other number now and then.
		n: rapid.OneOf(
			rapid.SampledFrom([]int{0, 1, 2, 31, 32, 33, 62, 63, 64, 65, 1e6, math.MaxInt, math.MinInt}),
			rapid.IntRange(-1, 100),
			rapid.Int(),
		),
		base: rapid.Map(rapid.Int64Range(int64(time.Millisecond), int64(12*time.Hour)), toDuration),
		limit: rapid.OneOf(
			rapid.Just(time.Duration(0)), // none
			rapid.Map(rapid.Int64Range(1, int64(12*time.Hour)), toDuration),
			rapid.Map(rapid.Int64Range(1, math.MaxInt64), toDuration),
		),
	}
}

func toDuration(ns int64) time.Duration { return time.Duration(ns) }

// exact is Exponential in numbers that cannot overflow.
func exact(base, limit time.Duration, n int) time.Duration {
	if limit <= 0 {
		limit = math.MaxInt64
	}
	// Beyond 64 doublings every base is past every limit; a million of them
	// would only be a slow way to say so.
	doublings := uint(min(max(n, 1)-1, 64))
	wait := new(big.Int).Lsh(big.NewInt(int64(base)), doublings)
	if wait.Cmp(big.NewInt(int64(limit))) > 0 {
		return limit
	}
	return time.Duration(wait.Int64())
}

func TestExponentialIsExact(t *testing.T) {
	t.Parallel()
	g := newGens()
	rapid.Check(t, func(t *rapid.T) {
		base, limit, n := g.base.Draw(t, "base"), g.limit.Draw(t, "limit"), g.n.Draw(t, "n")
		got, want := retry.Exponential(base, limit)(n), exact(base, limit, n)
		if got != want {
			t.Fatalf("Exponential(%v, %v)(%d) = %v, want %v", base, limit, n, got, want)
		}
	})
}

func TestExponentialNeverShrinks(t *testing.T) {
	t.Parallel()
	g := newGens()
	rapid.Check(t, func(t *rapid.T) {
		base, limit := g.base.Draw(t, "base"), g.limit.Draw(t, "limit")
		n, m := g.n.Draw(t, "n"), g.n.Draw(t, "m")
		if n > m {
			n, m = m, n
		}
		b := retry.Exponential(base, limit)
		earlier, later := b(n), b(m)
		if earlier > later {
			t.Fatalf("waits %v after failure %d, only %v after failure %d", earlier, n, later, m)
		}
		if earlier < 0 || limit > 0 && later > limit {
			t.Fatalf("waits %v and %v, want 0 to %v", earlier, later, limit)
		}
	})
}

func TestBackoffIsPure(t *testing.T) {
	t.Parallel()
	g := newGens()
	rapid.Check(t, func(t *rapid.T) {
		b := retry.Exponential(g.base.Draw(t, "base"), g.limit.Draw(t, "limit"))
		n := g.n.Draw(t, "n")
		first := b(n)
		for _, other := range rapid.SliceOfN(g.n, 1, 5).Draw(t, "others") {
			b(other)
		}
		if again := b(n); again != first {
			t.Fatalf("b(%d) = %v, and %v after other calls", n, first, again)
		}
	})
}

func TestJitterStaysInside(t *testing.T) {
	t.Parallel()
	g := newGens()
	rapid.Check(t, func(t *rapid.T) {
		limit := g.limit.Draw(t, "limit")
		b := retry.Exponential(g.base.Draw(t, "base"), limit)
		n := g.n.Draw(t, "n")
		whole := b(n)
		if full := retry.FullJitter(b)(n); full <= 0 || full > whole {
			t.Fatalf("full jitter of %v is %v, want above 0 and at most that", whole, full)
		}
		if half := retry.HalfJitter(b)(n); half < whole-whole/2 || half > whole {
			t.Fatalf("half jitter of %v is %v, want %v to %v", whole, half, whole-whole/2, whole)
		}
	})
}

// What HalfJitter promises and FullJitter does not.
func TestHalfJitterGrows(t *testing.T) {
	t.Parallel()
	g := newGens()
	rapid.Check(t, func(t *rapid.T) {
		b := retry.Exponential(g.base.Draw(t, "base"), 0)
		half := retry.HalfJitter(b)
		n := rapid.IntRange(1, 17).Draw(t, "n") // below where the longest base meets the longest duration
		if earlier, later := half(n), half(n+1); earlier > later {
			t.Fatalf("waits %v after failure %d, only %v after the next", earlier, n, later)
		}
	})
}
