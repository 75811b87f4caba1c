package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// invocation are the flags of a function in another process.
type invocation struct {
	url string // "" runs the handler here
	to  target
	// listen is where the embedded SQS serves, "" for nowhere.
	listen string
	// endpoint and queue are a queue elsewhere, "" for the embedded one.
	endpoint, queue       string
	concurrency, receives int
	timeout, wait         time.Duration
}

// target is a function as an event source knows it.
type target struct{ base, function, host string }

const invokeFormat = `
With -invoke the function runs in another process, and this one is the event
source mapping that it lacks there: it polls the queue, invokes the function and
deletes what the answer allows, by AWS's rules.
  sam local start-lambda …/functions/NAME/invocations on port 3001, NAME as in
                         the template
  runtime interface      http://127.0.0.1:9000/2015-03-31/functions/function/
  emulator               invocations; it takes one invocation at a time
What the function has to know (AWS_ENDPOINT_URL, the URLs of the queues) is
printed before it is invoked. A port that is known before: -listen 127.0.0.1:9324.
A container does not reach 127.0.0.1 of its host: -listen 0.0.0.0:9324 and, in the
container, AWS_ENDPOINT_URL=http://host.docker.internal:9324 (on Linux with
sam local start-lambda --add-host host.docker.internal:172.17.0.1).
Messages are whatever the function takes; "simulate" and "twice" are not heeded,
and all times are real ones: the queue's visibility timeout is six times
-function-timeout. What cannot be known from outside, the handler's tries above
all, is left out of the tables.
With -endpoint and -queue the queue is another one (calls are signed with
AWS_ACCESS_KEY_ID and what goes with it, if set, and for AWS_REGION). Nothing is
sent there without -f. To find what was parked its dead-letter queue is received
from once, at the end, and left visible.
If the function cannot be invoked, messages come back when their visibility ends,
and go to the dead-letter queue when their receives are used up; the exit code is
1 then.
`

const (
	defaultListen          = "127.0.0.1:0"
	defaultFunctionTimeout = functionTimeout
	longestFunctionTimeout = 15 * time.Minute // Lambda's
)

// define defines the flags.
func (i *invocation) define(f *flag.FlagSet) {
	f.StringVar(&i.url, "invoke", "", "invoke the function at this `URL` instead of the handler of this program")
	f.StringVar(&i.listen, "listen", defaultListen, "with -invoke: `address` where the embedded SQS serves, for the function")
	f.StringVar(&i.endpoint, "endpoint", "", "with -invoke: `URL` of another SQS than the embedded one; needs -queue")
	f.StringVar(&i.queue, "queue", "", "with -endpoint: `URL` of the queue there")
	f.IntVar(&i.concurrency, "concurrency", 1, "with -invoke: `number` of invocations at once")
	f.IntVar(&i.receives, "receives", maxReceives, "with -invoke: maxReceiveCount of the embedded queue")
	f.DurationVar(&i.timeout, "function-timeout", defaultFunctionTimeout, "with -invoke: the function's timeout, which it enforces itself")
	f.DurationVar(&i.wait, "wait", 0, "with -invoke: wait up to so long until something listens at the function's address")
}

