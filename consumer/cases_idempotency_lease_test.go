package consumer_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
)

// dies is a handler whose process is killed: it never comes back, and nothing is
// recorded.
func dies(context.Context) error { time.Sleep(24 * time.Hour); return errTest }

func TestCase_ID01_InProgressForEverAfterACrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		cfg := guarded(t, steady(3), st)
		newConsumer(t, cfg, script{"a": dies}).Process(timeout(t, 30*time.Second), newSource(t), deliveries("a"))
		st.wantRecord(t, "a", state{"in_progress", 1, ""})
		// t1: before the lease has ended. Reported, not run.
		o := outcome(t, cfg, never(t), delivery("a", 2))
		want(t, "before the end of the lease", o.Verdict, consumer.VerdictDeferred)
		want(t, "acknowledged", o.Acknowledged(), false)
		// t2: when it said to come back, and a moment.
		time.Sleep(o.Delay + time.Millisecond)
		o = outcome(t, cfg, script{}, delivery("a", 3))
		want(t, "after it", short(o), "a=done")
		st.wantRecord(t, "a", state{"completed", 2, ""})
		time.Sleep(48 * time.Hour)
	})
}

// A lease of 1500 ms, looked at every 100 ms. It is taken over a second after
// its end, when it must have ended by everybody's clock.
func TestCase_ID02_MillisecondsAndSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, begin := newScripted(), time.Now()
		elsewhere(t, st, "a", begin.Add(500*time.Millisecond))
		want(t, "lease", st.record("a").Lease.Sub(begin), 1500*time.Millisecond)
		cfg := guarded(t, steady(1), st)
		for outcome(t, cfg, script{}, delivery("a", 2)).Verdict == consumer.VerdictDeferred {
			time.Sleep(100 * time.Millisecond)
			if time.Since(begin) > time.Minute {
				t.Fatal("not taken over in a minute")
			}
		}
		want(t, "taken over after", time.Since(begin), 2600*time.Millisecond)
		expires := st.record("a").Expires
		want(t, "fraction of a second in the expiry", expires.Nanosecond(), 0)
		if left := time.Until(expires); left < 15*24*time.Hour || left > 15*24*time.Hour+time.Second {
			t.Errorf("the record lives for %v, want 15 days", left)
		}
	})
}

// A handler outlives its lease, and another worker has the key by then: neither
// its success nor its failure touches the other's record.
func TestCase_ID04_OutlivedLeaseCannotOverwrite(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]error{"success": nil, "failure": errTest} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log lines
				st := newScripted()
				cfg := guardedBy(t, steady(1), st, idempotency.Config{Lease: 10 * time.Second})
				cfg.Logger = log.logger()
				first := make(chan consumer.Outcome)
				go func() {
					h := script{"a": func(context.Context) error { time.Sleep(20 * time.Second); return late }}
					first <- newConsumer(t, cfg, h).Process(context.Background(), newSource(t), deliveries("a"))[0]
				}()
				time.Sleep(12 * time.Second)
				second := newConsumer(t, cfg, script{"a": sleeps(9 * time.Second)})
				got := make(chan consumer.Outcome)
				go func() {
					got <- second.Process(context.Background(), newSource(t), []*consumer.Delivery{delivery("a", 2)})[0]
				}()
				want(t, "owner 1", short(<-first), map[bool]string{true: "a=done", false: "a=retry-"}[late == nil])
				st.wantRecord(t, "a", state{"in_progress", 2, ""})
				// A failure under a lease that is known to be lost is not even tried to be recorded.
				if late == nil && !strings.Contains(log.String(), "not recorded") {
					t.Errorf("the refusal was not logged:\n%s", log.String())
				}
				want(t, "owner 2", short(<-got), "a=done")
				st.wantRecord(t, "a", state{"completed", 2, ""})
			})
		})
	}
}

// The record of finished work is still there although its time is up, by an
// hour or just now.
func TestCase_ID05_ExpiredIsAbsent(t *testing.T) {
	t.Parallel()
	const retention = 14 * 24 * time.Hour
	for _, tt := range []struct {
		after time.Duration
		out   string
	}{
		{retention - time.Second, "a=duplicate"},
		{retention, "a=done"},
		{retention + time.Hour, "a=done"},
	} {
		synctest.Test(t, func(t *testing.T) {
			st := newScripted()
			cfg := guardedBy(t, steady(1), st, idempotency.Config{Retention: retention})
			want(t, "first", short(outcome(t, cfg, script{}, sent("a", 1, st.began))), "a=done")
			st.asked()
			time.Sleep(tt.after)
			want(t, "still there", st.mem.Len(), 1)
			o := outcome(t, cfg, script{}, sent("a", 2, st.began))
			want(t, "after "+tt.after.String(), short(o), tt.out)
			if o.Verdict == consumer.VerdictDone {
				want(t, "attempt", o.Attempt, 1)
				want(t, "asked", st.asked(), []string{"claim a", "complete a"})
			}
		})
	}
}

// The store has no answer for one message of three.
func TestCase_ID06_StoreThrottledForOneMessage(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]func(context.Context, string) error{"fails": answers(errStore), "blocks": blocks} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st, begin := newScripted(), time.Now()
				st.before["claim"] = func(ctx context.Context, key string) error {
					if strings.HasSuffix(key, ":r2") {
						return claim(ctx, key)
					}
					time.Sleep(time.Millisecond)
					return nil
				}
				j := newJournal()
				c := newConsumer(t, journaled(guarded(t, steady(3), st), j), script{})
				outs := c.Process(timeout(t, 3*time.Second), newSource(t), deliveries("r1", "r2", "r3"))
				wantOutcomes(t, outs, "r1=done", "r2=deferred+10s", "r3=done")
				wantErr(t, outs[1].Err, idempotency.ErrUnavailable)
				want(t, "runs", j.starts(), []string{"r1@1ms", "r3@1ms"})
				want(t, "attempts", st.record("r2").Attempts, 0)
				if took := time.Since(begin); took > 3*time.Second-100*time.Millisecond {
					t.Errorf("the batch took %v of 3 s", took)
				}
			})
		})
	}
}

// Marking the work as done fails, at every try of the store's own. It is done
// all the same and not run again, and the claim stays: were the message to come
// again it would find the key held, and run again when the lease has ended.
func TestCase_ID07_MarkDoneFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var events unrecorded
		st, j := newScripted(), newJournal()
		st.before["complete"] = answers(errStore)
		cfg := journaled(guardedBy(t, steady(3), st, idempotency.Config{Lease: time.Minute}), j)
		cfg.Observe = events.observe
		want(t, "outcome", short(outcome(t, cfg, script{}, delivery("a", 1))), "a=done")
		want(t, "events", len(events.events), 1)
		wantErr(t, events.events[0].Err, idempotency.ErrUnavailable)
		st.wantRecord(t, "a", state{"in_progress", 1, ""})
		want(t, "runs", j.starts(), []string{"a@0s"})
		delete(st.before, "complete")
		want(t, "again", short(outcome(t, cfg, script{}, delivery("a", 2))), "a=deferred+1m1s")
		time.Sleep(61*time.Second + time.Millisecond)
		want(t, "after the lease", short(outcome(t, cfg, script{}, delivery("a", 3))), "a=done")
	})
}
