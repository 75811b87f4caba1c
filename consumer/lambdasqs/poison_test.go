package lambdasqs_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// A message that always fails costs its group time, and nothing else: what waits
// behind it does not use up its receives on it. Five receives later the poison
// is in the dead-letter queue, alone, and the others are done, in order.
func TestFIFO_PoisonReachesTheDeadLetterQueueAlone(t *testing.T) {
	t.Parallel()
	for name, poison := range map[string]func(context.Context) error{
		"error": fails, "panic": func(context.Context) error { panic("poison") },
	} {
		for _, backoff := range []bool{false, true} { // by the default, or by constant ten seconds
			t.Run(fmt.Sprintf("%s, default backoff=%t", name, backoff), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, "dead.fifo", sqstest.QueueConfig{})
					dead := r.queue
					r.queue = r.create("orders.fifo", sqstest.QueueConfig{Visibility: 3 * time.Minute, DeadLetter: dead, MaxReceives: 5})
					healthy := []string{"g1", "g2", "g3", "g4", "g5", "g6", "g7", "g8", "g9"}
					r.send(append([]string{"g-poison"}, healthy...)...)
					var seen ran
					cfg := steady(1)
					if backoff {
						cfg.Redelivery.Backoff = nil
					}
					cfg.Middleware = []consumer.Middleware{seen.wrap}
					r.drain(newAdapter(t, byBody{"g-poison": poison}, cfg, lambdasqs.Config{SQS: r.server.Client()}))
					var left []string
					for _, m := range dead.Messages() {
						left = append(left, m.Body)
					}
					want(t, "dead-letter queue", left, []string{"g-poison"})
					want(t, "queue", r.queue.Len(), 0)
					want(t, "runs", seen.list, append([]string{"g-poison", "g-poison", "g-poison", "g-poison", "g-poison"}, healthy...))
				})
			})
		}
	}
}

// A follower is received with its head every second time at the most: having been
// hidden for longer, it lets the head come alone once, and is visible when the
// head comes back from that.
func TestFIFO_FollowersUseUpHalfOfTheirHeadsReceives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders.fifo", sqstest.QueueConfig{Visibility: 3 * time.Minute})
		r.send("a1", "a2")
		receives := map[string]int{}
		h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
			receives[m.Body] = m.ReceiveCount
			if m.Body == "a1" && m.ReceiveCount < 20 {
				return errTest
			}
			return nil
		})
		r.drain(newAdapter(t, h, steady(1), lambdasqs.Config{SQS: r.server.Client()}))
		want(t, "receives", receives, map[string]int{"a1": 20, "a2": 11})
	})
}

// Parking on the queue itself fails, so the message does not go round: it stays
// where it is until its receives are used up.
func TestPark_OnTheQueueItselfDoesNotGoRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen ran
		r, dead := redriving(t)
		r.send("x")
		cfg := steady(1)
		cfg.Middleware = []consumer.Middleware{seen.wrap}
		cfg.DeadLetter = dlq.New(r.server.Client(), r.queue.URL())
		r.drain(newAdapter(t, byBody{"x": permanent}, cfg, lambdasqs.Config{SQS: r.server.Client()}))
		want(t, "runs", len(seen.list), 10)
		want(t, "dead letters", dead.Len(), 1)
		want(t, "sends", r.server.Calls()["SendMessage"], 0)
	})
}