// complete reads the flags as a whole, once they are parsed into o. It says
// which of them contradict each other.
func (i *invocation) complete(f *flag.FlagSet, o *options) error {
	given := make(map[string]bool)
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["invoke"] {
		for _, name := range []string{"listen", "endpoint", "queue", "concurrency", "receives", "function-timeout", "wait"} {
			if given[name] {
				return fmt.Errorf("-%s is about a function in another process; give its URL with -invoke, or leave it out", name)
			}
		}
		return nil
	}
	for _, check := range []func() error{
		func() error { return i.checkHandler(given, o) },
		func() error { return i.checkQueue(given) },
		i.checkLimits,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	o.speed = 1
	if i.endpoint != "" {
		i.listen = ""
	}
	to, err := parseTarget(i.url)
	i.to = to
	return err
}

// checkHandler finds flags of the handler that does not run.
func (i *invocation) checkHandler(given map[string]bool, o *options) error {
	switch {
	case o.host != hostLambda:
		return fmt.Errorf("-host %s and -invoke exclude each other: what -invoke invokes is a Lambda function; leave one out", o.host)
	case o.stored():
		return errors.New("-store and -invoke exclude each other: whether there is a store is up to the function; leave one out")
	case given["dlq"]:
		return errors.New("-dlq and -invoke exclude each other: whether messages are parked is up to the function; leave one out")
	case given["speed"] && o.speed != 1:
		return fmt.Errorf("-speed %d and -invoke exclude each other: the function's own times are real ones; leave one out", o.speed)
	}
	return nil
}

// checkQueue finds flags of a queue that is not used.
func (i *invocation) checkQueue(given map[string]bool) error {
	switch {
	case (i.endpoint == "") != (i.queue == ""):
		return errors.New("-endpoint and -queue go together: the URL of an SQS and that of a queue there; give both or none")
	case i.endpoint == "" && i.listen == "":
		return fmt.Errorf("-listen is empty; use an address such as %s", defaultListen)
	case i.endpoint == "":
		return nil
	case given["listen"]:
		return errors.New("-listen and -endpoint exclude each other: there is no embedded SQS to serve; leave one out")
	case given["receives"]:
		return errors.New("-receives and -endpoint exclude each other: the queue has a redrive policy of its own; leave one out")
	}
	for name, text := range map[string]string{"endpoint": i.endpoint, "queue": i.queue} {
		if _, err := parseURL(text); err != nil {
			return fmt.Errorf("-%s is %q; use a URL such as http://127.0.0.1:4566", name, text)
		}
	}
	return nil
}

func (i *invocation) checkLimits() error {
	switch {
	case i.concurrency < 1:
		return fmt.Errorf("-concurrency is %d; use 1 (all that the runtime interface emulator takes) or more", i.concurrency)
	case i.receives < 1 || i.receives > 1000:
		return fmt.Errorf("-receives is %d; use 1 to 1000", i.receives)
	case i.timeout < time.Second || i.timeout > longestFunctionTimeout:
		return fmt.Errorf("-function-timeout is %v; use 1s to %v", i.timeout, longestFunctionTimeout)
	case i.wait < 0:
		return fmt.Errorf("-wait is %v; use a time such as 30s", i.wait)
	}
	return nil
}

// visibility is that of the embedded queue: as AWS recommends, in whole seconds.
func (i *invocation) visibility() time.Duration {
	return (6*i.timeout + time.Second - 1).Truncate(time.Second)
}

// parseTarget takes the URL of Lambda's Invoke API apart.
func parseTarget(text string) (target, error) {
	const example = "http://127.0.0.1:3001/2015-03-31/functions/OrdersFunction/invocations"
	wrong := fmt.Errorf("-invoke is %q; use a URL such as %s (sam local start-lambda), "+
		"or one with the function's name \"function\" (runtime interface emulator)", text, example)
	u, err := parseURL(text)
	if err != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return target{}, wrong
	}
	prefix, rest, found := strings.Cut(u.EscapedPath(), "/2015-03-31/functions/")
	escaped, last, _ := strings.Cut(rest, "/")
	name, err := url.PathUnescape(escaped)
	if !found || last != "invocations" || name == "" || err != nil {
		return target{}, wrong
	}
	t := target{base: u.Scheme + "://" + u.Host + prefix, function: name, host: u.Host}
	if u.Port() == "" {
		t.host += map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	}
	return t, nil
}

// parseURL takes what a request can be made to.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("it is no URL of a service")
	}
	if n, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || n > math.MaxUint16) {
		return nil, errors.New("there is no such port")
	}
	return u, nil
}

// config is the event source of the function.
func (i *invocation) config() sqstest.EventSourceConfig {
	return sqstest.EventSourceConfig{
		Endpoint: i.to.base, Function: i.to.function, Concurrency: i.concurrency, Timeout: i.timeout,
	}
}
