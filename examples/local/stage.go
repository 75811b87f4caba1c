package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
	"github.com/ackwise/ackwise/retry"
)

// What a real set-up would have: the defaults of Lambda's documentation and of
// this library. -speed divides the times.
const (
	functionTimeout = 30 * time.Second
	visibility      = 6 * functionTimeout // as AWS recommends
	firstBackoff    = 10 * time.Second
	longestBackoff  = 15 * time.Minute
	maxReceives     = 5  // where it is the budget: nothing else counts
	backstop        = 50 // where the store counts attempts
	maxAttempts     = 5
)

// stage is everything that takes part: SQS, the handler, and what runs it.
type stage struct {
	server      *sqstest.Server
	queue, dead *sqstest.Queue
	shop        *shop
	ledger      *ledger
	host        host
}

// newStage sets the stage. Warnings go to stderr, outcomes to the ledger.
func newStage(o options, stdout, stderr io.Writer) (*stage, error) {
	s := &stage{
		server: sqstest.NewServer(sqstest.Config{LogLimit: -1}),
		ledger: newLedger(stdout, o.verbose),
	}
	s.shop = newShop(o, func(id string) { s.queue.Redeliver(id) })
	s.ledger.called = s.shop.called
	if err := s.build(o, stderr); err != nil {
		s.server.Close()
		return nil, err
	}
	return s, nil
}

func (s *stage) build(o options, stderr io.Writer) (err error) {
	if s.dead, err = s.server.CreateQueue("orders-dlq", sqstest.QueueConfig{Retention: 14 * 24 * time.Hour}); err != nil {
		return err
	}
	s.queue, err = s.server.CreateQueue("orders", sqstest.QueueConfig{
		Visibility: o.seconds(visibility), DeadLetter: s.dead, MaxReceives: o.receives(),
	})
	if err != nil {
		return err
	}
	c, err := s.consumer(o, stderr)
	if err != nil {
		return err
	}
	s.host, err = s.newHost(o, c)
	return err
}

// consumer is the same for all hosts, but that in a poller nothing else bounds a
// handler. Without -speed its Config would be that bound, the DeadLetter and, with
// -store, the guard and the budget of attempts, and no more.
func (s *stage) consumer(o options, stderr io.Writer) (*consumer.Consumer, error) {
	cfg := consumer.Config{
		TryTimeout: o.tryTimeout(),
		Retry: retry.Policy{
			Backoff: retry.FullJitter(retry.Exponential(o.scale(100*time.Millisecond), o.scale(2*time.Second))),
			MaxWait: o.scale(retry.DefaultMaxWait),
		},
		Redelivery: consumer.Redelivery{
			Backoff: retry.HalfJitter(retry.Exponential(o.scale(firstBackoff), o.scale(longestBackoff))),
		},
		Middleware: []consumer.Middleware{s.shop.record},
		Logger:     slog.New(warnings{slog.NewTextHandler(stderr, nil)}),
		Observe:    s.ledger.observe,
	}
	if o.dlq == dlqPark {
		cfg.DeadLetter = dlq.New(s.server.Client(), s.dead.URL())
	}
	if o.stored() {
		guard, err := idempotency.New(memstore.New(), idempotency.Config{Lease: o.seconds(idempotency.DefaultLease)})
		if err != nil {
			return nil, err
		}
		cfg.Idempotency, cfg.Redelivery.MaxAttempts = guard, maxAttempts
	}
	return consumer.New(consumer.JSON(s.shop.handle), cfg)
}

// send puts the messages into the queue. An error names file and line: it is
// what SQS has against the message.
func (s *stage) send(o options, in *input) error {
	for _, l := range in.lines {
		m := l.message
		m.Delay = o.seconds(m.Delay)
		id, err := s.queue.SendMessage(m)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", in.name, l.number, err)
		}
		s.ledger.add(id, l)
		if l.twice {
			s.shop.twice[id] = true
		}
	}
	return nil
}

// warnings leaves out of the library's log what the ledger shows: the outcomes.
type warnings struct{ slog.Handler }

// Handle implements slog.Handler.
func (h warnings) Handle(ctx context.Context, r slog.Record) error {
	outcome := false
	r.Attrs(func(a slog.Attr) bool {
		outcome = a.Key == "verdict"
		return !outcome
	})
	if outcome {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}
