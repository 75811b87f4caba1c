// Command lambda-orders is a Lambda function that works off a queue of orders.
//
// The event source mapping must have FunctionResponseTypes set to
// ReportBatchItemFailures, and the function needs sqs:ChangeMessageVisibility
// on the queue. With DLQ_URL set, orders that can never succeed are parked
// there at once, which needs sqs:SendMessage.
//
//	GOOS=linux CGO_ENABLED=0 go build -tags lambda.norpc -o bootstrap ./examples/lambda-orders
package main

import (
	"context"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	adapter, err := newAdapter(sqs.NewFromConfig(cfg), os.Getenv("DLQ_URL"), simulatedCharge)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(adapter)
}

// newAdapter is apart from main so that tests run the very pipeline that the
// function does.
func newAdapter(client *sqs.Client, dlqURL string, charge Charge) (*lambdasqs.Adapter, error) {
	var cfg consumer.Config
	if dlqURL != "" {
		cfg.DeadLetter = dlq.New(client, dlqURL)
	}
	c, err := consumer.New(consumer.JSON(charge.handle), cfg)
	if err != nil {
		return nil, err
	}
	return lambdasqs.New(c, lambdasqs.Config{SQS: client})
}
