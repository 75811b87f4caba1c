package sqstest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/retry"
)

// Any Lambda function can be run against a queue. This one reports a message
// that it did not do, so that message stays and ends in the dead-letter queue.
func ExampleNewEventSource() {
	server := sqstest.NewServer(sqstest.Config{})
	defer server.Close()
	orders, err := server.CreateQueue("orders", sqstest.QueueConfig{})
	if err != nil {
		panic(err)
	}
	orders.Send("tea", "coffee", "cocoa")

	ctx, stop := context.WithCancel(context.Background())
	source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{
		Client:   server.Client(),
		QueueURL: orders.URL(),
		Handler: sqstest.HandlerFunc(func(_ context.Context, payload []byte) ([]byte, error) {
			var event events.SQSEvent
			if err := json.Unmarshal(payload, &event); err != nil {
				return nil, err
			}
			second := events.SQSBatchItemFailure{ItemIdentifier: event.Records[1].MessageId}
			return json.Marshal(events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{second}})
		}),
		Observe: func(i sqstest.Invocation) {
			fmt.Printf("event of %d messages: %d deleted, %d kept\n", len(i.IDs), len(i.Deleted), len(i.Kept))
			stop() // enough seen
		},
	})
	if err != nil {
		panic(err)
	}
	if err := source.Run(ctx); err != nil {
		panic(err)
	}
	for _, m := range orders.Messages() {
		fmt.Println(m.Body, "is", m.State)
	}
	// Output:
	// event of 3 messages: 2 deleted, 1 kept
	// coffee is in flight
}

// A consumer on Lambda, until its queue is quiet. The first delivery of one
// message fails; its visibility decides when it comes back.
func ExampleEventSource_Drain() {
	server := sqstest.NewServer(sqstest.Config{})
	defer server.Close()
	orders, err := server.CreateQueue("orders", sqstest.QueueConfig{})
	if err != nil {
		panic(err)
	}
	orders.Send("tea", "coffee")

	pour := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
		if m.Body == "coffee" && m.ReceiveCount == 1 {
			return errors.New("no beans")
		}
		return nil
	})
	c, err := consumer.New(pour, consumer.Config{
		Retry:      retry.Policy{Tries: 1},
		Redelivery: consumer.Redelivery{Backoff: retry.Constant(0)}, // so that the example does not wait
		Logger:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	function, err := lambdasqs.New(c, lambdasqs.Config{SQS: server.Client()})
	if err != nil {
		panic(err)
	}
	source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{
		Client: server.Client(), QueueURL: orders.URL(), Handler: function,
	})
	if err != nil {
		panic(err)
	}
	if err := source.Drain(context.Background()); err != nil {
		panic(err)
	}
	stats := source.Stats()
	fmt.Printf("%d invocations, %d records, %d reported, %d deleted\n", stats.Invocations, stats.Records, stats.Reported, stats.Deleted)
	fmt.Println("left in the queue:", orders.Len())
	// Output:
	// 2 invocations, 3 records, 1 reported, 2 deleted
	// left in the queue: 0
}
