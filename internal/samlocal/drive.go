package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// Names of the queues, which the function is told in its environment.
const (
	queueName = "orders"
	deadName  = "orders-dead"
)

// drive is one run.
type drive struct {
	listen, endpoint, function string
	orders                     int
}

// What becomes of twenty orders: two fail once, one fails twice, two have a
// negative amount, two are no JSON, and the others are good.
const (
	round        = 20
	retriesEach  = 4
	parkedEach   = 4
	visibility   = 4 * time.Minute // as in the template
	functionTime = 30 * time.Second
)

func body(n int) string {
	switch n % round {
	case 3, 13:
		return fmt.Sprintf(`{"id":"order-%d","customer":"ann","amount":100,"fails":1}`, n)
	case 7:
		return fmt.Sprintf(`{"id":"order-%d","customer":"ann","amount":100,"fails":2}`, n)
	case 5, 15:
		return fmt.Sprintf(`{"id":"order-%d","customer":"ann","amount":-100}`, n)
	case 9, 19:
		return fmt.Sprintf(`{"id":"order-%d","amount`, n)
	default:
		return fmt.Sprintf(`{"id":"order-%d","customer":"ann","amount":100}`, n)
	}
}

func (d drive) run(ctx context.Context, out io.Writer) error {
	if d.orders < round || d.orders%round != 0 {
		return fmt.Errorf("-n is %d; use a multiple of %d", d.orders, round)
	}
	server := sqstest.NewServer(sqstest.Config{})
	defer server.Close()
	if _, err := server.Listen(d.listen); err != nil {
		return err
	}
	dead, err := server.CreateQueue(deadName, sqstest.QueueConfig{})
	if err != nil {
		return err
	}
	queue, err := server.CreateQueue(queueName, sqstest.QueueConfig{Visibility: visibility, DeadLetter: dead, MaxReceives: 50})
	if err != nil {
		return err
	}
	for n := range d.orders {
		queue.Send(body(n))
	}
	start := time.Now()
	source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{
		Client: server.Client(), QueueURL: queue.URL(), Endpoint: d.endpoint, Function: d.function, Timeout: functionTime,
		Observe: func(v sqstest.Invocation) {
			_, _ = fmt.Fprintf(out, "%6.1fs  %2d orders: %2d gone, %2d kept %s\n",
				time.Since(start).Seconds(), len(v.IDs), len(v.Deleted), len(v.Kept), failed(v))
		},
	})
	if err != nil {
		return err
	}
	drained := source.Drain(ctx)
	return errors.Join(drained, d.account(out, source.Stats(), server.Calls(), queue, dead))
}

func failed(v sqstest.Invocation) string {
	if v.Err == nil {
		return ""
	}
	return "(" + v.Err.Error() + ")"
}

// account shows where the orders are, and says what of it is wrong.
func (d drive) account(out io.Writer, s sqstest.Stats, calls sqstest.Calls, queue, dead *sqstest.Queue) error {
	rounds := d.orders / round
	letters := dead.Messages()
	_, _ = fmt.Fprintf(out, "%d sent: %d done, %d parked, %d still in the queue; %d invocations, %d deliveries reported as failed\n",
		d.orders, s.Deleted-len(letters), len(letters), len(queue.Messages()), s.Invocations, s.Reported)
	var wrong []error
	expect := func(what string, got, want int) {
		if got != want {
			wrong = append(wrong, fmt.Errorf("%s: %d, want %d", what, got, want))
		}
	}
	expect("orders that left the queue", s.Deleted, d.orders)
	expect("orders still in the queue", len(queue.Messages()), 0)
	expect("deliveries reported as failed", s.Reported, retriesEach*rounds)
	expect("dead letters", len(letters), parkedEach*rounds)
	for kind, n := range s.Failures {
		expect("invocations that failed as a whole by "+string(kind), n, 0)
	}
	parked := map[string]bool{}
	for _, m := range letters {
		parked[m.Body] = true
		if m.Attributes[consumer.ParkedAttribute].StringValue == nil {
			wrong = append(wrong, fmt.Errorf("dead letter %s has no attribute %s", m.Body, consumer.ParkedAttribute))
		}
	}
	for n := range d.orders {
		if k := n % round; (k == 5 || k == 15 || k == 9 || k == 19) && !parked[body(n)] {
			wrong = append(wrong, fmt.Errorf("%s is not on the dead-letter queue", body(n)))
		}
	}
	if calls["ChangeMessageVisibilityBatch"] == 0 {
		wrong = append(wrong, errors.New("the function changed no visibility: does it reach the queue?"))
	}
	return errors.Join(wrong...)
}
