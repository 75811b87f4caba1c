package poller_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// staggered is a handler that takes 9 ms for each number in the body.
func staggered(_ context.Context, m *consumer.Message) error {
	n, _ := strconv.Atoi(m.Body)
	time.Sleep(time.Duration(n) * 9 * time.Millisecond)
	return nil
}

// Deletes go by tens: at once when there are ten, and after a tenth of a second
// when there are fewer.
func TestDelete_Coalesces(t *testing.T) {
	t.Parallel()
	for n, end := range map[int]time.Duration{10: 81 * time.Millisecond, 7: 100 * time.Millisecond, 1: 100 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, setup{handler: staggered})
			r.q.Send(bodies(n)...)
			r.run()
			r.after(time.Second)
			want(t, "deletes", r.calls("DeleteMessageBatch"), []time.Duration{end})
			want(t, "left", r.q.Len(), 0)
			r.drained()
		})
	}
}

// On a FIFO queue the next of the group waits for a delete, so it does not linger.
func TestDelete_OfAFIFOQueueDoesNotLinger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{queue: "orders.fifo"})
		r.q.SendGroup("g", bodies(20)...)
		r.run()
		r.after(10 * time.Millisecond)
		want(t, "left", r.q.Len(), 0)
		r.drained()
	})
}

// An entry that SQS fails to delete for the moment is tried again, one that it
// refuses is reported, and the others have nothing to do with it.
func TestDelete_EntryByEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var unconfirmed []string
		var runs tower
		r := newRig(t, setup{cfg: steady(), handler: func(context.Context, *consumer.Message) error { runs.enter(); return nil }})
		r.also = func(e consumer.Event) {
			if e.Kind == consumer.EventUnconfirmed {
				unconfirmed = append(unconfirmed, e.Message.Body+": "+e.Err.Error())
			}
		}
		r.srv.Inject(sqstest.Fault{Action: "DeleteMessageBatch", Entries: []sqstest.EntryFault{
			{Index: 2, Code: "InternalError"}, {Index: 5, Code: "Odd", Message: new("no"), SenderFault: true},
		}})
		ids := r.q.Send(bodies(10)...)
		r.run()
		r.after(20 * time.Second)
		want(t, "left", r.q.Len(), 1)
		want(t, "entries deleted again", len(r.srv.Log()[lastOf(r, "DeleteMessageBatch")].Entries), 1)
		refused := r.q.Messages()[0]
		want(t, "one of ours", contains(" "+join(ids)+" ", " "+refused.ID+" "), true)
		want(t, "unconfirmed", unconfirmed, []string{refused.Body + ": Odd: no"})
		r.after(time.Minute) // it is delivered again: there is no store
		want(t, "left", r.q.Len(), 0)
		want(t, "runs", runs.all.Load(), 11)
		r.drained()
	})
}

// One that has to be tried again and again does not keep those deleted with it.
func TestDelete_OneDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{})
		for _, f := range []sqstest.Fault{{Entries: []sqstest.EntryFault{{Index: 3, Code: "InternalError"}}}, {
			Entries: []sqstest.EntryFault{{Index: 0, Code: "InternalError"}}, Times: 3, // when it is by itself
		}} {
			f.Action = "DeleteMessageBatch"
			r.srv.Inject(f)
		}
		r.q.Send(bodies(10)...)
		r.run()
		r.after(time.Millisecond)
		want(t, "done at once", len(r.verdicts()), 9)
		r.after(25 * time.Second)
		want(t, "done in the end", len(r.verdicts()), 10)
		want(t, "deletes", len(r.calls("DeleteMessageBatch")), 5)
		want(t, "left", r.q.Len(), 0)
		r.drained()
	})
}

// A network that is down for a while when the work is done costs no second run.
func TestDelete_InsistsWhileTheNetworkIsDown(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{"orders", "orders.fifo"} {
		synctest.Test(t, func(t *testing.T) {
			var down atomic.Bool
			var runs tower
			r := newRig(t, setup{queue: queue, handler: func(context.Context, *consumer.Message) error { runs.enter(); return nil },
				over: func(next http.RoundTripper) http.RoundTripper {
					return roundTripper(func(req *http.Request) (*http.Response, error) {
						if down.Load() && actionOf(req) != "ReceiveMessage" {
							return nil, errors.New("connection refused")
						}
						return next.RoundTrip(req)
					})
				}})
			r.run()
			r.after(time.Second)
			down.Store(true)
			if queue == "orders" {
				r.q.Send(bodies(25)...)
			} else {
				r.q.SendGroup("g", bodies(5)...)
				r.q.SendGroup("h", bodies(20)...)
			}
			r.after(5 * time.Second)
			down.Store(false)
			r.after(10 * time.Second)
			want(t, "left", r.q.Len(), 0)
			want(t, "runs", runs.all.Load(), 25)
			want(t, "unconfirmed", r.events[consumer.EventUnconfirmed], 0)
			r.drained()
		})
	}
}

// The heartbeat keeps what is done until it is deleted.
func TestDelete_InsistsWhileTheMessageIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs tower
		r := newRig(t, setup{
			poller:  poller.Config{Visibility: 12 * time.Second},
			handler: func(context.Context, *consumer.Message) error { runs.enter(); time.Sleep(5 * time.Second); return nil },
		})
		remove := r.srv.Inject(sqstest.Fault{Action: "DeleteMessageBatch", Err: sqstest.InternalError(), Times: always})
		r.q.Send("a")
		r.run()
		r.after(10 * time.Second)
		remove()
		r.after(time.Minute)
		want(t, "left", r.q.Len(), 0)
		want(t, "runs", runs.all.Load(), 1)
		r.drained()
	})
}

// DU-03: a handler outlives its visibility on a FIFO queue, which refuses the
// delete then. That is logged, the poller goes on, and the next delivery is known
// for done work by the store.
func TestDelete_DU03_ExpiredHandleDoesNotKillThePump(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var runs []string
		cfg, _ := guarded(t, steady(), 0)
		cfg.Concurrency = 2
		s := setup{queue: "orders.fifo", cfg: cfg, poller: poller.Config{Prefetch: -1}}
		s.handler = func(ctx context.Context, m *consumer.Message) error {
			mu.Lock()
			runs = append(runs, m.GroupID+m.Body)
			mu.Unlock()
			if m.GroupID == "g" && m.Body == "0" {
				<-ctx.Done() // its lease is lost, and it finishes its work all the same
			}
			return nil
		}
		r := newRig(t, s)
		r.srv.Inject(sqstest.Fault{Action: "ChangeMessageVisibilityBatch", Err: sqstest.AccessDenied(), Times: 3})
		r.q.SendGroup("g", bodies(3)...)
		r.q.SendGroup("h", bodies(30)...)
		r.run()
		r.after(3 * time.Minute)
		want(t, "left", r.q.Len(), 0)
		want(t, "runs of the first", counts(runs)["g0"], 1)
		want(t, "runs", len(runs), 33)
		want(t, "lines", len(r.logged("it may be delivered again", "expired")), 1)
		verdicts := r.verdicts()["0"]
		want(t, "verdicts", counts(verdicts), map[string]int{"done": 2, "duplicate": 1})
		r.drained()
	})
}
