package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// parkTimeout bounds one call of DeadLetter.Park.
const parkTimeout = 5 * time.Second

// settle records the outcome, parks what is to be parked, tells the source the
// outcome, and lets the lane go on or defers what waits in it. It returns false if
// the session was not willing to wait for that and has gone on.
func (s *Session) settle(w *work) bool {
	if !s.record(w) || !s.park(w) {
		return false
	}
	o := &w.out[0]
	if !o.Acknowledged() {
		return s.settleFailure(w, *o)
	}
	return s.confirm(w, first(s.src.Settle(s.last, w.out[:])))
}

// confirm goes on with an acknowledged outcome once SQS has been told, and gave err.
// It returns false if the session has gone on without it.
func (s *Session) confirm(w *work, err error) bool {
	for o := &w.out[0]; ; err = first(s.src.Settle(s.last, w.out[:])) {
		if err != nil && !s.settledMeanwhile(w) {
			s.unconfirmed(w, *o, err)
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

// settledMeanwhile reports whether the session has gone on without whoever is
// settling w.
func (s *Session) settledMeanwhile(w *work) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.phase == settled
}

func (s *Session) newest(w *work) *Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.newest
}

// followerLag is how much longer than a failed message those behind it in its
// group stay hidden. The failed one is received alone then, and holds them back
// by itself while it is in flight or hidden again. When it comes back from that
// they are visible too and come with it: so they use up half as many receives as
// it does, and do not reach the dead-letter queue together with it.
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
	group := s.endLane(w)
	s.letGo(append(group, w)...) // all at once: no beat extends the others while this waits for one
	if s.settledMeanwhile(w) {   // the session was not willing to wait for that and has gone on
		s.deferAll(group, groupFailed(w))
		return false
	}
	if o.Delivery = s.newest(w); s.ours(w, &o) {
		o.Delay = s.putOff(Outcome{Delivery: o.Delivery}, ErrLeaseLost).Delay
	}
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
	var told []Outcome
	ours := s.conclude(w, o) == published
	if ours {
		told = news(told, w, o)
	}
	s.tell(append(told, s.concludeAll(group, outs[1:])...))
	return ours
}

// ours reports whether a message whose lease was lost, and whose visibility is
// therefore left as it is, has come once more since then, to us.
func (s *Session) ours(w *work, o *Outcome) bool {
	return o.Delay < 0 && o.Delivery != w.d && w.hold != nil && w.run.lease.Load().isLost() &&
		time.Now().Before(o.Delivery.VisibleUntil)
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
	if s.heart != nil {
		s.letGo(ws...)
		if ws = slices.DeleteFunc(ws, s.settledMeanwhile); len(ws) == 0 {
			return
		}
	}
	outs := s.deferredOutcomes(ws, reason)
	s.src.Settle(s.last, outs)
	s.publishAll(ws, outs)
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
	v, returned := apart(func() { err = sound(dl.Park(ctx, s.queue, o)) })
	switch {
	case returned:
		return err
	case v == nil:
		return errors.New("DeadLetter called runtime.Goexit")
	default:
		return fmt.Errorf("DeadLetter panicked: %v", v)
	}
}

// unconfirmed reports an acknowledgement that SQS did not confirm. In a lane it
// also defers what waits behind the message, which may still be ahead of it.
func (s *Session) unconfirmed(w *work, o Outcome, err error) {
	s.aside(func() {
		defer s.c.log(slog.LevelWarn, "message acknowledged, but not confirmed to be gone from its queue: it may be delivered again",
			append(s.attrs(&o), slog.String("error", fmt.Sprint(err)))...)
		s.c.observe(Event{Kind: EventUnconfirmed, Queue: s.queue.ARN, Message: o.Delivery.Message, Outcome: o, Err: err})
	})
	s.deferAll(s.endLane(w), groupFailed(w))
}
