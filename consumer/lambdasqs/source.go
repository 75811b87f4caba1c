package lambdasqs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
)

// maxCalls is how many visibility calls are in flight at once, and how many are
// still begun once the time for handlers is up.
const maxCalls = 4

const (
	// extendBeyond is how far past the deadline ExtendVisibility extends.
	extendBeyond = 30 * time.Second
	// logGrace is how long a line of log is waited for when time is up.
	logGrace = 20 * time.Millisecond
	// maxExtension stays clear of the 12 hours since the receive, which
	// happened some time before the invocation.
	maxExtension = 11 * time.Hour
)

// source is one invocation's side of a queue. Lambda does the acknowledging, by
// the answer; what is left is the visibility of what failed.
type source struct {
	a   *Adapter
	arn string
	// stop is closed when handlers are cancelled: from then on the answer is
	// due.
	stop <-chan struct{}

	calls    sync.WaitGroup
	mu       sync.Mutex
	pending  []sqsqueue.Visibility
	senders  int
	flushing bool
	lateLeft int // how many calls may still begin after stop

	asked *finding // nil until somebody asks for the queue
}

// finding is the search for a queue.
type finding struct {
	done chan struct{}
	// queue is set when done is closed; nil if it cannot be called.
	queue *sqsqueue.Queue
}

func (a *Adapter) source(arn string) *source {
	return &source{a: a, arn: arn, lateLeft: maxCalls}
}

// Queue implements consumer.Source.
func (s *source) Queue() consumer.Queue {
	return consumer.Queue{ARN: s.arn, Name: sqsqueue.NameOf(s.arn), FIFO: sqsqueue.IsFIFO(s.arn)}
}

// Settle implements consumer.Source. It never waits.
func (s *source) Settle(ctx context.Context, os []consumer.Outcome) []error {
	if s.a.cfg.SQS == nil || len(os) == 1 && os[0].Acknowledged() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range os {
		if o := &os[i]; !o.Acknowledged() && o.Delay >= 0 {
			s.pending = append(s.pending, sqsqueue.Visibility{Receipt: o.Delivery.Receipt, For: o.Delay})
		}
	}
	s.send(ctx)
	return nil
}

// Flush implements consumer.Source: it sends what does not fill a batch, and
// waits for all calls.
func (s *source) Flush(ctx context.Context) error {
	s.mu.Lock()
	s.flushing = true
	s.send(ctx)
	s.mu.Unlock()
	s.calls.Wait()
	return nil
}

// send starts senders while there are batches to send. s.mu is held.
func (s *source) send(ctx context.Context) {
	for left := len(s.pending) - s.senders*sqsqueue.MaxBatch; s.senders < maxCalls; left -= sqsqueue.MaxBatch {
		if left <= 0 || left < sqsqueue.MaxBatch && !s.flushing {
			return
		}
		s.senders++
		s.calls.Go(func() { s.sendAll(ctx) })
	}
}

func (s *source) sendAll(ctx context.Context) {
	queue := s.findQueue(ctx)
	for changes, late := s.take(); changes != nil; changes, late = s.take() {
		change := queue.ChangeVisibility
		if late {
			change = queue.ChangeVisibilityOnce
		}
		if queue != nil {
			s.warn(ctx, "failed messages keep the visibility they have", change(ctx, changes))
		}
	}
}

// take gives the next batch to send, or nil, in which case the calling
// goroutine no longer counts as a sender. late says that the answer is due.
func (s *source) take() (changes []sqsqueue.Visibility, late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.pending), sqsqueue.MaxBatch)
	if n == 0 || n < sqsqueue.MaxBatch && !s.flushing {
		s.senders--
		return nil, false
	}
	select {
	case <-s.stop:
		late = true
		if s.lateLeft--; s.lateLeft < 0 {
			s.senders--
			return nil, true
		}
	default:
	}
	changes = s.pending[:n:n]
	s.pending = s.pending[n:]
	return changes, late
}

