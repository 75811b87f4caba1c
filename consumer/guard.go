package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/retry"
)

// storeTimeout bounds one operation of the idempotency store.
const storeTimeout = 5 * time.Second

// guard decides, with a slot in hand, whether the handler may be entered: first
// by what needs no I/O, then by the claim on the message's key.
func (s *Session) guard(w *work) error {
	switch {
	case w.d.Invalid != nil:
		return w.d.Invalid
	case (w.id != "" || s.queue.FIFO) && s.c.isStray(s.strayKey(w)):
		return ErrStillRunning
	case s.lapsed(w):
		return ErrLeaseLost
	}
	w.d.setAttempt(max(w.d.ReceiveCount, 1), s.queue.MaxReceives)
	switch {
	case s.c.cfg.Idempotency != nil:
		return s.claim(w)
	case w.hold != nil:
		s.mu.Lock()
		l, lapsed := s.newLease(w, nil), w.hold.lost
		s.mu.Unlock()
		if lapsed {
			l.lose(ErrLeaseLost)
		}
	}
	return nil
}

func (s *Session) claim(w *work) error {
	key, err := s.keyOf(w)
	if err != nil {
		return err
	}
	w.run.asked = true
	w.run.pending = &storeExited // for the goroutine that goes on, if the store ends this one
	claim, err := s.callClaim(idempotency.Work{
		Namespace: s.queue.ARN, Kind: key.Kind, Key: key.Value, Life: w.d.Life(),
		MaxAttempts: s.c.cfg.Redelivery.MaxAttempts, Deadline: s.clock.deadline, Payload: w.d.Body,
	})
	if w.run.pending = nil; err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.phase != running {
		return ErrAbandoned // the message may be read elsewhere by now; its key is free when the lease ends
	}
	w.d.setAttempt(claim.Attempt(), s.c.cfg.Redelivery.MaxAttempts)
	l := s.newLease(w, claim)
	if s.clock.deadline.IsZero() {
		l.expire()
	}
	if w.hold != nil && w.hold.lost {
		l.lose(ErrLeaseLost)
	}
	return nil
}

// claiming is the context of claims. A drain does not end it: a claim that is cut
// off, and lands behind the release that undoes it, would hold its key for nobody.
// What can no longer start is refunded instead. Before a deadline there is no time
// for that.
func (s *Session) claiming() context.Context {
	if s.clock.deadline.IsZero() {
		return s.handle
	}
	return s.start
}

var storeExited = result{&idempotency.UnavailableError{Op: "claim", Err: errors.New("the store called runtime.Goexit")}}

// callClaim lets claims pass freely until the store fails once in this session,
// and one at a time from then until one has gone through: a store that is down or
// throttling is not helped by ten callers at once. The time that a claim may take
// begins with the call, not with the wait for its turn.
func (s *Session) callClaim(w idempotency.Work) (*idempotency.Claim, error) {
	if s.storeDown.Load() {
		turn, cancel := context.WithTimeout(s.start, storeTimeout)
		defer cancel()
		select {
		case s.probing <- struct{}{}:
			defer func() { <-s.probing }()
		case <-turn.Done():
			return nil, &idempotency.UnavailableError{Op: "claim", Err: context.Cause(turn)}
		}
	}
	ctx, cancel := context.WithTimeout(s.claiming(), storeTimeout)
	defer cancel()
	claim, err := s.c.cfg.Idempotency.Claim(ctx, w)
	switch {
	case errors.Is(err, idempotency.ErrUnavailable):
		s.storeDown.Store(true)
	case err == nil, errors.Is(err, idempotency.ErrCompleted), errors.Is(err, idempotency.ErrHeld),
		errors.Is(err, idempotency.ErrMismatch), errors.Is(err, idempotency.ErrExhausted):
		s.storeDown.Store(false) // the store has answered
	}
	return claim, err
}

