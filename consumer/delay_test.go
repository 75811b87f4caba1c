package consumer_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

// one runs a single delivery whose handler fails with err, and returns its
// outcome.
func one(t *testing.T, cfg consumer.Config, queue consumer.Queue, d *consumer.Delivery, err error) consumer.Outcome {
	t.Helper()
	src := newSource(t)
	src.queue = queue
	h := consumer.HandlerFunc(func(context.Context, *consumer.Message) error { return err })
	return newConsumer(t, cfg, h).Process(t.Context(), src, []*consumer.Delivery{d})[0]
}

func TestDelay_WholeSecondsRoundedUp(t *testing.T) {
	t.Parallel()
	for asked, delay := range map[time.Duration]time.Duration{
		0:                               0, // only if asked
		1:                               time.Second,
		300 * time.Millisecond:          time.Second,
		time.Second:                     time.Second,
		time.Second + 1:                 2 * time.Second,
		90 * time.Second:                90 * time.Second,
		math.MaxInt64:                   11 * time.Hour, // the receive may have been some time ago
		-1:                              -1,             // leaves the visibility as it is
		math.MinInt64:                   -1,
		11*time.Hour - time.Millisecond: 11 * time.Hour,
	} {
		t.Run(asked.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := steady(1)
				want(t, "delay by After", one(t, cfg, consumer.Queue{ARN: standardARN}, delivery("a", 2), retry.After(asked, errTest)).Delay, delay)
				cfg.Redelivery.Backoff = func(int) time.Duration { return asked }
				want(t, "delay by Backoff", one(t, cfg, consumer.Queue{ARN: standardARN}, delivery("a", 2), errTest).Delay, delay)
			})
		})
	}
}

// Twelve hours count from the receive, which is known in some cases.
func TestDelay_NeverBeyondTwelveHoursSinceTheReceive(t *testing.T) {
	t.Parallel()
	visible := consumer.Queue{ARN: standardARN, Visibility: 10 * time.Minute}
	first := func(ago time.Duration) func(d *consumer.Delivery) {
		return func(d *consumer.Delivery) { d.ReceiveCount, d.FirstReceivedAt = 1, time.Now().Add(-ago) }
	}
	until := func(left time.Duration) func(d *consumer.Delivery) {
		return func(d *consumer.Delivery) { d.VisibleUntil = time.Now().Add(left) }
	}
	standard := consumer.Queue{ARN: standardARN}
	for name, tt := range map[string]struct {
		queue consumer.Queue
		set   func(d *consumer.Delivery)
		delay time.Duration
	}{
		"unknown":                    {standard, func(*consumer.Delivery) {}, 11 * time.Hour},
		"first receive, just now":    {standard, first(0), 12*time.Hour - time.Minute},
		"first receive, an hour ago": {standard, first(time.Hour), 11*time.Hour - time.Minute},
		"later receive says nothing": {standard, func(d *consumer.Delivery) { d.FirstReceivedAt = time.Now().Add(-time.Hour) }, 11 * time.Hour},
		"from the future":            {standard, first(-time.Hour), 12*time.Hour - time.Minute},
		"by visibility, just now":    {visible, until(10 * time.Minute), 12*time.Hour - time.Minute},
		"by visibility, earlier":     {visible, until(4 * time.Minute), 12*time.Hour - 7*time.Minute},
		"visibility unknown":         {standard, until(4 * time.Minute), 11 * time.Hour},
		"twelve hours ago":           {standard, first(12 * time.Hour), time.Second}, // too late for any change, but never at once
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(24 * time.Hour) // away from the very first moment
				d := delivery("a", 2)
				tt.set(d)
				want(t, "delay", one(t, steady(1), tt.queue, d, retry.After(100*time.Hour, errTest)).Delay, tt.delay)
			})
		})
	}
}

// The time that the handler takes counts too.
func TestDelay_TheHandlersTimeCountsAgainstTwelveHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := script{"a": func(context.Context) error { time.Sleep(3 * time.Hour); return retry.After(100*time.Hour, errTest) }}
		wantOutcomes(t, newConsumer(t, steady(1), h).Process(t.Context(), newSource(t), deliveries("a")), "a=retry+8h0m0s")
	})
}

