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

// lease is what a handler runs under: the claim on its key, and the visibility of
// its message where the session keeps that.
type lease struct {
	s     *Session
	w     *work
	claim *idempotency.Claim // nil without a store
	lost  atomic.Bool
	// start and handle are the session's contexts for this delivery alone.
	start, handle lazy
	watch, late   atomic.Pointer[time.Timer] // for the claim to expire, and to abandon the handler
}

// completed reports whether the work is recorded as done, by a transaction of
// the handler's own.
func (l *lease) completed() bool { return l != nil && l.claim != nil && l.claim.Completed() }

// newLease gives w, which is running, its lease. s.mu is held.
func (s *Session) newLease(w *work, c *idempotency.Claim) *lease {
	handle := s.handle
	if c != nil {
		handle = idempotency.NewContext(handle, c)
	}
	var l *lease
	if h := w.hold; h == nil {
		l = new(lease)
	} else {
		l = &h.lease
		if limit := time.Now().Add(s.heart.maxHold); limit.Before(h.limit) {
			h.limit = limit
		}
	}
	l.s, l.w, l.claim, l.start.Context, l.handle.Context = s, w, c, s.start, handle
	w.run.lease.Store(l)
	return l
}

// lose ends the handler's context. With a heartbeat the handler is left alone if
// that does not make it return.
func (l *lease) lose(err error) {
	if !l.lost.CompareAndSwap(false, true) {
		return
	}
	l.start.end(err)
	l.handle.end(err)
	if l.s.heart != nil {
		l.late.Store(time.AfterFunc(abandonAfter, func() { l.s.abandonLost(l.w) }))
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
			l.lose(ErrLeaseLost)
		}
	}))
}

// end frees what the lease holds.
func (l *lease) end() {
	if l == nil {
		return
	}
	for _, t := range []*time.Timer{l.watch.Load(), l.late.Load()} {
		if t != nil {
			t.Stop()
		}
	}
	l.start.end(context.Canceled)
	l.handle.end(context.Canceled)
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
		if l := w.run.lease.Load(); w.phase == running && l != nil && l.claim != nil {
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
