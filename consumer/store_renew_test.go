package consumer_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/retry"
)

// renewed is a session in which one message runs under a lease of ten seconds.
type renewed struct {
	unrecorded

	t   *testing.T
	st  *scripted
	src *source
	s   *consumer.Session
}

// newRenewed runs the messages for a second.
func newRenewed(t *testing.T, cfg consumer.Config, do func(context.Context) error, ids ...string) *renewed {
	t.Helper()
	return newRenewedOn(t, newScripted(), cfg, consumer.HandlerFunc(func(ctx context.Context, _ *consumer.Message) error { return do(ctx) }), ids...)
}

func newRenewedOn(t *testing.T, st *scripted, cfg consumer.Config, h consumer.Handler, ids ...string) *renewed {
	t.Helper()
	r := &renewed{t: t, st: st, src: newSource(t)}
	cfg = guardedBy(t, cfg, st, idempotency.Config{Lease: 10 * time.Second})
	cfg.Observe = r.observe
	r.s = newConsumer(t, cfg, h).Open(r.src, consumer.SessionOptions{})
	if err := r.s.Submit(t.Context(), deliveries(ids...)...); err != nil {
		t.Error(err)
	}
	time.Sleep(time.Second)
	synctest.Wait()
	return r
}

// end closes the session and returns what the source was told.
func (r *renewed) end() (outs []consumer.Outcome) {
	r.t.Helper()
	time.Sleep(time.Hour)
	if err := r.s.Close(r.t.Context()); err != nil {
		r.t.Error(err)
	}
	for _, o := range r.src.told() {
		outs = append(outs, o.Outcome)
	}
	return outs
}

func TestStore_LostLeaseCancelsTheHandlerAndWritesNothing(t *testing.T) {
	t.Parallel()
	for name, ret := range map[string]func(cause error) error{
		"cause":     func(cause error) error { return cause },
		"error":     func(error) error { return errTest },
		"after":     func(error) error { return retry.After(time.Minute, errTest) },
		"permanent": func(error) error { return retry.Permanent(errTest) },
		"panic":     func(error) error { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var cause error
				cfg := steady(3)
				cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error {
					t.Error("parked")
					return nil
				})
				r := newRenewed(t, cfg, func(ctx context.Context) error {
					<-ctx.Done()
					cause = context.Cause(ctx)
					return ret(cause)
				}, "a")
				r.st.before["renew"] = answers(idempotency.ErrLost)
				want(t, "lost", r.s.Renew(t.Context()), 1)
				wantOutcomes(t, r.end(), "a=retry-")
				wantErr(t, cause, consumer.ErrLeaseLost, idempotency.ErrLost)
				want(t, "asked", r.st.asked(), []string{"claim a", "renew a"})
				r.st.wantRecord(t, "a", state{"in_progress", 1, ""})
				want(t, "settled at", r.src.told()[0].At, time.Second)
				want(t, "unrecorded", len(r.events), 0)
			})
		})
	}
}

// The fence lets the completion through only if the claim is ours after all.
func TestStore_LostLeaseAndNilStillTriesTheCompletion(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		t.Run(fmt.Sprintf("taken over: %t", taken), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRenewed(t, steady(3), func(ctx context.Context) error {
					<-ctx.Done()
					if taken {
						time.Sleep(5 * time.Second) // too slow to hand it in before somebody else takes over
					}
					return nil
				}, "a")
				if taken {
					time.Sleep(11 * time.Second)
					elsewhere(t, r.st.mem, "a", time.Now().Add(time.Minute))
				} else {
					r.st.before["renew"] = answers(idempotency.ErrLost)
				}
				want(t, "lost", r.s.Renew(t.Context()), 1)
				wantOutcomes(t, r.end(), "a=done")
				want(t, "asked", r.st.asked(), []string{"claim a", "renew a", "complete a"})
				want(t, "unrecorded", len(r.events), map[bool]int{false: 0, true: 1}[taken])
				r.st.wantRecord(t, "a", map[bool]state{false: {"completed", 1, ""}, true: {"in_progress", 2, ""}}[taken])
			})
		})
	}
}

func TestStore_LostLeaseDuringAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg, tries := steady(3), 0
		cfg.Retry.Backoff = retry.Constant(5 * time.Second)
		r := newRenewed(t, cfg, func(context.Context) error { tries++; return errTest }, "a")
		r.st.before["renew"] = answers(idempotency.ErrLost)
		want(t, "lost", r.s.Renew(t.Context()), 1)
		outs := r.end()
		wantOutcomes(t, outs, "a=retry-")
		wantErr(t, outs[0].Err, errTest)
		want(t, "tries", tries, 1)
		want(t, "settled at", r.src.told()[0].At, time.Second)
		want(t, "asked", r.st.asked(), []string{"claim a", "renew a"})
	})
}

