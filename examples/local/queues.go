package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// queues are the queue that is worked off and its dead-letter queue.
type queues interface {
	// source is how an event source reaches the queue.
	source() (client *sqs.Client, url string)
	// send puts a message into the queue.
	send(ctx context.Context, m sqstest.Message) (id string, err error)
	// progress is how far the run has got.
	progress(t *trace) progress
	// look returns what is in the two, when all is over: quiet says that nothing
	// is left in the queue.
	look(ctx context.Context, t *trace, quiet bool) (queue, dead []sqstest.MessageState, err error)
	// introduce says what a function has to know of them.
	introduce(w io.Writer)
	// reportCalls says which calls of SQS there were, as far as that is known.
	reportCalls(w io.Writer)
	// advise says what to look at if the function does not reach the queues, as it
	// seems from how many deliveries it has reported as failed.
	advise(w io.Writer, reported int)
	close()
}

// embedded are queues of an SQS in this process.
type embedded struct {
	server      *sqstest.Server
	queue, dead *sqstest.Queue
	base        string // where it is served, "" if nowhere
	receives    int
	visibility  time.Duration
}

func newEmbedded(i invocation) (*embedded, error) {
	e := &embedded{
		server:   sqstest.NewServer(sqstest.Config{LogLimit: -1}),
		receives: i.receives, visibility: i.visibility(),
	}
	if err := e.build(i.listen); err != nil {
		e.server.Close()
		return nil, err
	}
	return e, nil
}

func (e *embedded) build(listen string) (err error) {
	if listen != "" {
		if e.base, err = e.server.Listen(listen); err != nil {
			return fmt.Errorf("%w; -listen takes an address that is free, such as %s", err, defaultListen)
		}
	}
	if e.dead, err = e.server.CreateQueue("orders-dlq", sqstest.QueueConfig{Retention: 14 * 24 * time.Hour}); err != nil {
		return err
	}
	e.queue, err = e.server.CreateQueue("orders", sqstest.QueueConfig{
		Visibility: e.visibility, DeadLetter: e.dead, MaxReceives: e.receives,
	})
	return err
}

func (e *embedded) source() (*sqs.Client, string) { return e.server.Client(), e.queue.URL() }

func (e *embedded) send(_ context.Context, m sqstest.Message) (string, error) {
	return e.queue.SendMessage(m)
}

func (e *embedded) close() { e.server.Close() }

// look implements queues. What others have sent is among it.
func (e *embedded) look(_ context.Context, t *trace, _ bool) (queue, dead []sqstest.MessageState, err error) {
	queue = e.queue.Messages()
	for _, m := range queue {
		t.entry(m.ID, m.Body)
	}
	return queue, e.dead.Messages(), nil
}

// progress implements queues. A message that is deleted is noted a moment later:
// it is taken for one in the queue until then.
func (e *embedded) progress(t *trace) progress {
	now, queue := time.Now(), e.queue.Messages()
	a := draw(t.ledger, queue, e.dead.Messages(), t.deleted())
	p := progress{
		sent: a.sent, done: len(a.done), queued: len(a.left) + len(a.lost), dead: len(a.parked) + len(a.moved),
		effort: t.effort(),
	}
	p.hidden, p.next = hidden(queue, now)
	return p
}

func (e *embedded) introduce(w io.Writer) {
	printf(w, "An embedded SQS: queue orders (visibility timeout %v, maxReceiveCount %d)\nwith dead-letter queue orders-dlq.\n",
		e.visibility, e.receives)
	if e.base == "" {
		return
	}
	printf(w, "The function needs, in its environment:\n")
	near, far := reachable(e.base)
	table(w, func(t io.Writer) {
		row(t, "AWS_ENDPOINT_URL", near)
		if far != "" {
			row(t, "", far, "in a container")
		}
		row(t, "AWS_REGION", sqstest.DefaultRegion)
		row(t, "AWS_ACCESS_KEY_ID", "anything", "AWS_SECRET_ACCESS_KEY too")
	})
	printf(w, "and, under the names it gives them:\n")
	table(w, func(t io.Writer) {
		for _, q := range []struct {
			name  string
			queue *sqstest.Queue
		}{{"the queue", e.queue}, {"the dead-letter queue", e.dead}} {
			row(t, q.name, at(near, q.queue))
			if far != "" {
				row(t, "", at(far, q.queue), "in a container")
			}
		}
	})
}

// reachable is where the function reaches what listens at base: in a process of
// this machine and, if any address will do, in a container.
func reachable(base string) (near, far string) {
	u, err := url.Parse(base)
	if err != nil {
		return base, ""
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsUnspecified() {
		return base, ""
	}
	return "http://" + net.JoinHostPort("127.0.0.1", u.Port()), "http://" + net.JoinHostPort("host.docker.internal", u.Port())
}

// at is the queue's URL at an endpoint.
func at(base string, q *sqstest.Queue) string {
	u, err := url.Parse(q.URL())
	if err != nil {
		return q.URL()
	}
	return base + u.Path
}

func (e *embedded) reportCalls(w io.Writer) {
	table(w, func(t io.Writer) {
		row(t, "by the function", calls(e.server.Calls()))
		row(t, "by the event source", calls(e.server.CallsBy(sqstest.EventSourceCaller)))
	})
}

// advise implements queues. A function that reaches the queue parks what it cannot
// do, or changes the visibility of what it reports.
func (e *embedded) advise(w io.Writer, reported int) {
	if reported > 0 && e.server.Calls().Total() == 0 {
		printf(w, "\nThe function has not called SQS at all. If it should (to park, or to delay what\n"+
			"failed), it has no AWS_ENDPOINT_URL, or one that it does not reach: in a container\n"+
			"127.0.0.1 is the container itself. -help says what to write there.\n")
	}
}
