package poller_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
)

// pair is two pollers on one queue, each as in a process of its own, with one store
// between them. The second one starts when the first has its message.
func pair(t *testing.T, first, second consumer.HandlerFunc) (a, b *rig) {
	t.Helper()
	st := memstore.New()
	guarded := func() consumer.Config {
		g, err := idempotency.New(st, idempotency.Config{Lease: 25 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		cfg := alone()
		cfg.Idempotency = g
		return cfg
	}
	srv := sqstest.NewServer(sqstest.Config{})
	app := func(id string) *sqs.Client { return srv.Client(func(o *sqs.Options) { o.AppID = id }) }
	a = newRig(t, setup{srv: srv, cfg: guarded(), handler: first, poller: poller.Config{SQS: app("a"), Prefetch: -1}})
	b = newRig(t, setup{srv: srv, cfg: guarded(), handler: second, poller: poller.Config{SQS: app("b"), Prefetch: -1}})
	a.q.Send("x")
	a.run()
	a.after(time.Second)
	b.run()
	return a, b
}

// A process that cannot extend any more is cancelled before another one begins, and
// what it says after that is not heard.
func TestTwoPollers_ALostLeaseEndsBeforeTheNextBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended, began time.Duration
		start := time.Now()
		a, b := pair(t, func(ctx context.Context, _ *consumer.Message) error {
			<-ctx.Done()
			if ended == 0 {
				ended = time.Since(start)
			}
			return ctx.Err()
		}, func(context.Context, *consumer.Message) error {
			began = time.Since(start)
			return nil
		})
		for _, action := range []string{"ChangeMessageVisibilityBatch", "ReceiveMessage"} { // or it might get the message again, and again
			a.srv.Inject(sqstest.Fault{Action: action, Caller: "a", Err: sqstest.AccessDenied(), Times: always})
		}
		a.after(5 * time.Minute)
		want(t, "end of the first", ended, 30*time.Second)
		if began < ended {
			t.Errorf("the second began at %v", began)
		}
		want(t, "verdicts of the first", a.verdicts()["x"], []string{"retry"})
		want(t, "done by the second", counts(b.verdicts()["x"])["done"], 1)
		want(t, "left", a.q.Len(), 0)
		a.drained()
		b.drained()
	})
}

// A second delivery, which SQS may always make, meets the claim of the first, which
// is renewed for as long as it takes: it is put off, and in the end a duplicate.
func TestTwoPollers_ASecondDeliveryWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs tower
		long := func(context.Context, *consumer.Message) error { runs.enter(); time.Sleep(3 * time.Minute); return nil }
		a, b := pair(t, long, long)
		a.q.Redeliver(a.q.Messages()[0].ID)
		a.after(10 * time.Minute)
		want(t, "runs", runs.all.Load(), 1)
		n := counts(append(a.verdicts()["x"], b.verdicts()["x"]...))
		want(t, "done", n["done"], 1)
		if n["deferred"] == 0 || n["retry"] > 0 || n["rejected"] > 0 {
			t.Errorf("verdicts: %v", n)
		}
		want(t, "left", a.q.Len(), 0)
		a.drained()
		b.drained()
	})
}
