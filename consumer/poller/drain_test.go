package poller_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// PO-03: what is not finished by the end of the grace is cancelled, released at
// once, and no attempt is counted.
func TestDrain_PO03_UnfinishedWorkIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var causes []error
		cfg, st := guarded(t, steady(), 0)
		cfg.Redelivery.MaxAttempts = 3
		r := newRig(t, setup{cfg: cfg, poller: poller.Config{Grace: time.Second}, handler: func(ctx context.Context, m *consumer.Message) error {
			err := takes(time.Minute)(ctx, m)
			causes = append(causes, err)
			return err
		}})
		id := r.q.Send("a")[0]
		r.run()
		r.after(5 * time.Second)
		took := r.drained()
		over := time.Now()
		want(t, "time", took <= 1100*time.Millisecond, true)
		if len(causes) != 1 || !errors.Is(causes[0], consumer.ErrDraining) {
			t.Errorf("causes: %v", causes)
		}
		want(t, "visible", r.q.Visible(), 1)
		want(t, "verdicts", r.verdicts(), map[string][]string{"a": {"deferred"}})
		rec, _ := st.Get(r.q.ARN() + "#id:" + id)
		want(t, "record", rec.Status.String(), "failed")
		want(t, "attempts", rec.Attempts, 0)
		r.silent(over)
	})
}

// What has not begun is given back at once, whatever the grace, and what runs may
// finish within it.
func TestDrain_WaitingIsReleasedAtOnceAndRunningFinishes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{cfg: steady(), handler: ignores(20 * time.Second)})
		r.q.Send(bodies(15)...)
		r.run()
		r.after(5 * time.Second)
		want(t, "in flight", r.q.InFlight(), 15)
		r.stop()
		r.after(101 * time.Millisecond)
		want(t, "visible a tenth of a second later", r.q.Visible(), 5)
		want(t, "in flight", r.q.InFlight(), 10)
		began := time.Now()
		if err := <-r.done; err != nil {
			t.Error(err)
		}
		want(t, "time", time.Since(began) < 16*time.Second, true)
		want(t, "left", r.q.Len(), 5)
		want(t, "verdicts", counts(r.all()), map[string]int{"done": 10, "deferred+0s": 5})
		r.silent(time.Now())
	})
}

// A poll that is in flight may bring messages for half of the grace: they are given
// back at once. Then it is cut.
func TestDrain_PollInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{cfg: steady()})
		r.run()
		r.after(5 * time.Second) // 15 s of the poll are left
		r.stop()
		r.after(10 * time.Second)
		r.q.Send("late")
		if err := <-r.done; err != nil {
			t.Error(err)
		}
		want(t, "end", time.Since(r.began) < 15500*time.Millisecond, true)
		want(t, "visible", r.q.Visible(), 1)
		want(t, "receives", r.receives(), map[string]int{"late": 1})
		want(t, "verdicts", r.all(), []string{"deferred+0s"})
		r.silent(time.Now())
	})
}

// An idle poller is gone after what is left of its poll, or half of the grace.
func TestDrain_OfAnIdlePoller(t *testing.T) {
	t.Parallel()
	const half = poller.DefaultGrace / 2
	for idle, end := range map[time.Duration]time.Duration{0: half, 5 * time.Second: half, 15 * time.Second: 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, setup{})
			r.run()
			r.after(idle)
			want(t, "time", r.drained(), end)
			r.silent(time.Now())
		})
	}
}

// Handlers that finish within the grace have their messages deleted, in what is
// left of it and in the seconds after; extensions go on meanwhile.
func TestDrain_HandlersThatFinishAreAcknowledged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		live := make(chan error, 3)
		r := newRig(t, setup{
			cfg: steady(), poller: poller.Config{Visibility: 10 * time.Second},
			handler: func(ctx context.Context, m *consumer.Message) error {
				time.Sleep(24900 * time.Millisecond)
				live <- ctx.Err()
				return nil
			},
		})
		r.q.Send(bodies(3)...)
		r.run()
		r.after(time.Millisecond)
		took := r.drained()
		want(t, "time", took > 24*time.Second && took <= 25500*time.Millisecond, true)
		want(t, "left", r.q.Len(), 0)
		for range 3 {
			want(t, "the handler's context", <-live, nil)
		}
		r.silent(time.Now())
	})
}

