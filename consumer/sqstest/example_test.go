package sqstest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// drain is a program under test: it handles what is in a queue and deletes it.
func drain(ctx context.Context, client *sqs.Client, url string, handle func(body string) error) error {
	for {
		out, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10})
		if err != nil || len(out.Messages) == 0 {
			return err
		}
		for _, m := range out.Messages {
			if handle(*m.Body) != nil {
				continue // it comes back after its visibility timeout
			}
			_, err := client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle})
			if err != nil {
				return err
			}
		}
	}
}

// A test of a consumer: queue, messages, the program under test, and a look at
// what is left.
func Example() {
	server := sqstest.NewServer(sqstest.Config{})
	defer server.Close()
	queue, err := server.CreateQueue("orders", sqstest.QueueConfig{})
	if err != nil {
		panic(err)
	}
	queue.Send("book", "fish", "lamp")

	err = drain(context.Background(), server.Client(), queue.URL(), func(body string) error {
		if body == "fish" {
			return errors.New("out of stock")
		}
		return nil
	})

	fmt.Println("error:", err)
	for _, m := range queue.Messages() {
		fmt.Println(m.Body, "is", m.State, "after", m.ReceiveCount, "receive")
	}
	calls := server.Calls()
	fmt.Println("receives:", calls["ReceiveMessage"], "deletes:", calls["DeleteMessage"])
	// Output:
	// error: <nil>
	// fish is in flight after 1 receive
	// receives: 2 deletes: 2
}

// A dead-letter queue takes what was received too often. SQS moves a message at
// the receive after the last one that is allowed.
func ExampleServer_CreateQueue() {
	server := sqstest.NewServer(sqstest.Config{})
	defer server.Close()
	dead, err := server.CreateQueue("orders-dead", sqstest.QueueConfig{})
	if err != nil {
		panic(err)
	}
	queue, err := server.CreateQueue("orders", sqstest.QueueConfig{
		DeadLetter:  dead,
		MaxReceives: 2,
		Visibility:  -1, // what is not deleted shows again at once
	})
	if err != nil {
		panic(err)
	}
	queue.Send("fish")

	tries := 0
	err = drain(context.Background(), server.Client(), queue.URL(), func(string) error {
		tries++
		return errors.New("out of stock")
	})

	fmt.Println("tries:", tries, "error:", err)
	for _, m := range dead.Messages() {
		fmt.Println(m.Body, "came from", m.SourceARN)
	}
	// Output:
	// tries: 2 error: <nil>
	// fish came from arn:aws:sqs:us-east-1:000000000000:orders
}

// A fault that makes the second entry of the next batch fail, for a reason that
// is worth another try.
func ExampleServer_Inject() {
	server := sqstest.NewServer(sqstest.Config{})
	defer server.Close()
	queue, err := server.CreateQueue("orders", sqstest.QueueConfig{})
	if err != nil {
		panic(err)
	}
	server.Inject(sqstest.Fault{
		Action:  "SendMessageBatch",
		Entries: []sqstest.EntryFault{{Index: 1, Code: "ServiceUnavailable"}},
	})

	out, err := server.Client().SendMessageBatch(context.Background(), &sqs.SendMessageBatchInput{
		QueueUrl: aws.String(queue.URL()),
		Entries: []types.SendMessageBatchRequestEntry{
			{Id: aws.String("0"), MessageBody: aws.String("book")},
			{Id: aws.String("1"), MessageBody: aws.String("lamp")},
		},
	})
	if err != nil {
		panic(err)
	}

	for _, f := range out.Failed {
		fmt.Println("entry", *f.Id, "failed:", *f.Code, "sender's fault:", f.SenderFault)
	}
	fmt.Println("stored:", queue.Len())
	// Output:
	// entry 1 failed: ServiceUnavailable sender's fault: false
	// stored: 1
}

// The error that a program sees when SQS refuses it: the SDK's own type.
func ExampleFault() {
	server := sqstest.NewServer(sqstest.Config{})
	defer server.Close()
	queue, err := server.CreateQueue("orders", sqstest.QueueConfig{})
	if err != nil {
		panic(err)
	}
	server.Inject(sqstest.Fault{Action: "ReceiveMessage", Err: sqstest.KMSThrottled()})

	err = drain(context.Background(), server.Client(), queue.URL(), nil)

	if throttled, ok := errors.AsType[*types.KmsThrottled](err); ok {
		fmt.Println(throttled.ErrorCode())
	}
	// Output:
	// KMS.ThrottlingException
}

// What exactly was asked of SQS: each call with its entries.
func ExampleServer_Log() {
	server := sqstest.NewServer(sqstest.Config{})
	defer server.Close()
	queue, err := server.CreateQueue("orders", sqstest.QueueConfig{})
	if err != nil {
		panic(err)
	}
	ids := queue.Send("book")

	err = drain(context.Background(), server.Client(), queue.URL(), func(string) error { return nil })
	if err != nil {
		panic(err)
	}

	for _, call := range server.Log() {
		fmt.Print(call.Action, " on ", call.Queue)
		for _, e := range call.Entries {
			fmt.Print(", the message sent: ", e.MessageID == ids[0])
		}
		fmt.Println()
	}
	// Output:
	// ReceiveMessage on orders, the message sent: true
	// DeleteMessage on orders, the message sent: true
	// ReceiveMessage on orders
}
