package consumer_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/retry"
)

func TestStore_CompletedIsADuplicate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		cfg := guarded(t, steady(1), st)
		want(t, "first delivery", short(outcome(t, cfg, script{}, delivery("a", 1))), "a=done")
		src := newSource(t)
		outs := newConsumer(t, cfg, never(t)).Process(t.Context(), src, []*consumer.Delivery{delivery("a", 2)})
		wantOutcomes(t, outs, "a=duplicate")
		want(t, "attempt, tries, error", []any{outs[0].Attempt, outs[0].Tries, outs[0].Err}, []any{0, 0, nil})
		want(t, "acknowledged by", src.receipts(), []string{"a#2"})
	})
}

// The message comes back when the lease of the other one can be taken over: a
// second after its end, which is a second after the deadline.
func TestStore_HeldIsDeferredUntilTheLeaseCanBeTakenOver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		held, after time.Duration // the other worker's deadline, and when the message comes
		out         string
	}{
		"whole seconds":       {30 * time.Second, 0, "a=deferred+32s"},
		"rounded up":          {30*time.Second + time.Millisecond, 0, "a=deferred+33s"},
		"later":               {30 * time.Second, 20*time.Second + 100*time.Millisecond, "a=deferred+12s"},
		"in the second after": {30 * time.Second, 31*time.Second + 500*time.Millisecond, "a=deferred+1s"},
		"at its very end":     {30 * time.Second, 32 * time.Second, "a=deferred+1s"},
		"taken over":          {30 * time.Second, 32*time.Second + time.Millisecond, "a=done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := newScripted()
				elsewhere(t, st, "a", time.Now().Add(tt.held))
				time.Sleep(tt.after)
				o := outcome(t, guarded(t, steady(1), st), script{}, delivery("a", 7))
				want(t, "outcome", short(o), tt.out)
				if o.Verdict == consumer.VerdictDone {
					want(t, "attempt", o.Attempt, 2)
					return
				}
				wantErr(t, o.Err, idempotency.ErrHeld)
				want(t, "attempt, tries", []int{o.Attempt, o.Tries}, []int{0, 0})
				st.wantRecord(t, "a", state{"in_progress", 1, ""})
			})
		})
	}
}

// The lease ends a second after the session's deadline, or Config.Lease after
// the claim where there is no deadline.
func TestStore_LeaseFollowsTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, begin := newScripted(), time.Now()
		leases := make(map[string]time.Duration)
		h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
			leases[m.ID] = st.record(m.ID).Lease.Sub(begin)
			return nil
		})
		cfg := guardedBy(t, steady(1), st, idempotency.Config{Lease: 40 * time.Second})
		outcome(t, cfg, h, delivery("none", 1))
		newConsumer(t, cfg, h).Process(timeout(t, 90*time.Second), newSource(t), deliveries("deadline"))
		want(t, "leases", leases, map[string]time.Duration{"none": 40 * time.Second, "deadline": 91 * time.Second})
	})
}

func TestStore_UsedUpIsRejectedOnTheLastFailureAndWithoutARunAfterIt(t *testing.T) {
	t.Parallel()
	for _, parks := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			st, parked := newScripted(), 0
			cfg := budgeted(t, st, 2)
			delays := []string{"a=retry+10s", "a=rejected+8s", "a=rejected+16s", "a=rejected+32s"}
			if parks {
				delays = []string{"a=retry+10s", "a=rejected parked", "a=rejected parked", "a=rejected parked"}
				cfg.DeadLetter = parkFunc(func(_ context.Context, o consumer.Outcome) error {
					parked++
					n, most := o.Delivery.Attempt()
					want(t, "attempt of what is parked", []int{n, most}, []int{2, 2})
					return nil
				})
			}
			want(t, "first", short(outcome(t, cfg, script{"a": fails}, delivery("a", 1))), delays[0])
			o := outcome(t, cfg, script{"a": fails}, delivery("a", 2))
			want(t, "last", short(o), delays[1])
			wantErr(t, o.Err, consumer.ErrAttempts, errTest)
			for n := 3; n <= 4; n++ {
				o = outcome(t, cfg, never(t), delivery("a", n))
				want(t, "after the last", short(o), delays[n-1])
				wantErr(t, o.Err, idempotency.ErrExhausted)
				want(t, "attempt, tries", []int{o.Attempt, o.Tries}, []int{0, 0})
				if !strings.Contains(o.Err.Error(), "declined") {
					t.Errorf("error %q does not say what the last failure was", o.Err)
				}
			}
			want(t, "parked", parked, map[bool]int{false: 0, true: 3}[parks])
			st.wantRecord(t, "a", state{"rejected", 2, "all attempts were used (2): declined (gave up after 1 try: all tries were used)"})
		})
	}
}

