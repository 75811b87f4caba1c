// Command transactional books an order exactly once, although the process that
// books it is killed at the worst moment: after its transaction is committed, and
// before SQS hears that the message is done.
//
//	AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000 go run ./examples/transactional
//
// The queue is sqstest's, in this process, and needs no AWS. DynamoDB is whatever
// answers at AWS_ENDPOINT_URL_DYNAMODB: an emulator on this machine (moto or
// DynamoDB Local; no credentials are needed and none are looked for), or AWS
// itself, say https://dynamodb.eu-central-1.amazonaws.com, with AWS_REGION and
// credentials as for any program. Two tables are made, billed on demand, and
// deleted at the end.
//
// What it shows: the first worker, a process of its own, receives the order, and
// its handler calls dynamostore's Store.Transact. One transaction writes the
// order, takes the amount from the customer's account and marks the claim on the
// message as completed. Then the worker is killed. The message is still in the
// queue, as far as SQS knows nobody has done anything, and when its visibility
// ends it is delivered to a second worker. That one finds its work completed: a
// duplicate, acknowledged without a run. With two writes instead of a transaction
// there would be a moment between them, and a worker that dies there books twice
// or not at all.
//
// It exits with 0 only if the order was booked once, with 1 if not, and with 2
// without an endpoint.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const endpointEnv = "AWS_ENDPOINT_URL_DYNAMODB"

const usage = `Usage: AWS_ENDPOINT_URL_DYNAMODB=URL transactional

Books an order exactly once, although the first worker is killed after its
transaction. It needs a DynamoDB:
  an emulator on this machine, such as DynamoDB Local (port 8000) or moto:
    python3 -m moto.server -p 5000
    AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:5000 go run ./examples/transactional
  or AWS, with AWS_REGION and credentials set, and permission to create, use and
  delete the tables ackwise-example-*:
    AWS_ENDPOINT_URL_DYNAMODB=https://dynamodb.eu-central-1.amazonaws.com …
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := start(ctx)
	stop()
	os.Exit(code)
}

// start is the program, or one of its workers.
func start(ctx context.Context) int {
	if text, isWorker := os.LookupEnv(workerEnv); isWorker {
		if err := runWorker(ctx, text, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			return 1
		}
		return 0
	}
	endpoint := os.Getenv(endpointEnv)
	if endpoint == "" || len(os.Args) > 1 {
		fmt.Fprint(os.Stderr, usage)
		return 2
	}
	if err := run(ctx, endpoint, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "transactional:", err)
		return 1
	}
	return 0
}
