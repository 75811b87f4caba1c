package consumer

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// hold is until when a delivery is known to be invisible to others, in a session
// that keeps it so. Session.mu guards it.
type hold struct {
	until     time.Time     // what SQS has confirmed
	limit     time.Time     // nothing is extended beyond it
	extending chan struct{} // closed when the call in flight is over; nil without one
	extended  bool          // SQS has accepted an extension
	released  bool          // is being given back: must not be extended any more
	lost      bool          // until has passed, or SQS has said that the message is not ours
	lease     lease         // for when the handler runs
}

// heart extends what is unsettled, and renews the claims with it.
type heart struct {
	beat, maxHold time.Duration
	stop          context.CancelFunc
	stopped       <-chan struct{} // closed by stop
	parts         tally           // its loop, and the calls that this has begun
	renewing      atomic.Bool
}

func (s *Session) startHeart(beat, maxHold time.Duration) {
	ctx, stop := context.WithCancel(s.last)
	s.heart = &heart{beat: beat, maxHold: maxHold, stop: stop, stopped: ctx.Done()}
	s.heart.do(func() { s.keep(ctx) })
}

func (h *heart) do(part func()) {
	h.parts.Add(1)
	go func() {
		defer h.parts.Done()
		part()
	}()
}

// stopHeart ends the heartbeat and waits for it.
func (s *Session) stopHeart(ctx context.Context) {
	if s.heart != nil {
		s.heart.stop()
		s.wait(ctx, s.heart.parts.zero())
	}
}

// keep beats until ctx ends. Between beats it wakes up when a time that was
// confirmed ends, and no extension has come.
func (s *Session) keep(ctx context.Context) {
	beats := time.NewTicker(s.heart.beat)
	defer beats.Stop()
	expiry := time.NewTimer(s.heart.beat)
	defer expiry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beats.C:
			s.renewClaims(ctx)
		case <-expiry.C:
		}
		expiry.Reset(time.Until(s.round(ctx)))
	}
}

func (s *Session) renewClaims(ctx context.Context) {
	if s.c.cfg.Idempotency == nil || !s.heart.renewing.CompareAndSwap(false, true) {
		return // or the round before is still at it, each call bounded by itself
	}
	s.heart.do(func() {
		defer s.heart.renewing.Store(false)
		s.Renew(ctx)
	})
}

// round extends what is due and ends the leases that have run out. It returns
// when the next of them does.
func (s *Session) round(ctx context.Context) (next time.Time) {
	now := time.Now()
	next = now.Add(2 * s.heart.beat) // the next beat is sooner
	due := make(map[time.Duration][]*work)
	var lost, held []*lease
	s.mu.Lock()
	for w := range s.onTheirWay() {
		h := w.hold
		switch {
		case h == nil || h.released || h.lost:
		case !now.Before(h.until) && h.until.Before(h.limit):
			lost = append(lost, s.loseHold(w))
		case !now.Before(h.until):
			held = append(held, s.loseHold(w))
		default:
			if d := s.extension(h, now); d > 0 {
				due[d] = append(due[d], w)
			}
			if h.until.Before(next) {
				next = h.until
			}
		}
	}
	for d, ws := range due {
		s.beginExtension(ctx, ws, d)
	}
	s.mu.Unlock()
	loseAll(lost, ErrLeaseLost)
	loseAll(held, errHeld)
	return next
}

// extension is for how long a delivery is to be hidden from now on; 0 if it is
// not due yet, or may not be hidden for longer. One is due if by the next beat
// it would have less than half of the visibility left.
func (s *Session) extension(h *hold, now time.Time) time.Duration {
	if h.extending != nil || h.until.Sub(now)-s.heart.beat >= s.queue.Visibility/2 {
		return 0
	}
	d := min(s.queue.Visibility, h.limit.Sub(now).Truncate(time.Second))
	if !now.Add(d).After(h.until) {
		return 0
	}
	return d
}

