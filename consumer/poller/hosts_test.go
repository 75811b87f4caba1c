package poller_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
	"github.com/ackwise/ackwise/retry"
)

// seen is what became of one message, as far as both hosts have to agree.
type seen struct {
	Verdict        string
	Parked         bool
	Attempt, Tries int
	Delay          time.Duration
	Err            string
	Left           bool // the queue
	DeadLetters    int
}

// world is what a row of the table is run in.
type world struct {
	t     *testing.T
	srv   *sqstest.Server
	q     *sqstest.Queue
	guard *idempotency.Guard
	cfg   consumer.Config
}

// row is one outcome of a handler.
type row struct {
	name    string
	handler consumer.Handler
	prepare func(w *world)
	bodies  []string // default: one
	ready   func(w *world, ids []string)
	want    []string // the verdicts by message
}

func handled(err error) consumer.Handler {
	return consumer.HandlerFunc(func(context.Context, *consumer.Message) error { return err })
}

var errNo = errors.New("no")

func budget(n int) func(w *world) {
	return func(w *world) { w.cfg.Idempotency, w.cfg.Redelivery.MaxAttempts = w.guard, n }
}

func parking(w *world) { w.cfg.DeadLetter = dlq.New(w.srv.Client(), w.srv.Queue("dead").URL()) }

func keyed(w *world) { w.cfg.Idempotency, w.cfg.Key = w.guard, consumer.JSONField("key") }

// claimed is as if another worker had the key of the first message.
func claimed(w *world, ids []string) {
	_, err := w.guard.Claim(w.t.Context(), idempotency.Work{Namespace: w.q.ARN(), Kind: "id", Key: ids[0], Deadline: time.Now().Add(40 * time.Second)})
	if err != nil {
		w.t.Error(err)
	}
}

func hostRows() []row {
	decoded := consumer.JSON(func(context.Context, struct{ N int }, *consumer.Message) error { return nil })
	return []row{
		{name: "ok", handler: handled(nil), want: []string{"done"}},
		{name: "error", handler: handled(errNo), want: []string{"retry"}},
		{name: "error three times", handler: handled(errNo), prepare: func(w *world) {
			w.cfg.Retry = retry.Policy{Tries: 3, Backoff: retry.Constant(time.Second)}
		}, want: []string{"retry"}},
		{name: "canceled, of its own", handler: handled(context.Canceled), want: []string{"retry"}},
		{name: "panic", handler: consumer.HandlerFunc(func(context.Context, *consumer.Message) error { panic("boom") }), want: []string{"retry"}},
		{name: "goexit", handler: consumer.HandlerFunc(func(context.Context, *consumer.Message) error {
			runtime.Goexit()
			return nil
		}), want: []string{"retry"}},
		{name: "after", handler: handled(retry.After(90*time.Second, errNo)), want: []string{"retry"}},
		{name: "permanent", handler: handled(retry.Permanent(errNo)), want: []string{"rejected"}},
		{name: "permanent and parked", handler: handled(retry.Permanent(errNo)), prepare: parking, want: []string{"rejected"}},
		{name: "permanent, parking fails", handler: handled(retry.Permanent(errNo)), prepare: func(w *world) {
			parking(w)
			w.srv.Inject(sqstest.Fault{Action: "SendMessage", Err: sqstest.AccessDenied(), Times: always})
		}, want: []string{"rejected"}},
		{
			name: "body that does not decode", handler: decoded,
			bodies: []string{`{"N":1}`, `{"N":`, `{"N":"x"}`}, want: []string{"done", "rejected", "rejected"},
		},
		{name: "slow", handler: ignores(3 * time.Second), want: []string{"done"}},
		{name: "longer than a try may take", handler: takes(time.Hour), prepare: func(w *world) { w.cfg.TryTimeout = time.Second }, want: []string{"retry"}},
		{name: "too old at its next delivery", handler: handled(errNo), prepare: func(w *world) {
			w.cfg.Redelivery.MaxAge = 30 * time.Second
		}, want: []string{"rejected"}},
		{name: "all attempts used", handler: handled(errNo), prepare: budget(1), want: []string{"rejected"}},
		{name: "attempts left", handler: handled(errNo), prepare: budget(2), want: []string{"retry"}},
		{name: "duplicate", handler: handled(nil), prepare: keyed, bodies: []string{`{"key":"a"}`, `{"key":"a", "n":2}`}, want: []string{"done", "duplicate"}},
		{name: "no key where there must be one", handler: handled(nil), prepare: func(w *world) {
			w.cfg.Idempotency, w.cfg.Key = w.guard, consumer.Strict(consumer.JSONField("key"))
		}, want: []string{"rejected"}},
		{name: "held elsewhere", handler: handled(nil), prepare: budget(3), ready: claimed, want: []string{"deferred"}},
		{name: "another payload under the same key", handler: handled(nil), prepare: func(w *world) {
			keyed(w)
			g, err := idempotency.New(memstore.New(), idempotency.Config{Payload: idempotency.Field("n")})
			if err != nil {
				w.t.Fatal(err)
			}
			w.cfg.Idempotency = g
		}, bodies: []string{`{"key":"a","n":1}`, `{"key":"a","n":2}`}, want: []string{"done", "rejected"}},
		{name: "decided by a middleware", handler: handled(errNo), prepare: func(w *world) {
			w.cfg.Middleware = []consumer.Middleware{func(consumer.Handler) consumer.Handler { return handled(nil) }}
		}, want: []string{"done"}},
	}
}

