package poller_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// PO-05: nothing is returned that was not asked for, the receive count included.
func TestReceive_PO05_AsksForAllAttributes(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{"orders", "orders.fifo"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, setup{queue: queue})
			r.run()
			r.after(time.Minute)
			r.drained()
			ids := map[string]bool{}
			for _, c := range r.srv.Log() {
				in, ok := c.Input.(*sqs.ReceiveMessageInput)
				if !ok {
					continue
				}
				want(t, "system attributes", in.MessageSystemAttributeNames, []types.MessageSystemAttributeName{"All"})
				want(t, "attributes", in.MessageAttributeNames, []string{"All"})
				want(t, "messages", in.MaxNumberOfMessages, 10)
				want(t, "wait", in.WaitTimeSeconds, 20)
				want(t, "visibility", in.VisibilityTimeout, 30)
				want(t, "attempt id", in.ReceiveRequestAttemptId != nil, queue == "orders.fifo")
				if id := in.ReceiveRequestAttemptId; id != nil {
					want(t, "an attempt id used before", ids[*id], false)
					ids[*id] = true
				}
			}
		})
	}
}

// EV-05, EV-12 and more: a message is the same as in the Lambda host, attributes
// decoded once, and it knows where it came from.
func TestReceive_EV05_EV12_MessageAsTheHandlerSeesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got *consumer.Message
		var n, most int
		r := newRig(t, setup{queue: "orders.fifo", handler: func(_ context.Context, m *consumer.Message) error {
			got = m
			n, most = m.Attempt()
			return nil
		}})
		sent := time.Now()
		id, err := r.q.SendMessage(sqstest.Message{
			Body: "<&> \u2028 \t ", GroupID: "g", DeduplicationID: "d", TraceHeader: "Root=1",
			Attributes: map[string]types.MessageAttributeValue{
				"bin": {DataType: new("Binary.x"), BinaryValue: []byte{0x31, 0x31, 0x30, 0x30}},
				"str": {DataType: new("String"), StringValue: new("é")},
				"num": {DataType: new("Number"), StringValue: new("1.50")},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		r.run()
		r.after(time.Second)
		r.drained()
		system := got.System
		got.System = nil
		if d := cmp.Diff(&consumer.Message{
			ID: id, Body: "<&> \u2028 \t ", GroupID: "g", DeduplicationID: "d", QueueARN: r.q.ARN(), ReceiveCount: 1,
			SentAt: sent.UTC(), FirstReceivedAt: sent.UTC(),
			Attributes: map[string]consumer.Attribute{
				"bin": {DataType: "Binary.x", BinaryValue: []byte("1100")},
				"str": {DataType: "String", StringValue: "é"},
				"num": {DataType: "Number", StringValue: "1.50"},
			},
		}, got, cmp.FilterPath(func(p cmp.Path) bool {
			return p.Last().String() == ".attempt" || p.Last().String() == ".maxAttempts"
		}, cmp.Ignore()), cmp.AllowUnexported(consumer.Message{})); d != "" {
			t.Error(d)
		}
		for _, name := range []string{"SenderId", "SequenceNumber", "AWSTraceHeader", "ApproximateReceiveCount"} {
			if system[name] == "" {
				t.Errorf("no %s", name)
			}
		}
		want(t, "attempt", []int{n, most}, []int{1, 0})
	})
}

// Without a store an attempt is a receive, and the queue's redrive policy the limit;
// with one they are the guard's.
func TestReceive_AttemptKnowsTheQueuesLimit(t *testing.T) {
	t.Parallel()
	for _, stored := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var attempts [][2]int
			srv := sqstest.NewServer(sqstest.Config{})
			defer srv.Close()
			dead, err := srv.CreateQueue("dead", sqstest.QueueConfig{})
			if err != nil {
				t.Fatal(err)
			}
			cfg := steady()
			if stored {
				cfg, _ = guarded(t, cfg, 0)
				cfg.Redelivery.MaxAttempts = 7
			}
			s := setup{srv: srv, cfg: cfg, about: sqstest.QueueConfig{DeadLetter: dead, MaxReceives: 50}}
			s.handler = func(_ context.Context, m *consumer.Message) error {
				n, most := m.Attempt()
				attempts = append(attempts, [2]int{n, most})
				if n < 3 {
					return errNo
				}
				return nil
			}
			r := newRig(t, s)
			r.q.Send("a")
			r.run()
			r.after(time.Minute)
			limit := 50
			if stored {
				limit = 7
			}
			want(t, "attempts", attempts, [][2]int{{1, limit}, {2, limit}, {3, limit}})
			r.drained()
		})
	}
}

