package sqstest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Limits and defaults of [EventSourceConfig]. The limits are those of Lambda's
// CreateEventSourceMapping API.
const (
	DefaultBatchSize       = 10
	MaxBatchSize           = 10_000
	MaxFIFOBatchSize       = 10
	MaxWindow              = 300 * time.Second
	DefaultConcurrency     = 5 // where Lambda starts for a standard queue
	DefaultFunctionTimeout = 30 * time.Second
	MaxPayload             = 6 << 20 // bytes: the limit of a synchronous invocation, each way
)

// Handler is a Lambda function in process: the lambda.Handler of aws-lambda-go,
// so what lambda.NewHandler returns is one, and so is a lambdasqs.Adapter. Run
// calls it from several goroutines at once, as a process with
// AWS_LAMBDA_MAX_CONCURRENCY does.
type Handler interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

// HandlerFunc makes a [Handler] of a function.
type HandlerFunc func(ctx context.Context, payload []byte) ([]byte, error)

// Invoke calls f.
func (f HandlerFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}

// EventSource is Lambda's event source mapping for an SQS queue: it polls the
// queue, invokes a function with what it receives, deletes what the answer
// allows and leaves the rest alone. It never changes a visibility timeout: what
// failed comes back when its visibility ends, at the time the queue or the
// function decided. Create it with [NewEventSource]; one [EventSource.Run] or
// [EventSource.Drain] at a time uses it. Its methods are safe for concurrent use.
type EventSource struct {
	cfg    EventSourceConfig
	server *Server // nil unless the client's transport is that of a Server here
	invoke invoker
	active atomic.Bool
	// handlers are the calls of an in-process handler, late ones included.
	handlers sync.WaitGroup
	late     atomic.Int64

	mu    sync.Mutex // guards what follows, for short sections only
	queue *sourceQueue
	stats Stats
}

// NewEventSource returns an event source that has not begun to poll. What is
// wrong with cfg by itself is an error here; what takes a look at the queue is
// one of Run and Drain: a queue that does not exist, and a visibility timeout
// below the function's timeout, which Lambda refuses when a mapping is created.
func NewEventSource(cfg EventSourceConfig) (*EventSource, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("sqstest: %w", err)
	}
	e := &EventSource{cfg: cfg.withDefaults(), stats: Stats{Failures: make(map[FailureKind]int)}}
	e.server = serverOf(cfg.Client)
	e.invoke = e.inProcess
	if cfg.Endpoint != "" {
		e.invoke = newEndpoint(e.cfg).invoke
	}
	return e, nil
}

// ErrBusy says that a Run or Drain of the event source is under way.
var ErrBusy = errors.New("sqstest: the event source is running already; make another one")

// Run polls until ctx ends and then returns nil. Invocations under way are let
// finish, as Lambda lets them, and their messages deleted, so it can take up to
// the function's timeout; then nothing it started is left (but see
// [EventSourceConfig.LeaveLate]). It returns an error if it cannot go on: the
// queue is gone or access is denied, ten receives in a row failed in a way that
// could have passed, the server was closed, or [ErrBusy].
func (e *EventSource) Run(ctx context.Context) error { return e.pump(ctx, false) }

// Drain is [EventSource.Run] until the queue is quiet: no message is visible,
// delayed or in flight, and no invocation is under way. Everything has then been
// deleted, or moved to a dead-letter queue, or has outlived its retention (a
// message that fails for ever, without a dead-letter queue, takes four days of
// virtual time). It returns nil then, and the cause if ctx ends before.
//
// With the client of a [Server] in this process it waits without polling, so
// that a message hidden for 12 hours costs a test in a synctest bubble nothing.
// With any other endpoint it polls for up to 20 s at a time and asks
// GetQueueAttributes, whose counts are approximate on AWS.
func (e *EventSource) Drain(ctx context.Context) error { return e.pump(ctx, true) }

func (e *EventSource) pump(ctx context.Context, drain bool) error {
	if !e.active.CompareAndSwap(false, true) {
		return ErrBusy
	}
	defer e.active.Store(false)
	if err := e.open(ctx); err != nil {
		return fmt.Errorf("sqstest: event source: %w", err)
	}
	p := &pump{
		e: e, drain: drain,
		slots:    make(chan struct{}, e.cfg.Concurrency),
		finished: make(chan struct{}, 1),
	}
	err := p.run(ctx)
	p.invocations.Wait()
	if !e.cfg.LeaveLate {
		e.handlers.Wait()
	}
	if e.cfg.closeIdle {
		e.cfg.HTTPClient.CloseIdleConnections()
	}
	if err != nil {
		return fmt.Errorf("sqstest: event source: %w", err)
	}
	return nil
}

// Stats returns the counts since the event source was made. The result is a
// copy.
func (e *EventSource) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats
	s.Failures = maps.Clone(e.stats.Failures)
	s.Late = int(e.late.Load())
	return s
}

// count changes the counts.
func (e *EventSource) count(f func(s *Stats)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(&e.stats)
}

// asEventSource makes a call one of the event source, whoever's client it is.
func asEventSource(o *sqs.Options) { o.AppID = EventSourceCaller }