// Nobody could reject it at the last failure: the process died, or there was
// more budget at that time.
func TestStore_UsedUpByACrashOrBySmallerBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		elsewhere(t, st, "crashed", time.Now().Add(time.Minute))
		time.Sleep(3 * time.Minute)
		outcome(t, budgeted(t, st, 5), script{"smaller": fails}, delivery("smaller", 1))
		for _, id := range []string{"crashed", "smaller"} {
			o := outcome(t, budgeted(t, st, 1), never(t), delivery(id, 2))
			want(t, "outcome", short(o), id+"=rejected+8s")
			wantErr(t, o.Err, idempotency.ErrExhausted)
		}
	})
}

func TestStore_AnotherPayloadIsRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		cfg := guardedBy(t, steady(1), st, idempotency.Config{Payload: idempotency.Whole})
		want(t, "first", short(outcome(t, cfg, script{}, delivery("a", 1))), "a=done")
		d := delivery("a", 2)
		d.Body += "!"
		o := outcome(t, cfg, never(t), d)
		want(t, "outcome", short(o), "a=rejected+8s")
		wantErr(t, o.Err, idempotency.ErrMismatch)
		want(t, "same payload", short(outcome(t, cfg, never(t), delivery("a", 3))), "a=duplicate")
	})
}

func TestStore_PayloadThatIsNotThereIsRejectedAndTheStoreNotAsked(t *testing.T) {
	t.Parallel()
	for name, selector := range map[string]idempotency.Selector{
		"nothing": idempotency.Field("order"),
		"error":   func(string) ([]byte, error) { return nil, errTest },
		"panic":   func(string) ([]byte, error) { panic("selector") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newScripted()
			cfg := guardedBy(t, steady(1), st, idempotency.Config{Payload: selector})
			o := outcome(t, cfg, never(t), delivery("a", 1))
			want(t, "outcome", short(o), "a=rejected+4s")
			wantErr(t, o.Err, idempotency.ErrNoPayload)
			want(t, "asked", st.asked(), nil)
		})
	}
}

func TestStore_DownIsDeferredByTheReceivesAndCountsNoAttempt(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]func(context.Context, string) error{"fails": answers(errStore), "blocks": blocks} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st, begin := newScripted(), time.Now()
				st.before["claim"] = claim
				cfg := guarded(t, steady(3), st)
				cfg.Redelivery.Backoff = func(n int) time.Duration { return time.Duration(n-1) * time.Minute }
				for n, out := range []string{"a=deferred+1s", "a=deferred+1m0s", "a=deferred+2m0s"} {
					o := outcome(t, cfg, never(t), delivery("a", n+1))
					want(t, "outcome", short(o), out)
					wantErr(t, o.Err, idempotency.ErrUnavailable)
					want(t, "attempt, tries", []int{o.Attempt, o.Tries}, []int{0, 0})
				}
				if name == "blocks" {
					want(t, "time", time.Since(begin), 15*time.Second)
				}
				delete(st.before, "claim")
				want(t, "attempt afterwards", outcome(t, cfg, script{}, delivery("a", 4)).Attempt, 1)
			})
		})
	}
}

