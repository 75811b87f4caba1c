package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ackwise/ackwise/idempotency"
)

// lease is the claim that a handler runs under.
type lease struct {
	claim *idempotency.Claim
	lost  atomic.Bool
	// start and handle are the session's contexts for this delivery alone; lose
	// ends them.
	start, handle context.Context
	lose          func(error)
	watch         atomic.Pointer[time.Timer] // nil where a deadline ends everything earlier
}

// completed reports whether the work is recorded as done, by a transaction of
// the handler's own.
func (l *lease) completed() bool { return l != nil && l.claim.Completed() }

func newLease(start, handle context.Context, c *idempotency.Claim) *lease {
	start, loseStart := context.WithCancelCause(start)
	handle, loseHandle := context.WithCancelCause(idempotency.NewContext(handle, c))
	return &lease{
		claim: c, start: start, handle: handle,
		lose: func(err error) { loseStart(err); loseHandle(err) },
	}
}

func (l *lease) isLost() bool { return l != nil && l.lost.Load() }

// expire makes the lease lost when the time that is confirmed has passed, however
// long a renewal hangs.
func (l *lease) expire() {
	left := func() time.Duration { return time.Until(l.claim.Until()) + time.Millisecond }
	l.watch.Store(time.AfterFunc(left(), func() {
		switch {
		case l.claim.Completed():
		case left() > 0:
			l.expire() // it was renewed
		default:
			l.lost.Store(true)
			l.lose(ErrLeaseLost)
		}
	}))
}

// end frees what the lease holds.
func (l *lease) end() {
	if l == nil {
		return
	}
	if t := l.watch.Load(); t != nil {
		t.Stop()
	}
	l.lose(context.Canceled)
}

// Renew renews the claims of all deliveries whose handlers are running, for the
// lease of the guard from now on. A host without a deadline calls it with its
// heartbeat, at least twice per lease. A handler whose claim turns out to be lost
// is cancelled with [ErrLeaseLost]. It returns when all are renewed, or ctx has
// ended, and reports how many were lost.
func (s *Session) Renew(ctx context.Context) (lost int) {
	s.mu.Lock()
	var held []*work
	for w := range s.onTheirWay() {
		if w.phase == running && w.run.lease.Load() != nil {
			held = append(held, w)
		}
	}
	s.mu.Unlock()
	var n atomic.Int64
	var group errgroup.Group
	group.SetLimit(renewals)
	for _, w := range held {
		group.Go(func() error {
			if s.renew(ctx, w) {
				n.Add(1)
			}
			return nil
		})
	}
	_ = group.Wait()
	return int(n.Load())
}

// renewals is how many claims are renewed at once.
const renewals = 10

// renew renews one claim and reports whether it turned out to be lost.
func (s *Session) renew(ctx context.Context, w *work) (lost bool) {
	l := w.run.lease.Load()
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := l.claim.Renew(ctx, time.Now().Add(s.c.cfg.Idempotency.Lease()))
	if !errors.Is(err, idempotency.ErrLost) && (l.completed() || !time.Now().After(l.claim.Until())) {
		return false
	}
	s.mu.Lock()
	over := w.phase != running // it was given back meanwhile
	s.mu.Unlock()
	if over {
		return false
	}
	l.lost.Store(true)
	l.lose(errors.Join(ErrLeaseLost, err))
	return true
}

// overruled logs what a handler has returned after its own transaction had
// recorded the work as done.
func (s *Session) overruled(w *work, err error) {
	if err == nil {
		return
	}
	o := Outcome{Delivery: w.d}
	s.c.log(slog.LevelWarn, "the handler failed after its transaction had recorded the work as done: the message is done",
		append(s.attrs(&o), slog.String("error", fmt.Sprint(err)))...)
}