// beginExtension makes the calls for deliveries of one extension, in a goroutine
// of its own. s.mu is held.
func (s *Session) beginExtension(ctx context.Context, ws []*work, d time.Duration) {
	over := make(chan struct{})
	ds := make([]*Delivery, len(ws))
	for i, w := range ws {
		ds[i], w.hold.extending = w.newest, over
	}
	s.heart.do(func() {
		defer close(over)
		began := time.Now()
		ctx, cancel := context.WithTimeout(ctx, min(max(s.heart.beat, s.queue.Visibility/2), extendTimeout))
		defer cancel()
		s.extended(ws, ds, s.src.Extend(ctx, ds, d), began.Add(d))
	})
}

// extendTimeout bounds one round of extensions: what is to be given back waits
// for it.
const extendTimeout = 5 * time.Second

// extended takes note of what has become of an extension. The time counts from
// before the call: SQS's own count begins later.
func (s *Session) extended(ws []*work, ds []*Delivery, errs []error, until time.Time) {
	var failed int
	var cause error
	var lost []*lease
	s.mu.Lock()
	for i, w := range ws {
		h := w.hold
		h.extending = nil
		var err error
		if errs != nil {
			err = errs[i]
		}
		switch {
		case w.phase == settled || w.newest != ds[i]: // or its newest receipt has a time of its own
		case err == nil:
			h.until, h.extended = until, true
			ds[i].VisibleUntil = until // by the time it is settled no extension is under way
		case h.released || h.lost:
		case errors.Is(err, ErrLeaseLost) && w.phase == settling && w.out[0].Acknowledged(): // has just left the queue
		case errors.Is(err, ErrLeaseLost) && h.extended:
			lost = append(lost, s.loseHold(w))
			fallthrough
		default:
			failed, cause = failed+1, err
		}
	}
	s.mu.Unlock()
	loseAll(lost, ErrLeaseLost)
	if failed > 0 {
		s.c.log(slog.LevelWarn, "visibility not extended: unless that succeeds in time, the messages are delivered to others too",
			slog.String("queue", s.queue.ARN), slog.Int("messages", failed), slog.String("error", cause.Error()))
	}
}

// loseHold notes that a message may be visible to others, and returns the lease
// of its handler, to be lost when s.mu, which is held, is free again. What only
// waits is not started any more.
func (s *Session) loseHold(w *work) *lease {
	w.hold.lost = true
	if w.phase != running {
		return nil
	}
	return w.run.lease.Load()
}

func loseAll(leases []*lease, cause error) {
	for _, l := range leases {
		if l != nil {
			l.lose(cause)
		}
	}
}

// startHold begins to hold what has come in, where the session does that.
func (s *Session) startHold(w *work) {
	if s.heart == nil {
		w.hold = nil
		return
	}
	if w.hold == nil {
		w.hold = new(hold)
	}
	until := w.d.VisibleUntil
	w.hold.until, w.hold.limit = until, until.Add(maxVisibility-visibilityMargin-s.queue.Visibility)
}

// rehold takes the time of a newer receipt of the same message. How long it may
// be held in all still counts from the first.
func (w *work) rehold() {
	if h := w.hold; h != nil {
		h.until, h.extended, h.lost = w.newest.VisibleUntil, false, false
		if w.phase == running && h.until.After(h.limit) {
			h.until = h.limit // what hangs would go on for ever else, each time with a newer receipt
		}
	}
}

// lapsed reports whether the message may be visible to others before its handler
// was entered.
func (s *Session) lapsed(w *work) bool {
	if w.hold == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.hold.lost || !time.Now().Before(w.hold.until) // the heartbeat may be about to say so
}

// letGo takes deliveries that are to be given back from the heartbeat. It waits
// for an extension that is under way, which could undo the delay that they are
// about to get.
func (s *Session) letGo(ws ...*work) {
	if s.heart == nil {
		return
	}
	var calls []chan struct{}
	s.mu.Lock()
	for _, w := range ws {
		if w.hold == nil {
			continue
		}
		w.hold.released = true
		if w.hold.extending != nil {
			calls = append(calls, w.hold.extending)
		}
	}
	s.mu.Unlock()
	for _, over := range calls {
		select {
		case <-over:
		case <-s.heart.stopped: // and with it the call, as far as it heeds its context
		}
	}
}
