package consumer

import (
	"context"
	"sync"
	"time"
)

var alwaysClosed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// tally counts goroutines, and can be waited for until some time.
type tally struct {
	mu   sync.Mutex
	n    int
	done chan struct{} // closed when n drops to 0
}

func (t *tally) Add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n += n; t.n == 0 && t.done != nil {
		close(t.done)
		t.done = nil
	}
}

func (t *tally) Done() { t.Add(-1) }

// zero returns a channel that is closed when nothing is counted.
func (t *tally) zero() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		return alwaysClosed
	}
	if t.done == nil {
		t.done = make(chan struct{})
	}
	return t.done
}

// idleNow returns a channel that is closed when nothing is unsettled.
func (s *Session) idleNow() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsettled == 0 {
		return alwaysClosed
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	return s.idle
}

// Drain begins the end of the session: nothing more is begun, and what waits, or
// is submitted from now on, is deferred with [ErrDraining]. What runs goes on
// until Close, which drains too, says otherwise.
func (s *Session) Drain() {
	if s.heart != nil {
		// Sets off the deferral, which may have to wait for an extension under way:
		// nobody waits for that, but Close in the end.
		s.endStarts(ErrDraining)
		return
	}
	if s.endWatch() {
		s.endStarts(ErrDraining)
		s.deferWaiting()
		s.deferral.Done()
	}
	s.deferral.Wait()
}

// Close ends the session: nothing more is begun, what waits is deferred, what
// runs is waited for. When ctx ends, running handlers are cancelled with
// [ErrDraining]; the session's own deadline does so too, with [ErrDeadline].
// Handlers that do not return then are abandoned, at once by the deadline or
// after a second. At last the source is flushed, and its error returned.
//
// When Close has returned, nothing that the session started is running, but for
// abandoned handlers, and their results are ignored. A second Close returns
// [ErrClosed].
func (s *Session) Close(ctx context.Context) error {
	s.Drain()
	idle := s.idleNow()
	select {
	case <-idle:
	case <-s.handle.Done():
	case <-ctx.Done():
		s.endHandlers(ErrDraining)
	}
	if s.handle.Err() != nil {
		s.collect(idle)
	}
	for {
		if closed, ours := s.shut(); closed && ours {
			break
		} else if closed {
			return ErrClosed
		}
		// A Submit was quicker, and is deferring what it brought.
		<-s.idleNow()
	}
	s.stopHeart(ctx)
	s.deferral.Wait()
	err := s.src.Flush(s.flushing())
	s.farewell(ctx)
	s.endHandlers(ErrDraining)
	s.release()
	return err
}

// flushing is the context of Flush: that of settling, but where this has been cut
// off the source bounds itself.
func (s *Session) flushing() context.Context {
	if s.clock.leave.IsZero() {
		return context.WithoutCancel(s.last)
	}
	return s.last
}

// farewell waits for what is left to do, which is to tell hooks and log. That must
// not cost the answer, nor hold up the end once handlers have been cut off, or
// should have been.
func (s *Session) farewell(ctx context.Context) {
	if told := s.goroutines.zero(); s.clock.told.IsZero() {
		s.wait(ctx, told)
	} else {
		waitUntil(told, s.clock.told)
	}
}

// wait waits for done, in a session without a deadline: only for a moment once
// handlers have been cut off, or should have been since ctx has ended.
func (s *Session) wait(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-s.handle.Done():
	case <-ctx.Done():
	}
	waitUntil(done, time.Now().Add(moment))
}

// settleGrace is how long settling is waited for, once handlers have been, where
// no deadline says. With the second for the handlers and a source's Flush it has
// to fit between a grace of 25 s and the 30 s after which ECS kills.
const settleGrace = 2 * time.Second

// moment is how long whatever does not heed its context is waited for then.
const moment = 200 * time.Millisecond

