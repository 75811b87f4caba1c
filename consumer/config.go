package consumer

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/retry"
)

// DefaultConcurrency is how many handlers run at once unless Config says.
const DefaultConcurrency = 10

// Config configures a [Consumer]. The zero value is usable and safe.
type Config struct {
	// Retry limits the tries within one delivery. Default: three tries, waits
	// with full jitter under an exponential from 100 ms to 2 s, none longer
	// than 5 s; see [retry.Policy]. Tries 1 leaves all retrying to the queue.
	Retry retry.Policy
	// TryTimeout bounds one try: its context ends after so long, with the cause
	// ErrTryTimeout. Default 0: no bound but the host's deadline. A try that
	// does not return when its context ends is waited for, and there is no
	// second one beside it.
	TryTimeout time.Duration
	// Redelivery says when a failed message comes back, and when it no longer
	// does.
	Redelivery Redelivery
	// Concurrency is how many handlers of this Consumer run at once in this
	// process, over all invocations and pollers that share it. A handler counts
	// from its first try to its last, waits between them included: see
	// [retry.Policy.MaxWait]. Default 10. On a FIFO queue messages of one group
	// still run one after another.
	Concurrency int
	// Idempotency guards against running a message again whose work is done, or
	// is being done elsewhere, and counts attempts. Default nil: none of that; a
	// handler must bear a second run.
	Idempotency *idempotency.Guard
	// Key finds the key that the guard guards. It needs Idempotency. Default
	// [MessageID], which recognises redeliveries only.
	Key KeyFunc
	// DeadLetter takes rejected messages. Default nil: they are reported to
	// SQS, whose redrive policy moves them when their receives are used up. One
	// that has a method Validate() error is asked at construction.
	DeadLetter DeadLetter
	// Middleware wraps the handler, the first outermost.
	Middleware []Middleware
	// Logger gets one line per outcome that is not done, and warnings. Bodies
	// are never logged. Default slog.Default().
	Logger *slog.Logger
	// Observe is told what happens, for metrics. It is called from several
	// goroutines at once, must be quick, and cannot change a verdict: a panic in
	// it is logged and forgotten. One that blocks holds up its goroutine, and the
	// answer of an invocation until shortly before the deadline. Default nil.
	Observe func(Event)
}

// Redelivery says when a failed message comes back from its queue.
type Redelivery struct {
	// Backoff is how long a message stays invisible after its nth attempt (its
	// nth receive, without an idempotency store). Whole seconds, rounded up; 0
	// makes it visible at once; a negative answer leaves its visibility as it is.
	// Default: half jitter under an exponential from 10 s to 15 min, so that
	// delays grow with each failure until they reach that. What [retry.After]
	// asked for goes before it. Never beyond the 12 hours that SQS allows.
	Backoff retry.Backoff
	// MaxAttempts is how many attempts a message gets before it is rejected. It
	// needs an idempotency store, because SQS counts receives, not attempts;
	// without one, set maxReceiveCount in the queue's redrive policy. Default
	// 0: no limit.
	MaxAttempts int
	// MaxAge rejects a message whose next delivery would come later than so
	// long after it was sent. Default: the queue's retention less 10 minutes (or
	// less half of it, if that is shorter), where the host knows it; else none.
	MaxAge time.Duration
}

// Consumer runs one handler for any number of sessions. It is safe for
// concurrent use.
type Consumer struct {
	handler Handler
	cfg     Config
	slots   chan struct{}

	observeOff, logOff atomic.Bool // called runtime.Goexit

	stray  atomic.Int64 // abandoned handlers that have not returned
	mu     sync.Mutex
	strays map[strayKey]int
}