// Whatever of SQS hangs, and however: Run returns within the grace and five seconds.
func TestDrain_SQSHangs(t *testing.T) {
	t.Parallel()
	for _, hung := range []string{"ReceiveMessage", "DeleteMessageBatch", "ChangeMessageVisibilityBatch", "all", "slow"} {
		for _, grace := range []time.Duration{time.Second, 25 * time.Second} {
			for _, at := range []time.Duration{5 * time.Second, 10500 * time.Millisecond, 30500 * time.Millisecond} {
				for name, h := range map[string]consumer.HandlerFunc{
					"heeds": takes(500 * time.Second), "ignores": ignores(500 * time.Second), "done": ignores(at + 600*time.Millisecond),
					"fails": func(context.Context, *consumer.Message) error {
						time.Sleep(at + 600*time.Millisecond)
						return errors.New("no")
					},
				} {
					what := strings.Join([]string{hung, grace.String(), at.String(), name}, " ")
					t.Run(what, func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) { drainOfHungSQS(t, hung, grace, at, h) })
					})
				}
			}
		}
	}
}

func drainOfHungSQS(t *testing.T, hung string, grace, at time.Duration, h consumer.HandlerFunc) {
	t.Helper()
	cfg := steady()
	cfg.Concurrency = 5
	r := newRig(t, setup{cfg: cfg, handler: h, poller: poller.Config{Grace: grace, Prefetch: 20}})
	r.q.Send(bodies(15)...)
	r.run()
	r.after(2 * time.Second)
	var release func()
	switch hung {
	case "all":
		release = r.hang("")
	case "slow": // answers just before it is given up
		release = r.srv.Inject(sqstest.Fault{Delay: 4900 * time.Millisecond, Times: always})
	default:
		release = r.hang(hung)
	}
	r.after(at - 2*time.Second)
	if took := r.drained(); took > grace+5*time.Second {
		t.Errorf("the drain took %v", took)
	}
	over := time.Now()
	want(t, "outcomes", len(r.verdicts()), 15)
	release()
	r.silent(over)
}

// The same if calls do not even end with their contexts: then Run cannot wait for
// them for ever either.
func TestDrain_HandlerIgnoresItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{cfg: steady(), handler: ignores(100 * time.Second)})
		r.q.Send("a")
		r.run()
		r.after(5 * time.Second)
		took := r.drained()
		want(t, "time", took > 25*time.Second && took <= 27*time.Second, true)
		want(t, "visible: its handler may still be at it", r.q.Visible(), 0)
		r.silent(time.Now())
	})
}

// Abort cuts a drain short, or is one without grace.
func TestAbort(t *testing.T) {
	t.Parallel()
	for _, draining := range []bool{false, true} {
		for name, c := range map[string]struct {
			h    consumer.HandlerFunc
			most time.Duration
		}{"heeds": {takes(500 * time.Second), 200 * time.Millisecond}, "ignores": {ignores(500 * time.Second), 1200 * time.Millisecond}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, setup{cfg: steady(), handler: c.h})
					r.q.Send(bodies(5)...)
					r.run()
					r.after(5 * time.Second)
					if draining {
						r.stop()
						r.after(3 * time.Second)
						want(t, "healthy while it drains", r.p.Healthy(), nil)
					}
					began := time.Now()
					r.p.Abort()
					if err := <-r.done; err != nil {
						t.Error(err)
					}
					if took := time.Since(began); took > c.most {
						t.Errorf("took %v", took)
					}
					want(t, "visible", r.q.Visible(), map[string]int{"heeds": 5}[name])
					r.silent(time.Now())
				})
			})
		}
	}
}

// All slots held by handlers that ignore their contexts: Run drains, and says so.
func TestStuck_RunReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := steady()
		cfg.Concurrency = 2
		r := newRig(t, setup{cfg: cfg, handler: ignores(time.Hour), poller: poller.Config{MaxHold: 40 * time.Second}})
		r.q.Send(bodies(5)...)
		r.run()
		err := <-r.done
		if !errors.Is(err, consumer.ErrStuck) {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(r.began); took > 60*time.Second {
			t.Errorf("after %v", took)
		}
		over := time.Now()
		want(t, "healthy", r.p.Healthy() != nil, true)
		want(t, "visible", r.q.Visible(), 5) // three were given back, two had lapsed
		r.silent(over)
		time.Sleep(time.Hour)
	})
}

// No call is left behind that would come later, also when the calls themselves
// end late.
func TestDrain_CallsThatAreDeafToTheirContexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{cfg: steady(), handler: takes(time.Hour), over: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				res, err := next.RoundTrip(req)
				if actionOf(req) != "ReceiveMessage" {
					time.Sleep(2 * time.Second)
				}
				return res, err
			})
		}})
		r.q.Send(bodies(15)...)
		r.run()
		r.after(12 * time.Second)
		if took := r.drained(); took > 30*time.Second {
			t.Errorf("took %v", took)
		}
		r.silent(time.Now())
	})
}
