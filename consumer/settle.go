package consumer

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// parkTimeout bounds one call of DeadLetter.Park.
const parkTimeout = 5 * time.Second

// settle records the outcome, parks what is to be parked, tells the source the outcome, and lets the
// lane go on or defers what waits in it. It returns false if the session was
// not willing to wait for that and has gone on.
func (s *Session) settle(w *work) bool {
	if !s.record(w) || !s.park(w) {
		return false
	}
	o := &w.out[0]
	if !o.Acknowledged() {
		return s.settleFailure(w, *o)
	}
	for {
		err := first(s.src.Settle(s.last, w.out[:]))
		if err != nil && s.unsettledYet(w) {
			s.unconfirmed(w, o, err)
		}
		switch s.publish(w, *o) {
		case published:
			return true
		case gone:
			return false
		case outdated:
			// The message came once more meanwhile. A standard queue may accept
			// a delete by the older receipt and keep the message, so it takes
			// another by the newer one.
			s.mu.Lock()
			o.Delivery = w.newest
			s.mu.Unlock()
		}
	}
}

func (s *Session) unsettledYet(w *work) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.phase != settled
}

func (s *Session) newest(w *work) *Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.newest
}

// followerLag is how much longer than a failed message those behind it in its
// group stay hidden. The failed one is received alone then, and holds them back
// by itself while it is in flight or hidden again: they do not use up receives,
// and reach the dead-letter queue, together with it.
const followerLag = 2 * time.Second

// behind is the delay of what is behind a message of the given delay in its
// group. None and leaving it alone stay what they are.
func behind(delay time.Duration) time.Duration {
	if delay > 0 {
		delay += followerLag
	}
	return delay
}

// settleFailure settles an outcome that keeps the message on its queue. On a
// FIFO queue what waits behind it in its group is deferred a little longer, in
// the same call.
func (s *Session) settleFailure(w *work, o Outcome) bool {
	o.Delivery = s.newest(w)
	group := s.endLane(w)
	if len(group) == 0 {
		s.src.Settle(s.last, []Outcome{o})
		return s.publish(w, o) == published
	}
	outs := make([]Outcome, 1, 1+len(group))
	outs[0] = o
	for _, f := range group {
		outs = append(outs, Outcome{
			Delivery: s.newest(f), Verdict: VerdictDeferred, Delay: behind(o.Delay), Err: groupFailed(w),
		})
	}
	s.src.Settle(s.last, outs)
	for i, f := range group {
		s.publish(f, outs[i+1])
	}
	return s.publish(w, o) == published
}

func groupFailed(head *work) error { return fmt.Errorf("%w (message %s)", ErrGroupFailed, head.d.ID) }

// endLane ends the lane of a message that stays on its queue and returns what
// waited behind it.
func (s *Session) endLane(w *work) []*work {
	if w.lane == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.followers(w, nil)
}

// deferAll settles deliveries that were not begun.
func (s *Session) deferAll(ws []*work, reason error) {
	if len(ws) == 0 {
		return
	}
	outs := s.deferredOutcomes(ws, reason)
	s.src.Settle(s.last, outs)
	for i, w := range ws {
		s.publish(w, outs[i])
	}
}

func first(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return errs[0]
}

// parks reports whether there is a copy to be made of a message. One that could
// not be decoded, this time or at its newest delivery, cannot be copied.
func (s *Session) parks(w *work, o *Outcome) bool {
	return s.c.cfg.DeadLetter != nil && o.Verdict == VerdictRejected && w.d.Invalid == nil && o.Delivery.Invalid == nil
}

// park copies a rejected message to the dead-letter queue, if there is one. It
// returns false if the session was not willing to wait for that and has gone
// on; the copy may have been made all the same.
func (s *Session) park(w *work) bool {
	dl, o := s.c.cfg.DeadLetter, w.out[0]
	if !s.parks(w, &o) {
		return true
	}
	ctx, cancel := context.WithTimeout(s.last, parkTimeout)
	defer cancel()
	err := s.callPark(ctx, dl, o)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		w.out[0].Err = fmt.Errorf("%w (%w: %w)", o.Err, ErrParkingFailed, err)
	} else {
		w.out[0].Parked = true
	}
	return w.phase != settled
}

func (s *Session) callPark(ctx context.Context, dl DeadLetter, o Outcome) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("DeadLetter panicked: %v", v)
		}
	}()
	return sound(dl.Park(ctx, s.queue, o))
}

// unconfirmed reports an acknowledgement that SQS did not confirm. In a lane it
// also defers what waits behind the message, which may still be ahead of it.
func (s *Session) unconfirmed(w *work, o *Outcome, err error) {
	s.c.observe(Event{Kind: EventUnconfirmed, Queue: s.queue.ARN, Message: o.Delivery.Message, Outcome: *o, Err: err})
	s.c.log(slog.LevelWarn, "message acknowledged, but not confirmed to be gone from its queue: it may be delivered again",
		append(s.attrs(o), slog.String("error", fmt.Sprint(err)))...)
	s.deferAll(s.endLane(w), groupFailed(w))
}

// published says what became of an attempt to publish an outcome.
type publishing uint8

const (
	published publishing = iota
	gone                 // the session has published without waiting
	outdated             // acknowledged by a receipt that is not the newest any more
)

// publish records the outcome for good, for the delivery and for those that
// joined it, and lets the lane go on.
func (s *Session) publish(w *work, o Outcome) publishing {
	s.mu.Lock()
	switch {
	case w.phase == settled:
		s.mu.Unlock()
		return gone
	case o.Acknowledged() && o.Delivery != w.newest:
		s.mu.Unlock()
		return outdated
	}
	n, late := s.book(w, o)
	s.mu.Unlock()
	s.makeRoom(n)
	s.report(&o)
	for j := w.joined; j != nil; j = j.next {
		o.Delivery = j.d
		s.report(&o)
	}
	if late {
		s.deferWaiting()
	}
	return published
}

func (s *Session) makeRoom(places int) {
	if s.room != nil && places > 0 {
		s.room.Release(int64(places))
	}
}

// book does publish's bookkeeping, with s.mu held. It returns how many places in
// the capacity are free again, and whether it has made something ready that can
// no longer start.
func (s *Session) book(w *work, o Outcome) (n int, late bool) {
	if w.apart {
		s.apart--
	}
	if name := s.name(w); s.inflight[name] == w {
		delete(s.inflight, name)
	}
	n = s.end(w, o)
	for j := w.joined; j != nil; j = j.next {
		n += s.end(j, o)
	}
	if w.lane != nil && s.lanes[w.lane.group] == w.lane {
		if next := w.lane.waiting.pop(); next != nil {
			s.ready.push(next)
			late = s.start.Err() != nil
			if w.apart {
				s.hire() // otherwise this goroutine takes it
			}
		} else {
			delete(s.lanes, w.lane.group)
		}
	}
	if s.unsettled == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
	return n, late
}

// end makes o the outcome of w for good, with s.mu held. It returns the number of
// places in the capacity that this frees.
func (s *Session) end(w *work, o Outcome) (places int) {
	w.phase = settled
	s.unsettled--
	if w.left { // and out may be in use by the goroutine that was left
		final := o // a copy: taking the address of o itself would allocate for all
		w.final = &final
	} else {
		w.out[0] = o
	}
	if w.roomless {
		return 0
	}
	return 1
}