// Extend implements consumer.Source.
func (s *source) Extend(ctx context.Context, ds []*consumer.Delivery, d time.Duration) []error {
	queue := s.findQueue(ctx)
	if queue == nil {
		return nil
	}
	return queue.Extend(ctx, ds, d)
}

// extendAll is ExtendVisibility's round at the start. It is over before the
// first handler begins, so that it cannot undo the backoff of a message that
// fails quickly.
func (s *source) extendAll(ctx context.Context, ds []*consumer.Delivery) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return
	}
	left := time.Until(deadline)
	ctx, cancel := context.WithTimeout(ctx, left/4)
	defer cancel()
	to := min(left+extendBeyond, maxExtension).Truncate(time.Second)
	s.warn(ctx, "messages could not be extended", s.Extend(ctx, ds, to))
}

// warn logs the first of the errors. A failed visibility call changes no
// verdict: the message just comes back when its visibility timeout has passed.
func (s *source) warn(ctx context.Context, what string, errs []error) {
	failed, first := sqsqueue.Failures(errs)
	if failed == 0 {
		return
	}
	s.a.warn(ctx, s.arn, what, slog.Int("messages", failed), slog.String("error", first.Error()))
}

// findQueue is [Adapter.queue], asked once in an invocation: senders that need
// the answer at the same time wait for that of the first.
func (s *source) findQueue(ctx context.Context) *sqsqueue.Queue {
	s.mu.Lock()
	f, first := s.asked, s.asked == nil
	if first {
		f = &finding{done: make(chan struct{})}
		s.asked = f
	}
	s.mu.Unlock()
	if !first {
		<-f.done
		return f.queue
	}
	f.queue = s.a.queue(ctx, s.arn)
	if f.queue == nil && ctx.Err() != nil {
		// The asker's time was up: the next one asks again.
		s.mu.Lock()
		s.asked = nil
		s.mu.Unlock()
	}
	close(f.done)
	return f.queue
}

// queue finds out how to call SQS about a queue, once per queue and process. It
// is nil where that cannot be done, and a warning says so: one, or one for each
// invocation if the reason is one that may pass.
func (a *Adapter) queue(ctx context.Context, arn string) *sqsqueue.Queue {
	if q, ok := a.queues.Load(arn); ok {
		return q.(*sqsqueue.Queue) //nolint:forcetypeassert // nothing else is stored
	}
	q, err := a.find(ctx, arn)
	if err == nil {
		a.queues.Store(arn, q)
		return q
	}
	again := false
	switch class := sqsqueue.Classify(err); {
	case class == sqsqueue.ClassDenied, class == sqsqueue.ClassNoQueue, errors.Is(err, errUnknownURL):
		_, again = a.queues.LoadOrStore(arn, q) // it will not be better next time
	}
	if !again {
		a.warn(ctx, arn, "failed messages keep the visibility they have: set Config.QueueURL for the queue", slog.String("error", err.Error()))
	}
	return nil
}

var errUnknownURL = errors.New("its URL is not known")

func (a *Adapter) find(ctx context.Context, arn string) (*sqsqueue.Queue, error) {
	id, err := sqsqueue.ParseARN(arn)
	if url := a.cfg.QueueURL[arn]; url != "" {
		return sqsqueue.New(a.cfg.SQS, url, id.Region), nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnknownURL, err)
	}
	url, err := id.URL(ctx, a.cfg.SQS)
	if err != nil {
		return nil, err
	}
	return sqsqueue.New(a.cfg.SQS, url, id.Region), nil
}

// warn writes a line to the consumer's log, whatever its handler does: it may
// panic, end its goroutine, or take longer than ctx allows.
func (a *Adapter) warn(ctx context.Context, arn, what string, attrs ...slog.Attr) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		a.c.Logger().LogAttrs(context.WithoutCancel(ctx), slog.LevelWarn, what, append(attrs, slog.String("queue", arn))...)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(logGrace):
		}
	}
}
