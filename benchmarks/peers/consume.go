package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/benchmarks/internal/stub"
)

// order is what the process of a consumer is told to do.
type order struct {
	Consumer string
	Endpoint string
	QueueURL string
	Messages int
	Slow     time.Duration // how long a slow message takes; 0: there are none
	Once     bool          // the server hands out each message once: more than Messages is an error
}

// sample is what one run measured, from the consumer's start to the moment the
// last of its messages was gone.
type sample struct {
	Messages int
	Elapsed  time.Duration
	CPU      time.Duration // user and system, this process alone
	Allocs   uint64
	InHand   int            // messages at most, at one time; 0: not known
	Waiting  int            // receives without an answer at the end
	Calls    map[string]int // HTTP requests to SQS by action: see counter
}

// stopTime is how long a consumer may take to stop when it has been measured.
const stopTime = 30 * time.Second

// consume is the life of a consumer's process. It works until finished is
// closed, which the caller does when all messages are gone from the queue.
func consume(ctx context.Context, o order, finished <-chan struct{}) (sample, error) {
	var c *consumer
	for _, one := range consumers() {
		if one.name == o.Consumer {
			c = &one
		}
	}
	if c == nil {
		return sample{}, fmt.Errorf("no consumer is called %q", o.Consumer)
	}
	calls := &counter{next: awshttp.NewBuildableClient(), calls: make(map[string]int)}
	var handled atomic.Int64
	j := job{
		client:   newClient(o.Endpoint, calls),
		queueURL: o.QueueURL,
		handle: func(body string) {
			if o.Slow > 0 && stub.Slow(body) {
				time.Sleep(o.Slow)
			}
			handled.Add(1)
		},
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	before := readUsage()
	returned := make(chan error, 1)
	go func() { returned <- c.run(ctx, j) }()
	select {
	case <-finished:
	case err := <-returned:
		return sample{}, errors.Join(errors.New("returned before all was consumed"), err)
	}
	s := readUsage().since(before)
	s.Messages = o.Messages
	s.Calls, s.Waiting = calls.snapshot()

	stop()
	select {
	case <-returned:
	case <-time.After(stopTime):
		return s, fmt.Errorf("did not stop within %v", stopTime)
	}
	if n := int(handled.Load()); n < o.Messages || o.Once && n > o.Messages {
		return s, fmt.Errorf("handled %d messages of %d", n, o.Messages)
	}
	return s, nil
}

// consumerProcess reads its order from its standard input, measures until that
// input ends, and writes the sample to w.
func consumerProcess(ctx context.Context, r io.Reader, w io.Writer) error {
	var o order
	in := json.NewDecoder(r)
	if err := in.Decode(&o); err != nil {
		return err
	}
	finished := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, r)
		close(finished)
	}()
	s, err := consume(ctx, o, finished)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(s)
}

// newClient makes the client all consumers use: the SDK's defaults, with static
// credentials.
func newClient(endpoint string, h sqs.HTTPClient) *sqs.Client {
	return sqs.New(sqs.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider("peers", "peers", ""),
		HTTPClient:   h,
	})
}

// usage is what this process has used so far.
type usage struct {
	at      time.Time
	cpu     time.Duration
	mallocs uint64
}

func readUsage() usage {
	var ru syscall.Rusage
	// It fails for a wrong argument only, and RUSAGE_SELF is none.
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		panic(errors.Join(errors.New("getrusage"), err))
	}
	u := usage{at: time.Now(), cpu: time.Duration(ru.Utime.Nano() + ru.Stime.Nano())}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.mallocs = m.Mallocs
	return u
}

func (u usage) since(b usage) sample {
	return sample{Elapsed: u.at.Sub(b.at), CPU: u.cpu - b.cpu, Allocs: u.mallocs - b.mallocs}
}
