// Command sam-findings is the function of the stack in template.yaml that drains
// the dead-letter queue into its log, off by default: each dead letter becomes one
// line of JSON, a finding, and is deleted from the queue. What has been drained
// cannot be redriven any more; the finding has the body and the attributes, from
// which the message can be sent again. A message whose finding is too long for one
// line of the log stays on the queue.
//
// Lambda hands the log to CloudWatch at its best effort. Where no dead letter may
// be lost, leave the messages on the queue.
//
// Under sam local (AWS_SAM_LOCAL is set) without an AWS_ENDPOINT_URL it makes no
// calls.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		fatal(log, err)
	}
	adapter, err := newAdapter(cfg, os.Getenv, log)
	if err != nil {
		fatal(log, err)
	}
	lambda.Start(adapter)
}

// newAdapter is apart from main so that tests run the very pipeline that the
// function does.
func newAdapter(cfg aws.Config, getenv func(string) string, log *slog.Logger) (*lambdasqs.Adapter, error) {
	var client *sqs.Client
	if offline := getenv("AWS_SAM_LOCAL") != "" && getenv("AWS_ENDPOINT_URL") == ""; !offline {
		client = sqs.NewFromConfig(cfg)
	}
	c, err := consumer.New(ledger{log}, consumer.Config{Logger: log})
	if err != nil {
		return nil, err
	}
	return lambdasqs.New(c, lambdasqs.Config{SQS: client})
}

func fatal(log *slog.Logger, err error) {
	log.Error("the function cannot start", slog.String("error", err.Error()))
	os.Exit(1)
}
