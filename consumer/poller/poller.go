package poller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
	"github.com/ackwise/ackwise/consumer/poller/internal/taskprotect"
)

// ErrRan is what Run returns on a poller that has run, or is running.
var ErrRan = errors.New("poller: it has been run already; make another one with poller.New")

// Poller receives from one queue and runs what it receives through a consumer.
// It is used for one Run; its other methods are safe for concurrent use.
//
// Several pollers, and other hosts, may share a consumer, and its slots.
type Poller struct {
	c     *consumer.Consumer
	cfg   Config
	queue *sqsqueue.Queue
	guard *taskprotect.Protector // nil without ProtectTask

	ran     atomic.Bool
	aborted chan struct{} // closed by Abort
	abort   func()
	pulse   pulse
	warning atomic.Bool // a line is being written
}

// New returns a Poller that runs c. Everything that is wrong with cfg by itself is
// an error here; what takes a look at the queue is one of Run.
func New(c *consumer.Consumer, cfg Config) (*Poller, error) {
	if err := cfg.validate(c); err != nil {
		return nil, fmt.Errorf("poller: %w", err)
	}
	if cfg.Grace == 0 {
		cfg.Grace = DefaultGrace
	}
	p := &Poller{c: c, cfg: cfg, queue: sqsqueue.New(cfg.SQS, cfg.QueueURL, ""), aborted: make(chan struct{})}
	p.abort = sync.OnceFunc(func() { close(p.aborted) })
	if cfg.ProtectTask {
		guard, err := taskprotect.New(os.Getenv("ECS_AGENT_URI"), func(msg string, err error) {
			p.warn(msg, slog.String("error", err.Error()))
		})
		if err != nil {
			return nil, fmt.Errorf("poller: ProtectTask: %w", err)
		}
		p.guard = guard
	}
	return p, nil
}

// prefetch is Config.Prefetch with its special values resolved.
func (p *Poller) prefetch() int {
	switch n := p.cfg.Prefetch; {
	case n < 0:
		return 0
	case n == 0 && sqsqueue.IsFIFO(p.cfg.QueueURL):
		return (maxReceive - 1) * p.c.Config().Concurrency
	case n == 0:
		return DefaultPrefetch
	default:
		return n
	}
}

// Run looks at the queue and then receives until ctx ends, which begins a drain:
//
//   - No receive is begun any more. One that is in flight may finish, for at most
//     half of Grace.
//   - What was received and not begun is given back at once, to others.
//   - Running handlers may finish within Grace. What is cut off then is given back
//     too, and no attempt is counted.
//   - Deletes and visibility changes that are due are made, and Run returns nil,
//     at the latest five seconds after Grace.
//
// A queue that does not exist or may not be read is an error at once, as long as
// nothing was received; later, and for everything else that goes wrong with a
// receive, Run logs and tries again, after growing waits of up to half a minute.
// It is an error if the queue's ARN cannot be asked for, since idempotency keys
// are kept apart by it, and if a timing of the configuration does not fit the
// visibility timeout of the queue.
//
// Run returns [consumer.ErrStuck], after a drain, when every slot is held by a
// handler that ignores its context: only a new process helps. A second Run
// returns [ErrRan].
//
// When Run has returned, nothing that it started is running, but for such
// handlers.
func (p *Poller) Run(ctx context.Context) error {
	if !p.ran.CompareAndSwap(false, true) {
		return ErrRan
	}
	p.pulse.begin()
	defer p.pulse.end()
	about, err := p.look(ctx)
	if err != nil {
		if ctx.Err() != nil || p.isAborted() {
			return nil // told to stop before it had begun
		}
		return fmt.Errorf("poller: %w", err)
	}
	t, err := p.cfg.timing(p.c, about.Visibility)
	if err == nil {
		err = p.c.CheckQueue(about.Queue) // by its ARN now
	}
	if err != nil {
		return fmt.Errorf("poller: %w", err)
	}
	p.warnAbout(about, t)
	about.Visibility = t.visibility // what the messages get, whatever the queue says
	if err := newRun(ctx, p, about.Queue, t).run(ctx); err != nil {
		return fmt.Errorf("poller: %w", err)
	}
	return nil
}

// Abort ends a drain, or begins one without Grace: running handlers are cancelled
// with [consumer.ErrDraining] now, and Run returns within a few seconds. It may be
// called at any time and more than once.
func (p *Poller) Abort() { p.abort() }

func (p *Poller) isAborted() bool {
	select {
	case <-p.aborted:
		return true
	default:
		return false
	}
}

// warn writes a line to the consumer's log, whatever its handler does: it may panic,
// end its goroutine, or block. While it blocks, other lines are left out.
func (p *Poller) warn(msg string, attrs ...slog.Attr) {
	if !p.warning.CompareAndSwap(false, true) {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer p.warning.Store(false)
		defer func() { _ = recover() }()
		p.c.Logger().LogAttrs(context.Background(), slog.LevelWarn, msg, append(attrs, slog.String("url", p.cfg.QueueURL))...)
	}()
	patience := time.NewTimer(logGrace)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
	}
}

// logGrace is how long a line of log is waited for.
const logGrace = 200 * time.Millisecond
