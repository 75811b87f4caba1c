// Command ecs-poller is a container on ECS, or anywhere else, that works off a
// queue of orders: the handler of a Lambda function would be the same, only the
// end of the program differs. Environment variables say everything:
//
//	ORDERS_QUEUE_URL        the queue; needed
//	ORDERS_DEAD_LETTER_URL  where orders are parked that can never succeed; default: SQS's redrive policy
//	ORDERS_TABLE            a DynamoDB table for idempotency; default: none
//	ORDERS_CONCURRENCY      handlers at once; default 10
//	ORDERS_PREFETCH         messages in hand beyond these, 0 for none; default 10
//	ORDERS_GRACE            how long a drain may take; default 25s, which fits ECS's stopTimeout of 30 s
//	ORDERS_HEALTH_ADDR      where to serve GET /healthz, such as 127.0.0.1:8080; default: nowhere
//	ORDERS_PROTECT_TASK     true: protect a busy task from scale-in; default false
//
// Credentials, region and endpoint are the AWS SDK's own variables: AWS_REGION,
// AWS_ENDPOINT_URL and so on. docs/operations.md says what the task definition
// needs.
//
// SIGTERM and SIGINT drain: nothing more is received, what runs may finish within
// the grace, what was not begun goes back to the queue, and the exit code is 0. A
// second one leaves at once. The exit code is 1 if the queue cannot be consumed,
// and 2 if a setting is wrong. With -healthcheck the program asks the health
// endpoint of the one that runs and exits with 0 or 1: a HEALTHCHECK for an image
// without a shell.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

const (
	exitDrained  = 0
	exitFailed   = 1
	exitSettings = 2
)

func main() {
	// The first signal may come before the poller is there to take it. The others
	// are the poller's, or do what they do by default.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("ecs-poller", flag.ContinueOnError)
	flags.SetOutput(stderr)
	check := flags.Bool("healthcheck", false, "ask the health endpoint at ORDERS_HEALTH_ADDR and exit with 0 or 1")
	if err := flags.Parse(args); err != nil {
		return exitSettings
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(stderr, "unexpected argument %q: the only one is -healthcheck, with its dash\n", flags.Arg(0))
		return exitSettings
	}
	if *check {
		if err := askHealth(ctx, getenv("ORDERS_HEALTH_ADDR")); err != nil {
			_, _ = fmt.Fprintln(stderr, err)
			return exitFailed
		}
		return exitDrained
	}
	s, err := readSettings(getenv)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return exitSettings
	}
	logger := slog.New(slog.NewJSONHandler(stdout, nil))
	w, err := newWorker(ctx, s, logger)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return exitSettings
	}
	if err := w.run(ctx); err != nil {
		logger.Error("the poller has ended", slog.Any("error", err))
		return exitFailed
	}
	logger.Info("drained")
	return exitDrained
}
