package consumer_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/retry"
)

// Claims are renewed with the beat. One renewal that fails is none too few.
func TestHeartbeat_RenewsClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, renewals := newScripted(), 0
		st.before["renew"] = func(context.Context, string) error {
			if renewals++; renewals == 4 {
				return errStore
			}
			return nil
		}
		cfg := guardedBy(t, steady(1), st, idempotency.Config{Lease: 20 * time.Second})
		k := newKept(t, newSource(t), cfg, script{"a": works(65 * time.Second)}, consumer.SessionOptions{})
		k.after(time.Second)
		k.submit(k.fresh("a")...)
		k.after(time.Hour)
		want(t, "asked", st.asked(), []string{
			"claim a", "renew a", "renew a", "renew a", "renew a", "renew a", "renew a", "complete a",
		})
		wantOutcomes(t, k.close(), "a=done")
	})
}

// What waits has no claim yet, and what is abandoned is left to its end.
func TestHeartbeat_RenewsTheClaimsOfWhatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg, st := steady(1), newScripted()
		cfg = guarded(t, cfg, st)
		cfg.Concurrency = 1
		k := newKept(t, newSource(t), cfg, script{"a": works(14 * time.Second), "b": works(14 * time.Second)}, consumer.SessionOptions{})
		k.submit(k.fresh("a", "b")...)
		k.after(time.Hour)
		asked := st.asked() // at 14 s a is recorded and b claimed, in any order
		slices.Sort(asked)
		want(t, "asked", asked, []string{"claim a", "claim b", "complete a", "complete b", "renew a", "renew b"})
		k.close()
	})
}

// A renewal that the store refuses, since somebody else has the key, ends the
// handler at that beat.
func TestHeartbeat_RefusedRenewalEndsTheHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at time.Duration
		var cause error
		st := newScripted()
		st.before["renew"] = answers(idempotency.ErrLost)
		k := newKept(t, newSource(t), guarded(t, steady(3), st), script{"a": lostAt(&at, &cause)}, consumer.SessionOptions{})
		k.submit(k.fresh("a")...)
		k.after(time.Hour)
		want(t, "end of the handler's context", at, 10*time.Second)
		wantErr(t, cause, consumer.ErrLeaseLost, idempotency.ErrLost)
		wantOutcomes(t, k.close(), "a=retry-")
		want(t, "asked", st.asked(), []string{"claim a", "renew a"})
	})
}

// A store that does not answer holds up neither the extensions nor the next beat,
// and the handler is ended when the claim has run out.
func TestHeartbeat_StoreThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at time.Duration
		var cause error
		st := newScripted()
		st.before["renew"] = delays(time.Hour)
		cfg := guardedBy(t, steady(3), st, idempotency.Config{Lease: 35 * time.Second})
		k := newKept(t, newSource(t), cfg, script{"a": lostAt(&at, &cause)}, consumer.SessionOptions{})
		k.submit(k.fresh("a")...)
		k.after(2 * time.Hour)
		want(t, "end of the handler's context", at.Round(time.Second), 35*time.Second)
		wantErr(t, cause, consumer.ErrLeaseLost)
		k.wantExtensions("10s a#1 +30s", "20s a#1 +30s", "30s a#1 +30s")
		wantOutcomes(t, k.close(), "a=retry-")
	})
}

// The work of a message is recorded for as long as it takes, and the message kept
// meanwhile.
func TestHeartbeat_GoesOnWhileTheOutcomeIsRecordedAndParked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, cfg := newSource(t), steady(1)
		cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error { time.Sleep(4 * time.Second); return nil })
		src.ack = func(context.Context, consumer.Outcome) error { time.Sleep(14 * time.Second); return nil }
		k := newKept(t, src, cfg, script{"p": always(retry.Permanent(errTest))}, consumer.SessionOptions{})
		k.after(9 * time.Second)
		k.submit(k.fresh("p")...)
		k.after(time.Hour)
		k.wantExtensions("20s p#1 +30s")
		wantOutcomes(t, k.close(), "p=rejected parked")
	})
}
