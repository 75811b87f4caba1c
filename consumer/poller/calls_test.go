package poller_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// A thousand messages at full batches cost a hundred receives, beside the polls
// that find nothing, and a hundred deletes.
func TestCalls_AThousandMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{})
		r.q.Send(bodies(1000)...)
		r.run()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		t.Log(r.srv.Calls())
		full := 0
		for _, call := range r.srv.Log() {
			if call.Action == "ReceiveMessage" && len(call.Entries) > 0 {
				full++
			}
		}
		want(t, "receives that brought something", full, 100)
		want(t, "deletes", r.srv.Calls()["DeleteMessageBatch"], 100)
		want(t, "left", r.q.Len(), 0)
		want(t, "outcomes", len(r.verdicts()), 1000)
		r.drained()
		if calls := r.srv.Calls(); calls["ReceiveMessage"] > 102 || calls["ChangeMessageVisibilityBatch"] > 0 {
			t.Errorf("calls: %v", calls)
		}
	})
}

// One round of the heartbeat for 25 messages in hand is three calls.
func TestCalls_OneRoundOfTheHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{
			about:   sqstest.QueueConfig{Visibility: 30 * time.Second},
			cfg:     consumer.Config{Concurrency: 15},
			poller:  poller.Config{Prefetch: 15},
			handler: func(context.Context, *consumer.Message) error { time.Sleep(time.Minute); return nil },
		})
		r.q.Send(bodies(25)...)
		r.run()
		time.Sleep(9 * time.Second)
		want(t, "in flight", r.q.InFlight(), 25)
		want(t, "calls before the first beat", r.srv.Calls()["ChangeMessageVisibilityBatch"], 0)
		time.Sleep(2 * time.Second)
		want(t, "calls after it", r.srv.Calls()["ChangeMessageVisibilityBatch"], 3)
		time.Sleep(2 * time.Minute)
		want(t, "left", r.q.Len(), 0)
		r.drained()
	})
}

// Of 200 messages one in ten takes a minute, and ten run at once: two minutes are
// what there is to do, and a barrier behind each ten would make it twenty.
func TestHeadOfLine_SlowMessagesHoldBackNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{handler: func(_ context.Context, m *consumer.Message) error {
			if m.Body[len(m.Body)-1] == '7' {
				time.Sleep(time.Minute)
			}
			return nil
		}})
		r.q.Send(bodies(200)...)
		r.run()
		time.Sleep(3 * time.Minute)
		want(t, "left", r.q.Len(), 0)
		want(t, "outcomes", len(r.verdicts()), 200)
		r.drained()
	})
}
