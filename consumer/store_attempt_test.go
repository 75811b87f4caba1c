package consumer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/retry"
)

// Receives are many, for they count what was throttled and deferred; attempts
// are what the handler and the backoff go by.
func TestStore_AttemptsNotReceives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen [][2]int
		st := newScripted()
		cfg := budgeted(t, st, 4)
		cfg.Redelivery.Backoff = func(n int) time.Duration { return time.Duration(n) * time.Minute }
		h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
			n, most := m.Attempt()
			seen = append(seen, [2]int{n, most})
			return errTest
		})
		for i, receives := range []int{7, 9, 40} {
			o := outcome(t, cfg, h, delivery("a", receives))
			want(t, "outcome", short(o), "a=retry+"+(time.Duration(i+1)*time.Minute).String())
			want(t, "attempt", o.Attempt, i+1)
		}
		want(t, "what the handler saw", seen, [][2]int{{1, 4}, {2, 4}, {3, 4}})
	})
}

func TestStore_NoBudgetIsNoLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		cfg := guarded(t, steady(1), st)
		for n := 1; n <= 30; n++ {
			o := outcome(t, cfg, script{"a": fails}, delivery("a", n))
			want(t, "outcome", short(o), "a=retry+10s")
			want(t, "attempt", o.Attempt, n)
		}
	})
}

// Several tries are one attempt.
func TestStore_FailureIsReleasedWithItsError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		o := outcome(t, guarded(t, steady(3), st), script{"a": fails}, delivery("a", 1))
		want(t, "outcome", short(o), "a=retry+10s")
		want(t, "asked", st.asked(), []string{"claim a", "release a"})
		st.wantRecord(t, "a", state{"failed", 1, "declined (gave up after 3 tries: all tries were used)"})
	})
}

func TestStore_RejectedEndsTheLife(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do     func(context.Context) error
		reason error
	}{
		"permanent": {always(retry.Permanent(errTest)), errTest},
		"too old":   {always(retry.After(2*time.Hour, errTest)), consumer.ErrTooOld},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := newScripted()
				cfg := guarded(t, steady(1), st)
				cfg.Redelivery.MaxAge = time.Hour
				d := delivery("a", 1)
				d.SentAt = time.Now()
				o := outcome(t, cfg, script{"a": tt.do}, d)
				want(t, "outcome", short(o), "a=rejected+4s")
				wantErr(t, o.Err, tt.reason)
				want(t, "status", st.record("a").Status, idempotency.Rejected)
				// Without a limit of attempts it stays rejected all the same.
				again := delivery("a", 2)
				again.SentAt = d.SentAt
				o = outcome(t, cfg, never(t), again)
				want(t, "next delivery", short(o), "a=rejected+8s")
				wantErr(t, o.Err, idempotency.ErrExhausted)
			})
		})
	}
}

func TestStore_DeadlineCutCountsAsAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		c := newConsumer(t, guarded(t, steady(3), st), script{"a": works(time.Hour)})
		outs := c.Process(timeout(t, 10*time.Second), newSource(t), deliveries("a"))
		wantOutcomes(t, outs, "a=retry+10s")
		wantErr(t, outs[0].Err, consumer.ErrDeadline)
		want(t, "record", []any{st.record("a").Status, st.record("a").Attempts}, []any{idempotency.Failed, 1})
	})
}

// The budget can end with a deadline as it can with any failure.
func TestStore_DeadlineCutOfTheLastAttemptIsRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		c := newConsumer(t, budgeted(t, st, 1), script{"a": works(time.Hour)})
		outs := c.Process(timeout(t, 10*time.Second), newSource(t), deliveries("a"))
		wantOutcomes(t, outs, "a=rejected+4s")
		wantErr(t, outs[0].Err, consumer.ErrDeadline, consumer.ErrAttempts)
	})
}

func TestStore_DrainCutIsRefunded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		cfg := budgeted(t, st, 1)
		for range 3 {
			outs := drained(t, newSource(t), cfg, script{"a": works(time.Hour)}, 10*time.Second, "a")
			wantOutcomes(t, outs, "a=deferred+0s")
			want(t, "attempts", st.record("a").Attempts, 0)
		}
		o := outcome(t, cfg, script{}, delivery("a", 4))
		want(t, "outcome", short(o), "a=done")
		want(t, "attempt", o.Attempt, 1)
	})
}

// The attempt was made, and has failed: only the wait was cut.
func TestStore_WaitThatDrainEndsIsNotRefunded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, cfg := newScripted(), steady(3)
		cfg.Retry.Backoff = retry.Constant(5 * time.Second)
		outs := drained(t, newSource(t), guarded(t, cfg, st), script{"a": fails}, 10*time.Second, "a")
		wantOutcomes(t, outs, "a=retry+10s")
		wantErr(t, outs[0].Err, errTest)
		want(t, "attempts", st.record("a").Attempts, 1)
	})
}

// The claim was made, but when it was, nothing could start any more.
func TestStore_NothingTriedAfterTheClaimIsRefunded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		st.deaf, st.before["claim"] = true, delays(7500*time.Millisecond)
		c := newConsumer(t, guarded(t, steady(3), st), never(t))
		outs := c.Process(timeout(t, 10*time.Second), newSource(t), deliveries("a"))
		wantOutcomes(t, outs, "a=deferred+10s")
		wantErr(t, outs[0].Err, consumer.ErrDeadline)
		want(t, "attempt, tries", []int{outs[0].Attempt, outs[0].Tries}, []int{0, 0})
		want(t, "asked", st.asked(), []string{"claim a", "release a"})
		want(t, "record", []any{st.record("a").Status, st.record("a").Attempts}, []any{idempotency.Failed, 0})
	})
}

// What is parked says which attempt it was, also if the message came once more
// while it ran.
func TestStore_AttemptOfAParkedMessageThatCameAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		cfg := budgeted(t, st, 5)
		want(t, "first", short(outcome(t, cfg, script{"a": fails}, delivery("a", 3))), "a=retry+10s")
		cfg.DeadLetter = parkFunc(func(_ context.Context, o consumer.Outcome) error {
			n, most := o.Delivery.Attempt()
			want(t, "receipt", o.Delivery.Receipt, "a#9")
			want(t, "attempt", []int{n, most}, []int{2, 5})
			return nil
		})
		h := script{"a": func(context.Context) error { time.Sleep(time.Minute); return retry.Permanent(errTest) }}
		outs := newConsumer(t, cfg, h).Process(t.Context(), newSource(t), []*consumer.Delivery{delivery("a", 8), delivery("a", 9)})
		wantOutcomes(t, outs, "a=rejected parked", "a=rejected parked")
	})
}

func TestStore_DuplicatesInOneBatchAreOneClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		c := newConsumer(t, guarded(t, steady(1), st), script{"a": second, "b": fails})
		outs := c.Process(t.Context(), newSource(t), []*consumer.Delivery{
			delivery("a", 1), delivery("b", 1), delivery("a", 2), delivery("b", 2), delivery("a", 3),
		})
		wantOutcomes(t, outs, "a=done", "b=retry+10s", "a=done", "b=retry+10s", "a=done")
		want(t, "operations", len(st.asked()), 4)
		want(t, "attempts of b", st.record("b").Attempts, 1)
	})
}
