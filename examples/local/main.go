// Command local runs a handler on real messages, on this machine: an embedded
// SQS with a queue and a dead-letter queue, and either Lambda's event source
// mapping and the adapter that a function would run, or the poller that a
// container would run. It needs no AWS and no Docker. With -invoke it is the event
// source mapping of a function in another process, which sam local start-lambda and
// the runtime interface emulator lack.
//
//	go run ./examples/local                 # a sample of 60 orders
//	go run ./examples/local -f orders.jsonl # your own, one JSON value per line
//	go run ./examples/local -store memory   # work that is done is not done again
//	go run ./examples/local -host poller    # not in Lambda: in a long-lived process
//	go run ./examples/local -invoke URL     # a function of your own: sam local start-lambda
//	… | go run ./examples/local -f - -v     # from a pipe, showing each outcome
//
// See -help for the format of the lines and for what a message can simulate.
//
// It ends with an account of every message and exits with 0 only if none was
// lost: each is done or in the dead-letter queue. 1 means that something was
// lost, that time ran out, that the function of -invoke could not be invoked or
// that standard output could not be written, 2 that flags or input are wrong, 130
// that it was interrupted. go run makes 1 of all but 0; what go build makes shows
// the codes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 2) // both that count, however quickly they come
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	go heed(signals, cancel, func() { os.Exit(exitInterrupted) })
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
