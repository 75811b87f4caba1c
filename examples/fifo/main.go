// Command fifo shows what order means on a FIFO queue when something fails: a
// message that has to be tried again holds back the later ones of its own
// message group, which come back two seconds after it, and nobody else's.
//
//	go run ./examples/fifo
//
// It needs no AWS: the queue is sqstest's, in this process, and Lambda's event
// source mapping for it hands batches to the adapter that a Lambda function
// would run.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/retry"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fifo:", err)
		os.Exit(1)
	}
}

// orders are the message groups: events of one order must be handled one after
// another. On order-2 the bank does not answer at first, and order-3 can never
// succeed.
var orders = []string{"order-1", "order-2", "order-3"}

// events are sent in this order, all at once.
var events = []struct{ order, event string }{
	{"order-1", "created"}, {"order-2", "created"}, {"order-3", "created"},
	{"order-1", "paid"}, {"order-2", "paid"}, {"order-3", "paid"},
	{"order-1", "shipped"}, {"order-2", "shipped"}, {"order-3", "shipped"},
}

// run sends the events, works them off and prints what happens. It returns an
// error if they were not handled in order.
func run(ctx context.Context, w io.Writer) error {
	server := sqstest.NewServer(sqstest.Config{})
	defer server.Close()
	dead, err := server.CreateQueue("orders-dlq.fifo", sqstest.QueueConfig{})
	if err != nil {
		return err
	}
	queue, err := server.CreateQueue("orders.fifo", sqstest.QueueConfig{DeadLetter: dead, MaxReceives: 5})
	if err != nil {
		return err
	}
	for _, e := range events {
		queue.SendGroup(e.order, e.event)
	}

	shop := &shop{w: w, start: time.Now()}
	adapter, err := newAdapter(server.Client(), dead.URL(), shop)
	if err != nil {
		return err
	}
	source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{
		Client: server.Client(), QueueURL: queue.URL(), Handler: adapter,
	})
	if err != nil {
		return err
	}
	if err := source.Drain(ctx); err != nil {
		return err
	}
	return shop.report(server, dead)
}

// newAdapter makes the pipeline. Nothing in it says FIFO: that is in the queue's
// name.
func newAdapter(client *sqs.Client, dlqURL string, s *shop) (*lambdasqs.Adapter, error) {
	c, err := consumer.New(consumer.HandlerFunc(s.handle), consumer.Config{
		// One try per delivery, so that the waiting can be seen in the queue.
		Retry:      retry.Policy{Tries: 1},
		Redelivery: consumer.Redelivery{Backoff: retry.Constant(2 * time.Second)},
		DeadLetter: dlq.New(client, dlqURL),
		Logger:     quiet,
		Observe:    s.observe,
	})
	if err != nil {
		return nil, err
	}
	return lambdasqs.New(c, lambdasqs.Config{SQS: client})
}
