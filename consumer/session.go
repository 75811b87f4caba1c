package consumer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// ErrClosed is what Submit returns on a session that was closed.
var ErrClosed = errors.New("consumer: the session is closed; open a new one")

// SessionOptions configures one session. The zero value has no deadline and no
// bound on what is unsettled.
type SessionOptions struct {
	// Context carries values to the handlers, and when it ends, so do they.
	// Default context.Background().
	Context context.Context
	// Deadline is when the host must have answered. Default: the Context's
	// deadline, or none.
	Deadline time.Time
	// Reserve is how long before the deadline handlers are cancelled, so that
	// time remains to collect them and to settle. At most a quarter of the time
	// there is when the session opens. Default 2 s; negative for none.
	Reserve time.Duration
	// Capacity is how many deliveries may be unsettled before Submit blocks.
	// Default 0: no bound. On a FIFO queue a Submit waits until there is room for
	// all that it brings (or as much room as there ever is).
	Capacity int
	// Beat is how often the session extends the visibility of what is unsettled,
	// what waits included, by the Visibility of the source's Queue, and renews
	// claims. Every delivery needs a VisibleUntil then, and Beat should be at most
	// half of the visibility. Default 0: nothing is extended.
	Beat time.Duration
	// MaxHold is how long after its handler was entered a message is extended to at
	// the longest. A handler that takes longer is cancelled, with [ErrLeaseLost],
	// when that time is over. Default, and at most: 12 hours less a minute from the
	// receive, which is what SQS allows. Without Beat it means nothing.
	MaxHold time.Duration
	// SettlesAtOnce says that the source's Settle never waits for anything.
	// Settling then needs no goroutine of its own.
	SettlesAtOnce bool
}

// Session is one invocation, or one poller's life: a stretch of deliveries from
// one source. It is safe for concurrent use.
type Session struct {
	c     *Consumer
	src   Source
	acks  acknowledger // src, if it is one
	queue Queue
	quick bool
	clock clock

	// start ends waits and new starts, and never after handle, which ends
	// handlers. last is for settling: it outlives both.
	start, handle, last    context.Context
	endStarts, endHandlers context.CancelCauseFunc
	release                context.CancelFunc
	watching               sync.Once
	unwatch                func() bool // keeps the end of start from setting off a deferral; nil if nothing watches it
	unwatched              atomic.Bool
	deferral               sync.WaitGroup      // that deferral
	room                   *semaphore.Weighted // nil without a bound
	capacity               int
	heart                  *heart // nil without a Beat
	goroutines             tally
	storeDown              atomic.Bool   // the idempotency store's last answer was none
	probing                chan struct{} // held by the one claim that tries it then

	mu        sync.Mutex       // guards what follows; never held across a wait
	inflight  map[string]*work // by message id; without those of batch
	batch     []work           // all that Run brought, if it was taken at once
	whole     bool             // what comes next is all that Run brings
	lanes     map[string]*lane
	ready     workList
	workers   int               // goroutines that take from ready
	starting  int               // those of them that have not taken anything yet
	apart     int               // goroutines that do nothing but settle
	finals    map[*work]Outcome // the outcomes of those that were left
	unsettled int
	idle      chan struct{} // closed when unsettled drops to 0
	closed    bool
}

// Open begins a session on src. It must be closed.
func (c *Consumer) Open(src Source, o SessionOptions) *Session {
	s := &Session{
		c: c, src: src, queue: src.Queue(), quick: o.SettlesAtOnce,
	}
	s.acks, _ = src.(acknowledger)
	if c.cfg.Idempotency != nil {
		s.probing = make(chan struct{}, 1)
	}
	if s.queue.FIFO {
		s.lanes = make(map[string]*lane)
	}
	if o.Capacity > 0 {
		s.room, s.capacity = semaphore.NewWeighted(int64(o.Capacity)), o.Capacity
	}
	s.openContexts(o)
	if o.Beat > 0 {
		s.startHeart(o.Beat, maxHold(o.MaxHold))
	}
	s.deferral.Add(1)
	if s.heart != nil {
		s.watch()
	}
	return s
}

func maxHold(d time.Duration) time.Duration {
	if longest := maxVisibility - visibilityMargin; d <= 0 || d > longest {
		return longest
	}
	return d
}

