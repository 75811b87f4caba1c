package lambdasqs_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
)

// The first invocation dies with the message in hand. What SQS delivers before
// its lease has ended is put off to that time, to the second; then it runs.
func TestCase_ID01_CrashThroughTheMapping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders", sqstest.QueueConfig{Visibility: 20 * time.Second})
		st, begin := memstore.New(), time.Now()
		var ran []time.Duration
		dies := byBody{"a": func(context.Context) error { time.Sleep(time.Hour); return nil }}
		records := func() []byte { return eventOf(t, r.receive(1)...) }
		id := r.queue.Send("a")[0]
		a := newAdapter(t, dies, budgeted(t, st, 0), lambdasqs.Config{SQS: r.server.Client()})
		invoke(t, a, 30*time.Second, records())
		rec, _ := st.Get(r.queue.ARN() + "#id:" + id)
		want(t, "lease", rec.Lease.Sub(begin), 31*time.Second)
		h := byBody{"a": func(context.Context) error { ran = append(ran, time.Since(begin)); return nil }}
		a = newAdapter(t, h, budgeted(t, st, 0), lambdasqs.Config{SQS: r.server.Client()})
		for try := 0; len(ran) == 0 && try < 5; try++ {
			invoke(t, a, 10*time.Second, records())
		}
		if len(ran) != 1 || ran[0] <= 32*time.Second || ran[0] > 34*time.Second {
			t.Errorf("it ran at %v; the lease can be taken over after 32 s", ran)
		}
		rec, _ = st.Get(r.queue.ARN() + "#id:" + id)
		want(t, "status", rec.Status, idempotency.Completed)
		time.Sleep(2 * time.Hour)
	})
}

// The work is done, and what fails is the mapping's delete. The message comes
// again, is not run and not reported, and so deleted with its new handle.
func TestCase_ID14_FinishedDuplicateIsNotReported(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"orders", "orders.fifo"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, name, sqstest.QueueConfig{})
				runs := new(atomic.Int64)
				r.send("a", "b", "c")
				r.server.Inject(sqstest.Fault{
					Action: "DeleteMessageBatch", Caller: sqstest.EventSourceCaller, Times: 3,
					Entries: []sqstest.EntryFault{{Index: sqstest.AllEntries}},
				})
				r.drain(newAdapter(t, counting(runs, func(context.Context) error { return nil }),
					budgeted(t, memstore.New(), 0), lambdasqs.Config{SQS: r.server.Client()}))
				want(t, "runs", runs.Load(), 3)
				want(t, "left in the queue", r.queue.Len(), 0)
				want(t, "calls of the library", r.server.Calls().Total(), 0)
			})
		})
	}
}

// A message that SQS hands to two invocations at once runs in one of them. The
// other one reports it, and the delete of the first takes it off the queue.
func TestCase_ID14_DeliveredTwiceAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders", sqstest.QueueConfig{})
		runs := new(atomic.Int64)
		r.queue.Send("a")
		r.server.Inject(sqstest.Fault{Action: "ReceiveMessage", Twice: true})
		r.drain(newAdapter(t, counting(runs, sleeps(5*time.Second)), budgeted(t, memstore.New(), 0), lambdasqs.Config{SQS: r.server.Client()}))
		want(t, "runs", runs.Load(), 1)
		want(t, "left in the queue", r.queue.Len(), 0)
	})
}