func TestDelay_AnyBackoffGivesOneToTwelveHoursOfWholeSeconds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		base := time.Duration(rapid.Int64Range(int64(300*time.Millisecond), int64(time.Hour)).Draw(rt, "base"))
		limit := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(rt, "limit"))
		n := rapid.OneOf(rapid.IntRange(0, 70), rapid.IntRange(0, 1_000_000)).Draw(rt, "receives")
		jitter := rapid.Bool().Draw(rt, "jitter")
		b := retry.Exponential(base, max(limit, base))
		if jitter {
			b = retry.HalfJitter(b)
		}
		delay := func(n int) (d time.Duration) {
			synctest.Test(t, func(t *testing.T) {
				cfg := steady(1)
				cfg.Redelivery.Backoff = b
				d = one(t, cfg, consumer.Queue{ARN: standardARN}, delivery("a", n), errTest).Delay
			})
			return d
		}
		d := delay(n)
		if d < time.Second || d > 12*time.Hour || d%time.Second != 0 {
			rt.Fatalf("delay %v", d)
		}
		if next := delay(n + 1); !jitter && next < d {
			rt.Fatalf("delay shrinks from %v to %v", d, next)
		}
	})
}

func TestDelay_RejectedMessagesDoubleByReceivesUpToFifteenMinutes(t *testing.T) {
	t.Parallel()
	for receives, delay := range map[int]time.Duration{
		0: 4 * time.Second, 1: 4 * time.Second, 2: 8 * time.Second, 3: 16 * time.Second, 8: 512 * time.Second,
		9: 15 * time.Minute, 1000: 15 * time.Minute, math.MaxInt - 1: 15 * time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			o := one(t, steady(3), consumer.Queue{ARN: standardARN}, delivery("a", receives), retry.Permanent(errTest))
			want(t, fmt.Sprintf("%d receives", receives), short(o), "a=rejected+"+delay.String())
		})
	}
}

func TestDelay_DefaultGrowsAndIsNeverAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := steady(1)
		cfg.Redelivery.Backoff = nil
		last := time.Duration(0)
		for n := 1; n <= 7; n++ {
			d := one(t, cfg, consumer.Queue{ARN: standardARN}, delivery("a", n), errTest).Delay
			if d < last || d < 5*time.Second || d > 15*time.Minute {
				t.Errorf("delay %d is %v, after %v", n, d, last)
			}
			last = d
		}
	})
}

func TestMaxAge(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	for name, tt := range map[string]struct {
		maxAge, retention, age, delay time.Duration
		rejected                      bool
	}{
		"unknown":                            {0, 0, week, time.Hour, false},
		"MaxAge, next delivery just in time": {2 * time.Hour, 0, time.Hour, time.Hour, false},
		"MaxAge, next delivery too late":     {2 * time.Hour, 0, time.Hour, time.Hour + time.Second, true},
		"MaxAge passed already":              {2 * time.Hour, 0, 3 * time.Hour, 0, true},
		"MaxAge, visibility left":            {2 * time.Hour, 0, time.Hour, -1, false},
		"by retention, just in time":         {0, 4 * time.Hour, 3 * time.Hour, 50 * time.Minute, false},
		"by retention, too late":             {0, 4 * time.Hour, 3 * time.Hour, 50*time.Minute + time.Second, true},
		"MaxAge goes before retention":       {week, 4 * time.Hour, 3 * time.Hour, 5 * time.Hour, false},
		// Ten minutes are no margin where the queue keeps messages for less.
		"short retention, in time":  {0, time.Minute, 10 * time.Second, 10 * time.Second, false},
		"short retention, too late": {0, time.Minute, 30 * time.Second, 10 * time.Second, true},
		"retention of ten minutes":  {0, 10 * time.Minute, 8 * time.Minute, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg, d := steady(1), delivery("a", 1)
				cfg.Redelivery.MaxAge = tt.maxAge
				d.SentAt = time.Now().Add(-tt.age)
				o := one(t, cfg, consumer.Queue{ARN: standardARN, Retention: tt.retention}, d, retry.After(tt.delay, errTest))
				if tt.rejected {
					want(t, "outcome", short(o), "a=rejected+4s")
					wantErr(t, o.Err, consumer.ErrTooOld, errTest)
				} else {
					want(t, "verdict", o.Verdict, consumer.VerdictRetry)
				}
				d.SentAt = time.Time{}
				o = one(t, cfg, consumer.Queue{ARN: standardARN, Retention: tt.retention}, d, retry.After(tt.delay, errTest))
				want(t, "verdict of a message that does not say when it was sent", o.Verdict, consumer.VerdictRetry)
			})
		})
	}
}