// New returns a Consumer of h. Everything that is wrong with cfg is an error
// here, one that names the field and says what to change.
func New(h Handler, cfg Config) (*Consumer, error) {
	if err := validate(h, cfg); err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	ownRetry, ownRedelivery := cfg.Retry.Backoff, cfg.Redelivery.Backoff
	cfg.Retry, cfg.Redelivery.Backoff = cfg.Retry.WithDefaults(), defaultRedelivery
	if cfg.Key == nil {
		cfg.Key = MessageID
	}
	if cfg.Concurrency == 0 {
		cfg.Concurrency = DefaultConcurrency
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	for i, wrap := range slices.Backward(cfg.Middleware) {
		if h = wrap(h); isNil(h) {
			return nil, fmt.Errorf("consumer: Middleware[%d] returned a nil handler; return the one it was given if there is nothing to wrap", i)
		}
	}
	c := &Consumer{
		handler: h,
		cfg:     cfg,
		slots:   make(chan struct{}, cfg.Concurrency),
		strays:  make(map[strayKey]int),
	}
	if ownRetry != nil {
		c.cfg.Retry.Backoff = c.guarded(ownRetry, retry.Policy{}.WithDefaults().Backoff)
	}
	if ownRedelivery != nil {
		c.cfg.Redelivery.Backoff = c.guarded(ownRedelivery, defaultRedelivery)
	}
	return c, nil
}

var defaultRedelivery = retry.HalfJitter(retry.Exponential(10*time.Second, 15*time.Minute))

// guarded keeps a user's backoff that panics, or calls runtime.Goexit, from taking
// more with it than its answer, which the fallback gives.
func (c *Consumer) guarded(b, fallback retry.Backoff) retry.Backoff {
	var off atomic.Bool // called runtime.Goexit
	return func(n int) (d time.Duration) {
		if off.Load() {
			return fallback(n)
		}
		v, returned := apart(func() { d = b(n) })
		if !returned {
			off.Store(v == nil)
			apart(func() { c.log(slog.LevelError, "Backoff panicked, or called runtime.Goexit", slog.Any("panic", v)) })
			return fallback(n)
		}
		return d
	}
}

func isNil(h Handler) bool {
	f, ok := h.(HandlerFunc)
	return h == nil || (ok && f == nil)
}

func validate(h Handler, cfg Config) error {
	if isNil(h) {
		return errors.New("the handler is nil; pass a Handler, a HandlerFunc or consumer.JSON of a function")
	}
	if err := cfg.Retry.Validate(); err != nil {
		return fmt.Errorf("Retry.%w", err)
	}
	r := cfg.Redelivery
	switch {
	case cfg.TryTimeout < 0:
		return fmt.Errorf("TryTimeout is %v; use 0 for no timeout of a single try", cfg.TryTimeout)
	case cfg.Concurrency < 0:
		return fmt.Errorf("Concurrency is %d; use 1 to run one handler at a time or 0 for the default of %d", cfg.Concurrency, DefaultConcurrency)
	case r.MaxAge < 0:
		return fmt.Errorf("Redelivery.MaxAge is %v; use 0 for the default (the queue's retention less 10 minutes) or 14 days for no limit of its own", r.MaxAge)
	case r.MaxAttempts < 0:
		return fmt.Errorf("Redelivery.MaxAttempts is %d; use 0 for no limit", r.MaxAttempts)
	case cfg.Idempotency == nil && cfg.Key != nil:
		return errors.New("Key is set without Idempotency, and nothing else uses it: set Idempotency to a guard, or remove Key")
	case cfg.Idempotency == nil && r.MaxAttempts > 0:
		return fmt.Errorf("Redelivery.MaxAttempts is %d without an idempotency store, and nothing else counts attempts: "+
			"set Idempotency, or remove it and set maxReceiveCount in the queue's redrive policy", r.MaxAttempts)
	}
	if v, ok := cfg.DeadLetter.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return fmt.Errorf("DeadLetter: %w", err)
		}
	}
	for i, m := range cfg.Middleware {
		if m == nil {
			return fmt.Errorf("Middleware[%d] is nil; remove it", i)
		}
	}
	return nil
}

// strayKey names the message of a handler that was abandoned.
type strayKey struct{ queue, id string }

// Stuck reports whether every slot is held by an abandoned handler, so that
// nothing can run any more. Hosts ask before they take on work; see [ErrStuck].
func (c *Consumer) Stuck() bool { return c.stray.Load() >= int64(cap(c.slots)) }

func (c *Consumer) addStray(k strayKey, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stray.Add(int64(n))
	if c.strays[k] += n; c.strays[k] == 0 {
		delete(c.strays, k)
	}
}

func (c *Consumer) isStray(k strayKey) bool {
	if c.stray.Load() == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.strays[k] > 0
}

// Config returns the configuration with the defaults filled in, for hosts.
func (c *Consumer) Config() Config { return c.cfg }

// CheckQueue reports what in the configuration contradicts a queue, for a host to
// ask when it is made. A DeadLetter that has a method Fits(Queue) error is asked.
// A field of q that is zero is not known, but for FIFO.
func (c *Consumer) CheckQueue(q Queue) error {
	if v, ok := c.cfg.DeadLetter.(interface{ Fits(q Queue) error }); ok {
		if err := v.Fits(q); err != nil {
			return fmt.Errorf("DeadLetter: %w", err)
		}
	}
	return nil
}
