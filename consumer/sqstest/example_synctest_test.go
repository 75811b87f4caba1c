package sqstest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// TestExampleVirtualTime is the example of a test in virtual time; an Example
// function cannot have a bubble. Server, client and program live inside it, and
// the hours pass in no time.
func TestExampleVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := sqstest.NewServer(sqstest.Config{})
		defer server.Close() // before the bubble ends
		queue, err := server.CreateQueue("orders", sqstest.QueueConfig{})
		if err != nil {
			t.Fatal(err)
		}
		client := server.Client()
		queue.Send("book")
		began := time.Now()

		// Receive, then put it off for six hours, as a backoff would.
		receive := &sqs.ReceiveMessageInput{QueueUrl: aws.String(queue.URL()), WaitTimeSeconds: 20}
		out, err := client.ReceiveMessage(t.Context(), receive)
		if err != nil || len(out.Messages) != 1 {
			t.Fatalf("received %v, %v", out, err)
		}
		_, err = client.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{
			QueueUrl: receive.QueueUrl, ReceiptHandle: out.Messages[0].ReceiptHandle,
			VisibilityTimeout: int32((6 * time.Hour).Seconds()),
		})
		if err != nil {
			t.Fatal(err)
		}

		// Poll until it is back: 20 s at a time, for six hours.
		for out.Messages = nil; len(out.Messages) == 0; {
			if out, err = client.ReceiveMessage(t.Context(), receive); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(began); waited != 6*time.Hour {
			t.Errorf("it came back after %v, want 6 h", waited)
		}
	})
}