// The drain comes second: the lease was lost before, so there is no refund and
// no change of visibility.
func TestStore_LostLeaseAndThenADrain(t *testing.T) {
	t.Parallel()
	for _, drainFirst := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRenewed(t, steady(3), func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(100 * time.Millisecond)
				return errTest
			}, "a")
			r.st.before["renew"] = answers(idempotency.ErrLost)
			renew := func() { want(t, "lost", r.s.Renew(context.Background()), 1) }
			if drainFirst {
				go func() { time.Sleep(50 * time.Millisecond); renew() }()
			} else {
				renew()
			}
			if err := r.s.Close(timeout(t, 0)); err != nil {
				t.Error(err)
			}
			want(t, "outcome", short(r.src.told()[0].Outcome), "a=retry-")
			want(t, "asked", r.st.asked(), []string{"claim a", "renew a"})
		})
	}
}

// A store that cannot be reached is no loss until the confirmed lease is over.
func TestStore_RenewalThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRenewed(t, steady(3), works(time.Hour), "a")
		r.st.before["renew"] = answers(errStore)
		want(t, "lost after 1 s", r.s.Renew(t.Context()), 0)
		time.Sleep(9 * time.Second)
		want(t, "lost after 10 s", r.s.Renew(t.Context()), 0)
		time.Sleep(time.Millisecond)
		time.Sleep(time.Millisecond) // it was lost by itself: no beat has to come for that
		want(t, "lost after more than 10 s", r.s.Renew(t.Context()), 0)
		wantOutcomes(t, r.end(), "a=retry-")
		want(t, "settled at", r.src.told()[0].At, 10001*time.Millisecond)
	})
}

func TestStore_RenewalKeepsTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRenewed(t, steady(3), works(30*time.Second), "a")
		for range 7 {
			want(t, "lost", r.s.Renew(t.Context()), 0)
			want(t, "lease", time.Until(r.st.record("a").Lease), 10*time.Second)
			time.Sleep(4 * time.Second)
		}
		wantOutcomes(t, r.end(), "a=done")
	})
}

// A transaction that lands while its claim is renewed is no loss: the handler
// goes on, and its message is done.
func TestStore_RenewalOfWhatIsCompleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, ended := newScripted(), error(nil)
		r := newRenewedOn(t, st, steady(3), script{"a": func(ctx context.Context) error {
			c, _ := idempotency.FromContext(ctx)
			_ = st.mem.Complete(ctx, c.Key(), c.Owner(), c.Expiry()) // and the response is on its way
			time.Sleep(10 * time.Second)
			ended = ctx.Err()
			return errTest
		}}, "a")
		want(t, "lost", r.s.Renew(t.Context()), 0)
		wantOutcomes(t, r.end(), "a=done")
		want(t, "end of the handler's context", ended, nil)
	})
}

func TestStore_RenewalIsForWhatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg, st := steady(1), newScripted()
		cfg.Concurrency = 2
		h := script{"a": sleeps(2 * time.Second), "b": sleeps(4 * time.Second), "c": sleeps(4 * time.Second), "d": sleeps(8 * time.Second)}
		// What is being recorded is not renewed either.
		st.before["complete"] = delays(4 * time.Second)
		r := newRenewedOn(t, st, cfg, h, "a", "b", "c", "d")
		renewals := func(wanted ...string) {
			t.Helper()
			st.asked()
			want(t, "lost", r.s.Renew(t.Context()), 0)
			got := st.asked()
			slices.Sort(got)
			want(t, "renewals", got, wanted)
		}
		renewals("renew a", "renew b") // at 1 s; c and d wait
		time.Sleep(2 * time.Second)
		renewals("renew b", "renew c") // at 3 s; a is recorded
		time.Sleep(2 * time.Second)
		renewals("renew c", "renew d") // at 5 s; a and b are recorded
		r.end()
		want(t, "lost at the end", r.s.Renew(t.Context()), 0)
		want(t, "asked at the end", slices.Contains(st.asked(), "renew d"), false)
	})
}

// One that is not answered ends with the caller's context.
func TestStore_RenewalEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRenewed(t, steady(1), works(5*time.Second), "a", "b", "c")
		r.st.before["renew"] = blocks
		begin := time.Now()
		want(t, "lost", r.s.Renew(timeout(t, 2*time.Second)), 0)
		want(t, "time", time.Since(begin), 2*time.Second)
		outs := r.end()
		want(t, "outcomes", len(outs), 3)
		for _, o := range outs {
			want(t, "verdict", o.Verdict, consumer.VerdictDone)
		}
	})
}
