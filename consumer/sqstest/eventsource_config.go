package sqstest

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// EventSourceConfig configures an [EventSource], as CreateEventSourceMapping
// does a mapping. Client, QueueURL and one of Handler and Endpoint are needed.
type EventSourceConfig struct {
	// Client reaches the queue: that of a [Server], or of any other endpoint.
	// Calls are made with the application id [EventSourceCaller], so they are
	// counted apart from the program's own.
	Client *sqs.Client
	// QueueURL is the queue. One that ends in .fifo is a FIFO queue.
	QueueURL string

	// Handler is the function, in this process. Excludes Endpoint.
	Handler Handler
	// Endpoint is the base URL of a Lambda Invoke endpoint, for example
	// http://127.0.0.1:8080 for the runtime interface emulator or
	// http://127.0.0.1:3001 for sam local start-lambda. Excludes Handler.
	Endpoint string
	// Function is the function's name at Endpoint. Default: "function", the
	// only one that the runtime interface emulator knows.
	Function string
	// HTTPClient makes the requests to Endpoint. Default: one of its own,
	// without a proxy, whose idle connections are closed when Run returns.
	HTTPClient *http.Client

	// BatchSize is the most messages in an event, 1 to 10,000, on a FIFO queue
	// to 10. More than 10 need a Window. Default: 10.
	BatchSize int
	// Window is how long a batch is filled once it has its first message, whole
	// seconds up to 300. Standard queues only. Default 0: a batch is what one
	// receive returns. Choose a visibility timeout of at least Window + Timeout:
	// it runs from the receive.
	Window time.Duration
	// Concurrency is how many batches are invoked at once at most; messages are
	// received only when one more may be. On a FIFO queue it is also bounded by
	// the groups, since no two batches hold messages of one group at once.
	// Default: 5, where Lambda starts, and 1 with Endpoint, since the runtime
	// interface emulator takes one invocation at a time.
	Concurrency int
	// Timeout is the function's timeout: the deadline of the handler's context.
	// A handler that has not returned by then failed, its batch stays, and what
	// it returns later is ignored; a return at that very instant is too late as
	// well. At Endpoint, which has a timeout of its own, the request is given up
	// 10 s after it, to leave time for a cold start. The queue's visibility
	// timeout must not be shorter. Default: 30 s.
	Timeout time.Duration
	// PayloadLimit cuts batches: an event has at most so many bytes, or one
	// message. What was received with it is invoked right after, in the same
	// slot; on a FIFO queue without the groups that failed. Default and most:
	// 6 MiB.
	PayloadLimit int
	// WithoutReportBatchItemFailures is a mapping that lacks
	// FunctionResponseTypes: [ReportBatchItemFailures]: the answer is ignored,
	// and a function that returns without an error has done everything, whatever
	// it lists. Default false.
	WithoutReportBatchItemFailures bool
	// Filter stands for FilterCriteria. A message whose body it returns false
	// for is deleted and never invoked. Default nil: all match.
	Filter func(body string) bool
	// LeaveLate lets Run and Drain return although handlers that outlived
	// Timeout are still running (see [Stats.Late]). Default false: they wait for
	// them, so that none outlives the test; one that never returns makes them
	// hang, and in a synctest bubble ends the test with a deadlock.
	LeaveLate bool
	// Observe, if set, is called after each invocation, when its messages have
	// been deleted. It may be called by several goroutines at once.
	Observe func(Invocation)

	closeIdle bool // HTTPClient is our own
}

func (c EventSourceConfig) validate() error {
	for _, check := range []func() error{c.checkTarget, c.checkBatch, c.checkLimits} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c EventSourceConfig) checkTarget() error {
	switch {
	case c.Client == nil:
		return errors.New("Client is nil; use Server.Client, or an sqs.Client with another endpoint")
	case c.QueueURL == "":
		return errors.New("QueueURL is empty; use Queue.URL, or what CreateQueue returned")
	case c.Handler == nil && c.Endpoint == "":
		return errors.New("Handler and Endpoint are both missing; set the one that has the function")
	case c.Handler != nil && c.Endpoint != "":
		return errors.New("Handler and Endpoint are both set; remove one")
	case c.Endpoint == "" && c.Function != "":
		return errors.New("Function is set without Endpoint; set Endpoint, or remove Function")
	case c.Endpoint == "" && c.HTTPClient != nil:
		return errors.New("HTTPClient is set without Endpoint; set Endpoint, or remove HTTPClient")
	case c.Endpoint == "":
		return nil
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("Endpoint is %q; use a base URL such as http://127.0.0.1:8080", c.Endpoint)
	}
	return nil
}

func (c EventSourceConfig) checkBatch() error {
	fifo := isFIFO(c.QueueURL)
	switch {
	case c.BatchSize < 0 || c.BatchSize > MaxBatchSize:
		return fmt.Errorf("BatchSize is %d; use 1 to %d, or 0 for %d", c.BatchSize, MaxBatchSize, DefaultBatchSize)
	case fifo && c.BatchSize > MaxFIFOBatchSize:
		return fmt.Errorf("BatchSize is %d on a FIFO queue; use at most %d", c.BatchSize, MaxFIFOBatchSize)
	case fifo && c.Window != 0:
		return errors.New("Window is set on a FIFO queue, which has none; remove it")
	case c.Window < 0 || c.Window > MaxWindow || c.Window%time.Second != 0:
		return fmt.Errorf("Window is %v; use whole seconds up to %v", c.Window, MaxWindow)
	case c.BatchSize > DefaultBatchSize && c.Window == 0:
		return fmt.Errorf("BatchSize is %d without a Window; set Window to 1 s or more, or BatchSize to at most 10", c.BatchSize)
	}
	return nil
}

func (c EventSourceConfig) checkLimits() error {
	switch {
	case c.Concurrency < 0:
		return fmt.Errorf("Concurrency is %d; use 1 or more, or 0 for the default", c.Concurrency)
	case c.Timeout < 0:
		return fmt.Errorf("Timeout is %v; use a positive time, or 0 for %v", c.Timeout, DefaultFunctionTimeout)
	case c.PayloadLimit < 0 || c.PayloadLimit > MaxPayload:
		return fmt.Errorf("PayloadLimit is %d; use at most %d, Lambda's own limit, or 0 for that", c.PayloadLimit, MaxPayload)
	}
	return nil
}

func (c EventSourceConfig) withDefaults() EventSourceConfig {
	if c.BatchSize == 0 {
		c.BatchSize = DefaultBatchSize
	}
	if c.Concurrency == 0 {
		c.Concurrency = DefaultConcurrency
		if c.Endpoint != "" {
			c.Concurrency = 1
		}
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultFunctionTimeout
	}
	if c.PayloadLimit == 0 {
		c.PayloadLimit = MaxPayload
	}
	if c.Function == "" {
		c.Function = "function"
	}
	if c.Endpoint != "" && c.HTTPClient == nil {
		c.HTTPClient = &http.Client{Transport: &http.Transport{}}
		c.closeIdle = true
	}
	return c
}