// One body that does not have its checksum costs one message, not the ten that
// came with it.
func TestReceive_OneBadChecksumCostsOneMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var ran []string
		r := newRig(t, setup{cfg: steady(), over: damage, handler: func(_ context.Context, m *consumer.Message) error {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, m.Body)
			return nil
		}})
		r.q.Send(bodies(10)...)
		r.run()
		r.after(2 * time.Second)
		slices.Sort(ran)
		want(t, "run", ran, []string{"0", "1", "2", "3", "4", "6", "7", "8", "9"})
		want(t, "the damaged one", r.verdicts()["5?"], []string{"rejected"})
		want(t, "left", r.q.Len(), 1)
		r.after(time.Minute) // it is undamaged when it comes again
		want(t, "left", r.q.Len(), 0)
		want(t, "the damaged one again", r.verdicts()["5"], []string{"done"})
		r.drained()
	})
}

// PO-06: never more in hand than can be worked on, and what was said to be taken
// in advance; at any time.
func TestReceive_PO06_NeverMoreThanItCanWorkOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ concurrency, prefetch, most int }{{2, 0, 12}, {2, 3, 5}, {2, -1, 2}, {2, 40, 42}, {15, 0, 25}} {
		synctest.Test(t, func(t *testing.T) {
			cfg := steady()
			cfg.Concurrency = c.concurrency
			var handlers tower
			r := newRig(t, setup{cfg: cfg, poller: poller.Config{Prefetch: c.prefetch}, handler: func(_ context.Context, m *consumer.Message) error {
				handlers.enter()
				defer handlers.leave()
				time.Sleep(7 * time.Second)
				return nil
			}})
			r.srv.Inject(sqstest.Fault{Delay: 10 * time.Millisecond, Times: always})
			r.q.Send(bodies(100)...)
			r.run()
			most := 0
			for r.q.Len() > 0 && time.Since(r.began) < time.Hour {
				time.Sleep(37 * time.Millisecond)
				most = max(most, r.q.InFlight())
			}
			want(t, "most in flight", most, c.most)
			want(t, "most handlers", handlers.most.Load(), int64(c.concurrency))
			want(t, "runs", handlers.all.Load(), 100)
			for body, v := range r.verdicts() {
				want(t, "verdicts of "+body, v, []string{"done"})
			}
			r.drained()
		})
	}
}

// Without a prefetch, or with a small one, there is no barrier: while one message
// is slow the other slots are filled as they fall free.
func TestReceive_SmallPrefetchIsNoBarrier(t *testing.T) {
	t.Parallel()
	for _, prefetch := range []int{-1, 1, 3, 10} {
		synctest.Test(t, func(t *testing.T) {
			cfg := steady()
			cfg.Concurrency = 4
			r := newRig(t, setup{cfg: cfg, poller: poller.Config{Prefetch: prefetch}, handler: func(_ context.Context, m *consumer.Message) error {
				d := time.Second
				if m.Body == "0" {
					d = 4 * time.Minute
				}
				time.Sleep(d)
				return nil
			}})
			r.q.Send(bodies(91)...)
			r.run()
			// Three slots, 90 messages of a second each, and the linger of the deletes
			// where no other message is in hand.
			r.after(34 * time.Second)
			want(t, "left", r.q.Len(), 1)
			r.after(4 * time.Minute)
			want(t, "left", r.q.Len(), 0)
			r.drained()
		})
	}
}