// refused is the outcome of a delivery whose handler was not entered.
func (s *Session) refused(w *work, err error) Outcome {
	o := Outcome{Delivery: w.d, Err: err}
	var held *idempotency.HeldError
	var exhausted *idempotency.ExhaustedError
	switch {
	// What comes from the store and what does not is told apart by where it was
	// met: a key function may fail with any error, also with one of another
	// guard's, and an error of the store may wrap anything.
	case w.run.asked && errors.Is(err, idempotency.ErrUnavailable):
		return s.unavailable(o, err)
	case !w.run.asked && errors.Is(err, ErrLeaseLost):
		o.leave()
		return o
	case w.d.Invalid != nil, retry.IsPermanent(err), errors.Is(err, idempotency.ErrNoPayload):
		return s.reject(o)
	case errors.Is(err, idempotency.ErrCompleted):
		o.Verdict, o.Err = VerdictDuplicate, nil
		return o
	case errors.As(err, &held):
		o.Verdict = VerdictDeferred
		o.Delay = s.wholeSeconds(w.d, max(time.Until(held.Until)+idempotency.MaxSkew, time.Second))
		return o
	case errors.As(err, &exhausted):
		w.d.setAttempt(max(exhausted.Attempts, 1), s.c.cfg.Redelivery.MaxAttempts)
		return s.reject(o)
	case errors.Is(err, idempotency.ErrMismatch):
		return s.reject(o)
	default:
		return s.unavailable(o, err)
	}
}

// unavailable defers a delivery that could not be claimed. If it was our own end
// that cut the claim off, that is the reason.
func (s *Session) unavailable(o Outcome, err error) Outcome {
	if s.start.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(s.start), err)
	}
	return s.putOff(o, err)
}

// record writes the outcome of an attempt to the idempotency store. What it
// finds there can turn a failure into done, if a transaction of the handler's
// has landed, but never the other way round: work that is done is done. It comes
// before parking: dying in between parks later, and the other way round would
// run the handler once more. It returns false if the session was not willing to
// wait for it and has gone on.
func (s *Session) record(w *work) bool {
	l := w.run.lease.Load()
	if l == nil {
		return true
	}
	defer l.end()
	ctx := s.last
	if l.claim != nil { // else nothing is written
		limited, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		ctx = limited
	}
	o := w.out[0]
	if err := recordOutcome(ctx, l.claim, &o, l.lost.Load()); err != nil {
		s.unrecorded(o, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.out[0].Verdict, w.out[0].Err, w.out[0].Delay = o.Verdict, o.Err, o.Delay
	return w.phase != settled
}

func recordOutcome(ctx context.Context, claim *idempotency.Claim, o *Outcome, lost bool) (err error) {
	switch {
	case claim == nil:
		if lost && o.Verdict != VerdictDone {
			o.leave()
		}
		return nil
	case o.Verdict == VerdictDone:
		return claim.Complete(ctx)
	case lost && o.Tries == 0:
		o.leave()
		return claim.Refund(ctx, o.Err) // it was never begun: the key is free for whoever has the message
	case lost:
		o.leave() // if that was not known yet when it was judged
		return nil
	case o.Verdict == VerdictRejected:
		err = claim.Reject(ctx, o.Err)
	case o.Verdict == VerdictDeferred:
		err = claim.Refund(ctx, o.Err)
	default:
		err = claim.Release(ctx, o.Err)
	}
	switch {
	case errors.Is(err, idempotency.ErrCompleted):
		o.Verdict, o.Err, o.Delay = VerdictDone, nil, 0
		return nil
	case errors.Is(err, idempotency.ErrLost):
		o.leave()
	}
	return err
}

// unrecorded reports an outcome that could not be written to the store. The
// verdict stands. Unrecorded done work runs again if the message is delivered
// again; an unrecorded failure holds the key until its lease ends.
func (s *Session) unrecorded(o Outcome, err error) {
	s.aside(func() {
		defer s.c.log(slog.LevelWarn, "outcome not recorded in the idempotency store",
			append(s.attrs(&o), slog.String("verdict", o.Verdict.String()), slog.String("error", fmt.Sprint(err)))...)
		s.c.observe(Event{Kind: EventUnrecorded, Queue: s.queue.ARN, Message: o.Delivery.Message, Outcome: o, Err: err})
	})
}
