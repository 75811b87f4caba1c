package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// options are the flags.
type options struct {
	file    string // "" is the sample, "-" standard input
	speed   int
	dlq     string
	store   string // "" is none
	host    string
	timeout time.Duration
	verbose bool
	invoke  invocation // zero: the handler runs here
}

// Values of the flag -dlq.
const (
	dlqPark = "park"
	dlqSQS  = "sqs"
)

// storeMemory is the only value of the flag -store but "", the default.
const storeMemory = "memory"

// Values of the flag -host.
const (
	hostLambda = "lambda"
	hostPoller = "poller"
)

// maxSpeed leaves 300 ms to a function with a timeout of 30 s.
const maxSpeed = 100

const usage = `Usage: local [flags]

Runs a handler on messages, with an embedded SQS, and accounts for each of them.
  local                    a sample of 60 orders
  local -f orders.jsonl    your own, one JSON value per line
  local -store memory      with an idempotency store: what is done is not done
                           again
  local -host poller       in a process that lives for long, not in Lambda
  local -invoke URL        a function of your own, in another process; see below

Flags:
`

const format = `
Each line of the input is one message: a JSON value, which is the body, or an
object with the body and what goes with it, and nothing else:
  {"body": …, "attributes": {"name": "text" or number}, "group": "text",
   "delay": "15s", "twice": true}
A text is sent as it is, any other value as its JSON. A delay is as long as at
-speed 1. "twice" makes SQS deliver the message a second time while the first
delivery is being worked on. In Lambda both run; with -store the second one is
held off until the first is done, and is a duplicate then. A poller that has both
runs them once, as one.

The handler takes any JSON. A member "simulate" of the body has it misbehave:
  flaky:N     the first N tries fail
  slow:D      takes D (such as 15s; 500ms is what all take)
  stall       outlasts the function's timeout at the first delivery (in a
              poller, that of every try in it)
  after:D     fails once and asks to be tried again in D
  poison      every try fails
  invalid     fails for good at the first try
  panic       every try panics
Times are as at -speed 1. A body that is no JSON, or null, is malformed to the
handler and fails for good.

A line of progress counts each message once. One that the handler has handled and
that is not deleted yet is still in the queue.

Exit codes:
  0    each message is done or in the dead-letter queue
  1    something was lost, time ran out, or standard output could not be written
  2    flags or input are wrong
  130  interrupted: once to finish what runs, twice to quit at once
"go run" makes 1 of all but 0; build the program to see them:
  go build -o local ./examples/local && ./local
` + invokeFormat

// errHelp asks for exit code 0.
var errHelp = flag.ErrHelp

// parseArgs reads the flags. What is wrong with them is an error that says what
// to write instead.
func parseArgs(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("local", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.file, "f", "", "`file` of messages, one per line; - is standard input (default: a sample of 60 orders)")
	f.IntVar(&o.speed, "speed", 20, "divide delays, timeouts and simulated work by so much, 1 to 100")
	f.StringVar(&o.dlq, "dlq", dlqPark, "how messages that cannot succeed reach the dead-letter queue: "+
		"park (by the library, at once) or sqs (by SQS, when their receives are used up; takes over two minutes)")
	f.StringVar(&o.store, "store", "", "`kind` of idempotency store: memory (work that is done is not done again, and attempts are counted: "+
		"5 per message) or \"\" (none)")
	f.StringVar(&o.host, "host", hostLambda, "`kind` of host that runs the handler: lambda (an event source and what a function would run) "+
		"or poller (what a container would run)")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "give up after so long")
	f.BoolVar(&o.verbose, "v", false, "show each outcome")
	o.invoke.define(f)
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(stderr)
			printf(stderr, "%s", usage)
			f.PrintDefaults()
			printf(stderr, "%s", format)
		}
		return o, err
	}
	if err := o.check(f); err != nil {
		return o, err
	}
	return o, o.invoke.complete(f, &o)
}

// check says what is wrong with the flags by themselves.
func (o options) check(f *flag.FlagSet) error {
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; name a file of messages with -f", f.Arg(0))
	case o.speed < 1 || o.speed > maxSpeed:
		return fmt.Errorf("-speed is %d; use 1 (real time) to %d", o.speed, maxSpeed)
	case o.dlq != dlqPark && o.dlq != dlqSQS:
		return fmt.Errorf("-dlq is %q; use %s or %s", o.dlq, dlqPark, dlqSQS)
	case o.store != "" && o.store != storeMemory:
		return fmt.Errorf("-store is %q; use %s, or leave it out for none", o.store, storeMemory)
	case o.host != hostLambda && o.host != hostPoller:
		return fmt.Errorf("-host is %q; use %s or %s", o.host, hostLambda, hostPoller)
	case o.timeout <= 0:
		return fmt.Errorf("-timeout is %v; use a time such as 5m", o.timeout)
	}
	return nil
}

// stored says whether there is an idempotency store.
func (o options) stored() bool { return o.store != "" }

// receives is the maxReceiveCount of the queue. Where the store counts attempts
// and the library parks, it is only a backstop: SQS counts deliveries that never
// ran as well, and would move messages that have attempts left.
func (o options) receives() int {
	if o.stored() && o.dlq == dlqPark {
		return backstop
	}
	return maxReceives
}

// tryTimeout bounds a try as the function's timeout does in Lambda, where that is
// enough.
func (o options) tryTimeout() time.Duration {
	if o.host == hostPoller {
		return o.scale(functionTimeout)
	}
	return 0
}

// bounded is what functionTimeout bounds.
func (o options) bounded() string {
	if o.host == hostPoller {
		return "try"
	}
	return "function"
}

// scale is how long d takes at this speed.
func (o options) scale(d time.Duration) time.Duration { return d / time.Duration(o.speed) }

// seconds is scale for what SQS takes in whole seconds.
func (o options) seconds(d time.Duration) time.Duration {
	return (o.scale(d) + time.Second - 1).Truncate(time.Second)
}
