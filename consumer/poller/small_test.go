package poller_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/retry"
)

// With room for fewer than ten a delete does not wait for others that cannot come.
func TestDelete_WaitsForNoMoreThanThereIsRoomFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{cfg: consumer.Config{Concurrency: 2}, poller: poller.Config{Prefetch: -1}})
		r.q.Send(bodies(100)...)
		r.run()
		time.Sleep(time.Second) // a linger of 100 ms for each pair would be five
		want(t, "left", r.q.Len(), 0)
		want(t, "deletes", r.srv.Calls()["DeleteMessageBatch"], 50)
		r.drained()
	})
}

// A delay that could not be told in time is not told at all: somebody else may have
// the message by then, and an older receipt would take it from them.
func TestChange_IsNotMadeOnceTheMessageMayBeVisible(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{
			about: sqstest.QueueConfig{Visibility: 10 * time.Second},
			cfg:   consumer.Config{Retry: retry.Policy{Tries: 1}},
			handler: func(context.Context, *consumer.Message) error {
				return retry.After(time.Hour, errors.New("busy"))
			},
		})
		r.srv.Inject(sqstest.Fault{Action: "ChangeMessageVisibilityBatch", Times: -1, Delay: time.Minute})
		r.q.Send("a")
		r.run()
		time.Sleep(30 * time.Second)
		for _, call := range r.srv.Log() {
			if call.Action == "ChangeMessageVisibilityBatch" && call.Code == "" && call.Done {
				t.Errorf("changed at %v", call.Time)
			}
		}
		if n := len(r.verdicts()["a"]); n < 2 {
			t.Errorf("delivered %d times in 30 s, want it back after its visibility each time", n)
		}
		r.drained()
	})
}