func (s *Session) openContexts(o SessionOptions) {
	base := o.Context
	if base == nil {
		base = context.Background()
	}
	s.last = context.WithoutCancel(base)
	deadline := o.Deadline
	if deadline.IsZero() {
		deadline, _ = base.Deadline()
	}
	if !deadline.IsZero() && errors.Is(base.Err(), context.DeadlineExceeded) {
		base = s.last // the deadline is ours too, and ends it with ErrDeadline
	}
	s.handle, s.endHandlers = context.WithCancelCause(base)
	if deadline.IsZero() {
		s.start, s.endStarts = context.WithCancelCause(s.handle)
		s.last, s.release = context.WithCancel(s.last)
		return
	}
	s.clock = newClock(time.Now(), deadline, o.Reserve, s.c.cfg.TryTimeout)
	limits := &[2]limited{{s.handle, s.clock.stop}}
	s.handle = &limits[0]
	s.start, s.endStarts = context.WithCancelCause(s.handle)
	limits[1] = limited{s.start, s.clock.lastStart}
	s.start = &limits[1]
	last := &lazy{Context: s.last, at: s.clock.answer}
	keep := inTurn(
		s.clock.lastStart, func() { s.endStarts(ErrDeadline) },
		s.clock.stop, func() { s.endHandlers(ErrDeadline) },
	)
	s.last, s.release = last, func() { keep(); last.end(context.Canceled) }
}

// Submit hands deliveries to the session. It blocks while Capacity deliveries
// are unsettled, until ctx ends or the session stops starting work.
//
// What was received in one call belongs into one Submit: on a FIFO queue the
// order within a group is the order of ds, and of the calls.
//
// Every delivery is settled, also if Submit returns an error: what could not be
// taken is deferred. The one exception is [ErrClosed], after Close, when
// nothing can be settled any more.
func (s *Session) Submit(ctx context.Context, ds ...*Delivery) error {
	return s.submit(ctx, newWorks(ds))
}

func newWorks(ds []*Delivery) []work {
	ws := make([]work, len(ds))
	for i, d := range ds {
		ws[i].d, ws[i].newest = d, d
	}
	return ws
}

func (s *Session) submit(ctx context.Context, ws []work) error {
	now := time.Now()
	for i := range ws {
		s.limitHiding(ws[i].d, now)
	}
	if s.room == nil {
		return s.enqueue(ws)
	}
	if s.lanes != nil {
		return s.submitTogether(ctx, ws)
	}
	for i := range ws {
		if err := s.acquire(ctx, 1); err != nil {
			return errors.Join(err, s.turnAway(ws[i:], err))
		}
		if err := s.enqueue(ws[i : i+1]); err != nil {
			s.room.Release(1)
			return err
		}
	}
	return nil
}

// submitTogether puts all deliveries into their lanes at once: if the first of a
// group could fail while those behind it still wait for room, they would find
// its lane gone, and overtake it.
func (s *Session) submitTogether(ctx context.Context, ws []work) error {
	n := min(len(ws), s.capacity)
	for i := n; i < len(ws); i++ {
		ws[i].roomless = true // there will never be room for so many
	}
	err := s.acquire(ctx, n)
	if err != nil {
		for i := range ws {
			ws[i].roomless = true
		}
		return errors.Join(err, s.turnAway(ws, err))
	}
	if err = s.enqueue(ws); err != nil {
		s.room.Release(int64(n))
	}
	return err
}

func (s *Session) acquire(ctx context.Context, n int) error {
	switch {
	case s.start.Err() != nil:
		return context.Cause(s.start)
	case s.room.TryAcquire(int64(n)):
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(s.start, func() { cancel(context.Cause(s.start)) })
	defer stop()
	if s.room.Acquire(ctx, int64(n)) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// turnAway defers deliveries that the session had no room for.
func (s *Session) turnAway(ws []work, cause error) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	rest := make([]*work, 0, len(ws))
	for i := range ws {
		ws[i].phase, ws[i].roomless = settling, true
		rest = append(rest, &ws[i])
	}
	s.unsettled += len(ws)
	s.mu.Unlock()
	s.deferAll(rest, cause)
	return nil
}

// Process runs ds to their outcomes: it opens a session on ctx, submits, waits
// and closes. The outcomes are in the order of ds.
func (c *Consumer) Process(ctx context.Context, src Source, ds []*Delivery) []Outcome {
	return c.Open(src, SessionOptions{Context: ctx}).Run(ds)
}

// Run submits ds, waits until all of them have their outcomes or the session's
// time is up, and closes the session. The outcomes are in the order of ds.
func (s *Session) Run(ds []*Delivery) []Outcome { return s.runAll(newWorks(ds)) }

// runAll does not hold on to the slice of deliveries.
//
//go:noinline
func (s *Session) runAll(ws []work) []Outcome {
	s.whole = s.room == nil
	_ = s.submit(context.Background(), ws)
	// Once no goroutine is left, all is settled. Waiting for that at once, and
	// not for the settling first, saves going to sleep twice. And since the end
	// of start is waited for here, nothing else has to watch for it.
	select {
	case <-s.goroutines.zero():
	case <-s.start.Done():
	}
	_ = s.Close(context.Background())
	outs := make([]Outcome, len(ws))
	for i := range ws {
		if ws[i].left {
			outs[i] = s.finals[&ws[i]]
		} else {
			outs[i] = ws[i].out[0]
		}
		outs[i].Delivery = ws[i].d // not the newest of those that joined
	}
	return outs
}