// collect waits for handlers whose context has ended, then for settling, and
// does without those that take too long.
func (s *Session) collect(idle <-chan struct{}) {
	waitUntil(idle, s.clock.joinBy(time.Now()))
	s.abandon()
	if s.heart != nil {
		s.heart.stop() // what is given back waits for no extension any more
	}
	end := s.clock.leave
	if end.IsZero() {
		end = time.Now().Add(settleGrace)
	}
	waitUntil(s.idleNow(), end)
	s.giveUp()
	if s.clock.leave.IsZero() {
		s.release() // what is still being recorded or parked is not worth the wait
	}
}

func waitUntil(done <-chan struct{}, t time.Time) {
	select {
	case <-done:
		return
	default:
	}
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// abandon gives every delivery whose handler is still running its outcome and
// goes on without the goroutine. The handler keeps its slot until it returns,
// and the message is known as a stray until then.
func (s *Session) abandon() {
	s.mu.Lock()
	var left []*work
	for w := range s.onTheirWay() {
		if w.phase != running {
			continue
		}
		s.leaveBehind(w)
		left = append(left, w)
	}
	s.mu.Unlock()
	for _, w := range left {
		s.settleAbandoned(w, s.abandonedOutcome(w))
	}
}

// abandonLost abandons a handler whose lease was lost and that has not returned
// since. Another may begin instead if there is a slot for it.
func (s *Session) abandonLost(w *work) {
	s.mu.Lock()
	if w.phase != running {
		s.mu.Unlock()
		return
	}
	s.leaveBehind(w)
	s.hire()
	s.mu.Unlock()
	s.settleAbandoned(w, s.abandonedOutcome(w))
}

// leaveBehind goes on without the goroutine that runs w. s.mu is held.
func (s *Session) leaveBehind(w *work) {
	s.c.addStray(s.strayKey(w), 1)
	w.run.stray.Store(true)
	w.phase = settling
	s.workers--
}

// settleAbandoned settles a delivery whose handler has not returned. That may
// wait, for SQS where its work is recorded as done, and for hooks, and the others
// of its kind must not wait for it in turn.
func (s *Session) settleAbandoned(w *work, o Outcome) {
	s.mu.Lock()
	o.Delivery = w.newest
	w.out[0], w.staffed = o, true
	s.mu.Unlock()
	// A failure is not recorded: the handler may still be at it.
	go s.settleApart(w, !o.Acknowledged())
}

// giveUp publishes what is not settled although the time is up. What has an
// outcome keeps it, unparked if its parking has not been confirmed.
func (s *Session) giveUp() {
	s.mu.Lock()
	var stuck []*work
	var outs []Outcome
	for w := range s.onTheirWay() {
		if w.phase != settling {
			continue // waits behind one of the others in its lane, and is deferred when that is published
		}
		o := w.out[0]
		if o.Delivery == nil {
			o = s.putOff(Outcome{Delivery: w.newest}, context.Cause(s.start))
		}
		o.Delivery = w.newest
		w.left = true
		stuck, outs = append(stuck, w), append(outs, o)
	}
	s.mu.Unlock()
	s.goroutines.Add(1)
	defer s.goroutines.Done()
	var told []Outcome
	for i, w := range stuck {
		p := s.conclude(w, outs[i])
		for ; p == outdated; p = s.conclude(w, outs[i]) {
			outs[i].Delivery = s.newest(w)
		}
		if p != published {
			continue
		}
		told = news(told, w, outs[i])
		if w.staffed {
			s.goroutines.Done()
		}
	}
	s.aside(func() { s.tell(told) })
}

// shut closes the session if nothing is unsettled, so that nothing is settled
// after the flush. ours says that it was this call that closed it.
func (s *Session) shut() (closed, ours bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.unsettled == 0 {
		s.closed, ours = true, true
	}
	return s.closed, ours
}

// Idle reports whether nothing is unsettled.
func (s *Session) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unsettled == 0
}

// Stopped is closed when the session has cancelled its handlers, or closed: a
// source that is still asked to settle should be brief.
func (s *Session) Stopped() <-chan struct{} { return s.handle.Done() }