// Every claim takes a second. The first three fail at once; then one at a time
// is let through, until one has succeeded.
func TestStore_ProbedOneAtATimeAfterAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		st.before["claim"] = func(context.Context, string) error {
			time.Sleep(time.Second)
			if time.Since(st.began) < 3*time.Second {
				return errStore
			}
			return nil
		}
		cfg := guarded(t, steady(1), st)
		cfg.Concurrency = 3
		outs := newConsumer(t, cfg, script{}).Process(t.Context(), newSource(t), deliveries("a", "b", "c", "d", "e", "f", "g", "h", "i"))
		verdicts := make(map[string]int)
		for _, o := range outs {
			verdicts[o.Verdict.String()]++
		}
		want(t, "verdicts", verdicts, map[string]int{"deferred": 4, "done": 5})
		var claims []int
		for i, op := range st.ops {
			if strings.HasPrefix(op, "claim") {
				claims = append(claims, int(st.at[i]/time.Second))
			}
		}
		slices.Sort(claims)
		want(t, "seconds at which claims began", claims, []int{0, 0, 0, 1, 2, 3, 3, 4, 4})
	})
}

// A claim waits five seconds for its turn and no more, and has five seconds then
// like any other.
func TestStore_ProbingIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, src := newScripted(), newSource(t)
		st.before["claim"] = func(ctx context.Context, _ string) error {
			if time.Since(st.began) == 0 {
				return errStore
			}
			return blocks(ctx, "")
		}
		s := newConsumer(t, guarded(t, steady(1), st), never(t)).Open(src, consumer.SessionOptions{})
		for _, id := range []string{"a", "b", "c", "d"} {
			if err := s.Submit(t.Context(), delivery(id, 1)); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		var ends []string
		for _, o := range src.told() {
			ends = append(ends, short(o.Outcome)+" at "+o.At.String())
			wantErr(t, o.Err, idempotency.ErrUnavailable)
		}
		want(t, "outcomes", ends, []string{
			"a=deferred+10s at 0s", "b=deferred+10s at 6s", "d=deferred+10s at 8s", "c=deferred+10s at 11s",
		})
		want(t, "began", st.at, []time.Duration{0, time.Second, 6 * time.Second})
	})
}

func TestStore_NoTimeLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		cfg := guarded(t, steady(1), st)
		cfg.Concurrency = 1
		// The second message would start when nothing starts any more.
		outs := newConsumer(t, cfg, script{"a": sleeps(7500 * time.Millisecond)}).
			Process(timeout(t, 10*time.Second), newSource(t), deliveries("a", "b"))
		wantOutcomes(t, outs, "a=done", "b=deferred+10s")
		wantErr(t, outs[1].Err, consumer.ErrDeadline)
		want(t, "asked", st.asked(), []string{"claim a", "complete a"})
		// The store takes so long that the lease is over when it answers.
		st.before["claim"] = delays(3 * time.Second)
		cfg = guardedBy(t, steady(1), st, idempotency.Config{Lease: 2 * time.Second})
		o := outcome(t, cfg, never(t), delivery("c", 1))
		want(t, "outcome", short(o), "c=deferred+10s")
		wantErr(t, o.Err, idempotency.ErrLease)
		st.wantRecord(t, "c", state{"failed", 0, idempotency.ErrLease.Error()})
	})
}

func TestStore_ClaimCutByTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, begin := newScripted(), time.Now()
		st.before["claim"] = blocks
		cfg := guarded(t, steady(1), st)
		cfg.Retry = retry.Policy{Tries: 1}
		outs := newConsumer(t, cfg, never(t)).Process(timeout(t, 4*time.Second), newSource(t), deliveries("a"))
		wantOutcomes(t, outs, "a=deferred+10s")
		wantErr(t, outs[0].Err, consumer.ErrDeadline, idempotency.ErrUnavailable)
		want(t, "time", time.Since(begin), 2700*time.Millisecond) // 4 s less the reserve and a tenth
	})
}
