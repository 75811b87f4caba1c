package poller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// VT-03: each extension asks for the visibility and no more, and what is in hand
// when the process dies is free again within one visibility.
func TestHeartbeat_VT03_ExtensionsAreNotAdditive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{
			handler: ignores(70 * time.Second),
			poller:  poller.Config{Visibility: time.Minute, Beat: 20 * time.Second},
		})
		r.q.Send("a")
		r.run()
		extensions := 0
		for range 69 {
			r.after(time.Second)
			if m := r.q.Messages(); len(m) == 1 && time.Until(m[0].VisibleAt) > time.Minute {
				t.Errorf("hidden for %v", time.Until(m[0].VisibleAt))
			}
		}
		for _, c := range r.srv.Log() {
			if c.Action == "ChangeMessageVisibilityBatch" {
				extensions++
				want(t, "extension", c.Entries[0].Visibility, time.Minute)
			}
		}
		want(t, "extensions", extensions, 3)
		r.after(time.Minute)
		want(t, "left", r.q.Len(), 0)
		r.drained()
	})
}

// VT-05: the visibility is not guessed. It is asked for, told with each receive,
// and kept with room for a beat to fail.
func TestHeartbeat_VT05_TheQueuesOwnVisibility(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ own, config, used time.Duration }{
		{own: 300 * time.Second, used: 300 * time.Second},
		{own: 300 * time.Second, config: 40 * time.Second, used: 40 * time.Second},
		{own: 5 * time.Second, used: 10 * time.Second},
		{own: -1, used: 10 * time.Second}, // a timeout of 0
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, setup{
					about:   sqstest.QueueConfig{Visibility: c.own},
					handler: takes(10 * time.Minute),
					poller:  poller.Config{Visibility: c.config},
				})
				r.q.Send("a")
				r.run()
				r.after(11 * time.Minute)
				in, ok := r.srv.Log()[1].Input.(*sqs.ReceiveMessageInput)
				want(t, "a receive", ok, true)
				want(t, "visibility asked for", time.Duration(in.VisibilityTimeout)*time.Second, c.used)
				beats := r.calls("ChangeMessageVisibilityBatch")
				if len(beats) == 0 || beats[0] >= c.used/2 {
					t.Errorf("beats at %v", beats)
				}
				for _, call := range r.srv.Log() {
					if call.Action == "ChangeMessageVisibilityBatch" {
						want(t, "extension", call.Entries[0].Visibility, c.used)
					}
				}
				want(t, "verdicts", r.verdicts(), map[string][]string{"a": {"done"}})
				r.drained()
			})
		})
	}
}

// VT-06: messages that wait their turn do not expire: each is received once and
// run once.
func TestHeartbeat_VT06_WaitingMessagesDoNotExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs []string
		cfg := steady()
		cfg.Concurrency = 1
		r := newRig(t, setup{cfg: cfg, handler: func(_ context.Context, m *consumer.Message) error {
			runs = append(runs, m.Body)
			want(t, "receives of "+m.Body, m.ReceiveCount, 1)
			time.Sleep(5 * time.Second)
			return nil
		}, poller: poller.Config{Prefetch: 9}})
		r.q.Send(bodies(10)...)
		r.run()
		r.after(40 * time.Second)
		for body, n := range r.receives() {
			want(t, "receives of "+body, n, 1)
		}
		r.after(time.Minute)
		want(t, "runs", counts(runs), counts(bodies(10)))
		want(t, "left", r.q.Len(), 0)
		r.drained()
	})
}

// alone is for a poller that has one message in hand and does not receive meanwhile:
// what is delivered again while it runs here would join it.
func alone() consumer.Config {
	cfg := steady()
	cfg.Concurrency = 1
	return cfg
}

// VT-10: a handler that hangs is cut off after MaxHold, there is an event for it,
// and the message is delivered again.
func TestHeartbeat_VT10_HungHandlerIsNotKeptForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var causes []error
		var starts []time.Duration
		began := time.Now()
		r := newRig(t, setup{
			cfg:    alone(),
			poller: poller.Config{MaxHold: 40 * time.Second, Prefetch: -1},
			handler: func(ctx context.Context, m *consumer.Message) error {
				starts = append(starts, time.Since(began))
				if m.ReceiveCount > 1 {
					return nil
				}
				<-ctx.Done()
				causes = append(causes, context.Cause(ctx))
				return ctx.Err()
			},
		})
		r.q.Send("a")
		r.run()
		r.after(10 * time.Minute)
		want(t, "starts", starts, []time.Duration{0, 40 * time.Second})
		if len(causes) != 1 || !errors.Is(causes[0], consumer.ErrLeaseLost) {
			t.Errorf("causes: %v", causes)
		}
		want(t, "verdicts", r.verdicts(), map[string][]string{"a": {"retry", "done"}})
		r.drained()
	})
}

// VT-07: of a batch of extensions two fail, one without a text. What may pass is tried
// again at once, what may not with the next beat, and none of the others.
func TestHeartbeat_VT07_HalfABatchOfExtensionsFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{handler: takes(35 * time.Second)})
		remove := r.srv.Inject(sqstest.Fault{
			Action: "ChangeMessageVisibilityBatch", Times: always,
			Entries: []sqstest.EntryFault{{Index: 3, Code: "InternalError"}, {Index: 7, Code: "Odd", Message: new("no"), SenderFault: true}},
		})
		r.q.Send(bodies(10)...)
		r.run()
		r.after(11 * time.Second)
		remove()
		want(t, "lines", len(r.logged("visibility not extended", "messages=1", "Odd: no")), 1)
		r.after(time.Minute)
		want(t, "left", r.q.Len(), 0)
		want(t, "outcomes", len(r.verdicts()), 10)
		r.drained()
		for _, c := range r.srv.Log() {
			ids := map[string]bool{}
			for _, e := range c.Entries {
				ids[e.ID] = true
			}
			if c.Action == "ChangeMessageVisibilityBatch" && (len(ids) != len(c.Entries) || len(ids) > 10) {
				t.Errorf("entries: %+v", c.Entries)
			}
		}
	})
}

// Extensions that fail for as long as a visibility: the handler is cut off when
// the message becomes visible to others, and not before; and the poller goes on.
func TestHeartbeat_FailsForAVisibility(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]sqstest.Fault{
		"throttled": {Err: sqstest.Throttled()},
		"500":       {Err: sqstest.InternalError()},
		"hung":      {Delay: 100 * time.Hour},
		"denied":    {Err: sqstest.AccessDenied()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ends []time.Duration
				began := time.Now()
				r := newRig(t, setup{cfg: alone(), poller: poller.Config{Prefetch: -1}, handler: func(ctx context.Context, m *consumer.Message) error {
					err := takes(50*time.Second)(ctx, m)
					ends = append(ends, time.Since(began))
					return err
				}})
				f.Action, f.Times = "ChangeMessageVisibilityBatch", always
				remove := r.srv.Inject(f)
				r.q.Send("a")
				r.run()
				r.after(35 * time.Second)
				remove()
				r.after(2 * time.Minute)
				want(t, "ends", ends, []time.Duration{30 * time.Second, 80 * time.Second})
				want(t, "verdicts", r.verdicts(), map[string][]string{"a": {"retry", "done"}})
				want(t, "left", r.q.Len(), 0)
				r.drained()
			})
		})
	}
}