// host runs a consumer on a queue for ten seconds.
type host func(w *world, c *consumer.Consumer)

func inLambda(w *world, c *consumer.Consumer) {
	a, err := lambdasqs.New(c, lambdasqs.Config{SQS: w.srv.Client()})
	if err != nil {
		w.t.Fatal(err)
	}
	src, err := sqstest.NewEventSource(sqstest.EventSourceConfig{Client: w.srv.Client(), QueueURL: w.q.URL(), Handler: a})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	if err := src.Run(ctx); err != nil {
		w.t.Error(err)
	}
}

func inPoller(w *world, c *consumer.Consumer) {
	p, err := poller.New(c, poller.Config{SQS: w.srv.Client(), QueueURL: w.q.URL()})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	if err := p.Run(ctx); err != nil {
		w.t.Error(err)
	}
}

// newWorld makes the world of a row. outcomes are the first ones of each message, by
// its id, when it is over.
func (c *row) newWorld(t *testing.T) (w *world, outcomes map[string]consumer.Outcome) {
	t.Helper()
	w = &world{t: t, srv: sqstest.NewServer(sqstest.Config{})}
	t.Cleanup(w.srv.Close)
	var err error
	for _, name := range []string{"dead", "orders"} {
		if w.q, err = w.srv.CreateQueue(name, sqstest.QueueConfig{}); err != nil {
			t.Fatal(err)
		}
	}
	if w.guard, err = idempotency.New(memstore.New(), idempotency.Config{}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	outcomes = map[string]consumer.Outcome{}
	w.cfg = consumer.Config{
		Retry:      retry.Policy{Tries: 1},
		Redelivery: consumer.Redelivery{Backoff: retry.Constant(time.Minute)},
		Logger:     discard(),
		Observe: func(e consumer.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Kind != consumer.EventOutcome {
				return
			}
			if _, again := outcomes[e.Outcome.Delivery.ID]; !again {
				outcomes[e.Outcome.Delivery.ID] = e.Outcome
			}
		},
	}
	if c.prepare != nil {
		c.prepare(w)
	}
	return w, outcomes
}

// send sends the messages one after another: what runs together may meet on a key.
func (c *row) send(w *world) (ids []string) {
	w.t.Helper()
	bodies := c.bodies
	if bodies == nil {
		bodies = []string{"body"}
	}
	for i, body := range bodies {
		id, err := w.q.SendMessage(sqstest.Message{Body: body, Delay: time.Duration(i) * time.Second})
		if err != nil {
			w.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if c.ready != nil {
		c.ready(w, ids)
	}
	return ids
}

// run runs a row in a host and returns what became of each message.
func (c *row) run(t *testing.T, in host) (all []seen) {
	t.Helper()
	w, outcomes := c.newWorld(t)
	con, err := consumer.New(c.handler, w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	ids := c.send(w)
	in(w, con)
	left := map[string]bool{}
	for _, m := range w.q.Messages() {
		left[m.ID] = true
	}
	for _, id := range ids {
		o, ok := outcomes[id]
		if !ok {
			t.Errorf("no outcome for message %s", id)
		}
		s := seen{
			Verdict: o.Verdict.String(), Parked: o.Parked, Attempt: o.Attempt, Tries: o.Tries,
			Left: !left[id], DeadLetters: w.srv.Queue("dead").Len(),
		}
		if o.Err != nil {
			s.Err, _, _ = strings.Cut(strings.ReplaceAll(o.Err.Error(), id, "ID"), "RequestID")
		}
		if !o.Acknowledged() {
			s.Delay = o.Delay
		}
		all = append(all, s)
	}
	return all
}

// PO-08: whatever a handler does, its message has the same verdict in both hosts,
// for the same reason, and leaves the queue in both or in neither.
func TestHosts_PO08_SameVerdictOnLambdaAndECS(t *testing.T) {
	t.Parallel()
	for _, c := range hostRows() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var lambda, ecs []seen
			synctest.Test(t, func(t *testing.T) { lambda = c.run(t, inLambda) })
			synctest.Test(t, func(t *testing.T) { ecs = c.run(t, inPoller) })
			if d := cmp.Diff(lambda, ecs); d != "" {
				t.Errorf("-lambda +poller:\n%s", d)
			}
			var verdicts []string
			for _, s := range ecs {
				verdicts = append(verdicts, s.Verdict)
				acknowledged := s.Verdict == "done" || s.Verdict == "duplicate" || s.Parked
				want(t, "left the queue", s.Left, acknowledged)
			}
			want(t, "verdicts", verdicts, c.want)
		})
	}
}
