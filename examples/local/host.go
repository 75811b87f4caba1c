package main

import (
	"context"
	"io"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// host runs the consumer on the queue. It is used for one Drain.
type host interface {
	// Drain works the queue off and returns nil when it is quiet: nothing is
	// visible, delayed, in flight or being worked on. If ctx ends before, what
	// runs may finish, and the cause is returned.
	Drain(ctx context.Context) error
	// reportCalls says which calls of SQS it took.
	reportCalls(w io.Writer)
}

func (s *stage) newHost(o options, c *consumer.Consumer) (host, error) {
	if o.host == hostPoller {
		return s.newPoller(o, c)
	}
	return s.newFunction(o, c)
}

// function is a Lambda function, and the event source mapping that invokes it.
type function struct {
	*sqstest.EventSource
	server *sqstest.Server
}

// newFunction makes what a Lambda function would give to lambda.Start.
func (s *stage) newFunction(o options, c *consumer.Consumer) (*function, error) {
	client := s.server.Client()
	adapter, err := lambdasqs.New(c, lambdasqs.Config{SQS: client})
	if err != nil {
		return nil, err
	}
	source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{
		Client: client, QueueURL: s.queue.URL(), Handler: adapter, Timeout: o.scale(functionTimeout),
	})
	return &function{source, s.server}, err
}

func (f *function) reportCalls(w io.Writer) {
	stats := f.Stats()
	failed := 0
	for _, n := range stats.Failures {
		failed += n
	}
	table(w, func(t io.Writer) {
		row(t, "by the library", calls(f.server.Calls()))
		row(t, "by the event source", calls(f.server.CallsBy(sqstest.EventSourceCaller)))
	})
	printf(w, "  in %s, %d of which failed as a whole\n", plural(stats.Invocations, "invocation", "invocations"), failed)
}

// process is a program that lives for long, with a poller in it.
type process struct {
	*poller.Poller
	server *sqstest.Server
	queue  *sqstest.Queue
	shop   *shop
}

// newPoller makes what a container would run. Without -speed its Config would be
// SQS and QueueURL, and no more.
func (s *stage) newPoller(o options, c *consumer.Consumer) (*process, error) {
	p, err := poller.New(c, poller.Config{
		SQS: s.server.Client(), QueueURL: s.queue.URL(),
		Visibility: o.seconds(visibility), // as the queue's: a default may be longer than that
		Beat:       o.scale(visibility) / 3,
		Grace:      max(o.scale(poller.DefaultGrace), leastGrace),
	})
	return &process{p, s.server, s.queue, s.shop}, err
}

// leastGrace is the shortest that a poller takes.
const leastGrace = time.Second

// glance is how often the queue is looked at.
const glance = 20 * time.Millisecond

// Drain implements host.
func (p *process) Drain(ctx context.Context) error {
	work, drain := context.WithCancel(ctx)
	defer drain()
	quiet := make(chan bool, 1)
	go func() {
		is := p.awaitQuiet(work)
		if is {
			drain()
			p.Abort() // the receive that is in flight would be waited for, and nothing else
		}
		quiet <- is
	}()
	err := p.Run(work)
	drain()
	if is := <-quiet; is || err != nil {
		return err
	}
	return context.Cause(ctx)
}

// awaitQuiet reports whether the queue has become quiet before ctx ended.
func (p *process) awaitQuiet(ctx context.Context) bool {
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if p.queue.Len() == 0 && !p.shop.busy() {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

func (p *process) reportCalls(w io.Writer) {
	table(w, func(t io.Writer) { row(t, "by the library", calls(p.server.Calls())) })
}
