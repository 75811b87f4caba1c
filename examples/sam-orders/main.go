// Command sam-orders is the order function of the stack in template.yaml: a queue
// of orders, a dead-letter queue to park on, and a table that remembers what is
// done. Environment variables say which, as the template sets them:
//
//	ORDERS_TABLE            a DynamoDB table for idempotency; default: none
//	ORDERS_DEAD_LETTER_URL  where orders are parked that cannot succeed; default: SQS's redrive policy
//	ORDERS_MAX_ATTEMPTS     attempts an order gets; needs a table; default 5
//	ORDERS_SNS              wrapped, if orders come in SNS's envelope; default: as they are
//
// Under sam local (AWS_SAM_LOCAL is set) without an AWS_ENDPOINT_URL it makes no
// calls: a sample event is of no queue, and sam local hands on whatever AWS
// credentials it finds.
//
// A setting that is wrong ends the program before it takes an invocation, with the
// reason in the log. docs/operations.md has the rest.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
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

func fatal(log *slog.Logger, err error) {
	log.Error("the function cannot start", slog.String("error", err.Error()))
	os.Exit(1)
}
