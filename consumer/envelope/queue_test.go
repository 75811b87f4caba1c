package envelope_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/envelope"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
	"github.com/ackwise/ackwise/retry"
)

// drain runs a handler in a Lambda function on a queue until that is quiet.
func drain(t *testing.T, server *sqstest.Server, queue *sqstest.Queue, h consumer.Handler, cfg consumer.Config) {
	t.Helper()
	c, err := consumer.New(h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	function, err := lambdasqs.New(c, lambdasqs.Config{SQS: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{Client: server.Client(), QueueURL: queue.URL(), Handler: function})
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// What is parked is the message as it came, envelope included, so that it can go
// through the same consumer again; the handler inside knows its attempts, and finds
// out that it has a parked copy.
func TestSNS_ParkedInItsEnvelope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := sqstest.NewServer(sqstest.Config{})
		defer server.Close()
		orders, err := server.CreateQueue("orders", sqstest.QueueConfig{})
		if err != nil {
			t.Fatal(err)
		}
		dead, err := server.CreateQueue("orders-dlq", sqstest.QueueConfig{})
		if err != nil {
			t.Fatal(err)
		}
		guard, err := idempotency.New(memstore.New(), idempotency.Config{})
		if err != nil {
			t.Fatal(err)
		}
		cfg := steady()
		cfg.Retry.Tries = 1
		cfg.Idempotency, cfg.Redelivery.MaxAttempts = guard, 3
		cfg.DeadLetter = dlq.New(server.Client(), dead.URL())

		type seen struct{ N, Limit int }
		var attempts []seen
		ids := make(map[string]string) // by queue
		h := envelope.SNS(consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
			n, limit := m.Attempt()
			attempts, ids[m.QueueARN] = append(attempts, seen{n, limit}), m.OriginalID()
			if m.QueueARN == orders.ARN() {
				return errors.New("declined")
			}
			return nil
		}))
		orders.Send(written)
		drain(t, server, orders, h, cfg)
		want(t, "attempts", attempts, []seen{{1, 3}, {2, 3}, {3, 3}})
		parked := dead.Messages()
		if len(parked) != 1 || orders.Len() != 0 || parked[0].Body != written {
			t.Fatalf("%d left, parked: %+v", orders.Len(), parked)
		}

		// The same consumer on the dead-letter queue, as after a redrive.
		first := ids[orders.ARN()]
		cfg.DeadLetter = nil
		drain(t, server, dead, h, cfg)
		if again := ids[dead.ARN()]; first == "" || again != first || dead.Len() != 0 {
			t.Errorf("original id was %q and is %q, %d left", first, again, dead.Len())
		}
	})
}

// Each try unwraps again, and the handler's own limits hold inside.
func TestSNS_TriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		h := envelope.SNS(consumer.JSON(func(ctx context.Context, _ order, m *consumer.Message) error {
			calls++
			if _, ok := envelope.NotificationFrom(ctx); !ok || m.Body != `{"id":"o-7"}` {
				return retry.Permanent(errors.New("not unwrapped"))
			}
			if calls < 3 {
				return errors.New("sick")
			}
			return nil
		}))
		outcomes, reported := invoke(t, h, steady(), notification(`{"id":"o-7"}`).String(), notification(`{"id":7}`).String())
		want(t, "outcomes", outcomes, []string{"m-1 done, 3 tries", "m-2 rejected, 1 tries"})
		want(t, "reported", reported, "m-2")
	})
}
