package retry

import (
	"math"
	"math/rand/v2"
	"time"
)

// Backoff says how long to wait after the nth failure, counted from 1; an n
// below 1 counts as 1. It is a pure function: the same n gives the same answer,
// jitter aside, so one value serves any number of runs at once. The backoffs
// of this package never overflow and never answer less than 0.
type Backoff func(n int) time.Duration

// Constant waits d every time; a negative d counts as 0.
func Constant(d time.Duration) Backoff {
	d = max(d, 0)
	return func(int) time.Duration { return d }
}

// Exponential waits base after the first failure and twice as long after each
// further one, up to limit. A base of 0 or less never waits. A limit of 0 or
// less is no limit: the wait grows to the longest a [time.Duration] holds and
// stays there.
func Exponential(base, limit time.Duration) Backoff {
	base = max(base, 0)
	if limit <= 0 {
		limit = math.MaxInt64
	}
	return func(n int) time.Duration {
		doublings := max(n, 1) - 1
		// The limit is halved, because doubling the base is what overflows. After
		// 63 halvings nothing is left of it, and every base is past it.
		if base > limit>>doublings {
			return limit
		}
		return base << doublings
	}
}

// FullJitter draws each wait evenly from above 0 up to what b answers, so that
// many failures at one moment do not come back at one moment. The jitter lies
// inside b's limit: the wait is never longer than without it.
func FullJitter(b Backoff) Backoff {
	return func(n int) time.Duration {
		d := b(n)
		if d <= 0 {
			return 0
		}
		return d - rand.N(d)
	}
}

// HalfJitter draws each wait evenly from the upper half of what b answers. Over
// an [Exponential] the waits then still grow with every failure until they are
// near its limit, which [FullJitter] does not promise.
func HalfJitter(b Backoff) Backoff {
	return func(n int) time.Duration {
		d := b(n)
		if d <= 0 {
			return 0
		}
		return d - rand.N(d/2+1)
	}
}
