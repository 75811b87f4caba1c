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
	case w.d.ID != "" && s.c.isStray(s.strayKey(w)):
		return ErrStillRunning
	}
	w.d.attempt, w.d.maxAttempts = max(w.d.ReceiveCount, 1), s.queue.MaxReceives
	if s.c.cfg.Idempotency == nil {
		return nil
	}
	return s.claim(w)
}

func (s *Session) claim(w *work) error {
	key, err := s.c.keyOf(w.d.Message)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.start, storeTimeout)
	defer cancel()
	done, err := s.probe(ctx)
	if err != nil {
		return err
	}
	limit := s.c.cfg.Redelivery.MaxAttempts
	claim, err := s.c.cfg.Idempotency.Claim(ctx, idempotency.Work{
		Namespace: s.queue.ARN, Kind: key.Kind, Key: key.Value, Life: w.d.Life(),
		MaxAttempts: limit, Deadline: s.clock.deadline, Payload: w.d.Body,
	})
	done(err)
	if err != nil {
		return err
	}
	if limit > 0 {
		w.d.maxAttempts = limit
	}
	w.d.attempt = claim.Attempt()
	w.run.lease.Store(newLease(s.start, s.handle, claim))
	return nil
}

func newLease(start, handle context.Context, c *idempotency.Claim) *lease {
	start, loseStart := context.WithCancelCause(start)
	handle, loseHandle := context.WithCancelCause(idempotency.NewContext(handle, c))
	return &lease{
		claim: c, start: start, handle: handle,
		lose: func(err error) { loseStart(err); loseHandle(err) },
	}
}

func (l *lease) isLost() bool { return l != nil && l.lost.Load() }

// end frees what the contexts hold.
func (l *lease) end() {
	if l != nil {
		l.lose(context.Canceled)
	}
}

// probe lets claims pass freely until the store fails once in this session, and
// one at a time from then until one has gone through: a store that is down or
// throttling is not helped by ten callers at once.
func (s *Session) probe(ctx context.Context) (done func(error), err error) {
	if !s.storeDown.Load() {
		return s.noteStore, nil
	}
	select {
	case s.probing <- struct{}{}:
		return func(err error) { s.noteStore(err); <-s.probing }, nil
	case <-ctx.Done():
		return nil, &idempotency.UnavailableError{Op: "claim", Err: context.Cause(ctx)}
	}
}

func (s *Session) noteStore(err error) {
	s.storeDown.Store(errors.Is(err, idempotency.ErrUnavailable))
}

// refused is the outcome of a delivery whose handler was not entered.
func (s *Session) refused(w *work, err error) Outcome {
	o := Outcome{Delivery: w.d, Err: err}
	var held *idempotency.HeldError
	var exhausted *idempotency.ExhaustedError
	switch {
	case errors.Is(err, idempotency.ErrCompleted):
		o.Verdict, o.Err = VerdictDuplicate, nil
		return o
	case errors.As(err, &held):
		o.Verdict = VerdictDeferred
		o.Delay = s.wholeSeconds(w.d, max(time.Until(held.Until)+idempotency.MaxSkew, time.Second))
		return o
	case errors.As(err, &exhausted):
		w.d.attempt, w.d.maxAttempts = max(exhausted.Attempts, 1), s.c.cfg.Redelivery.MaxAttempts
		return s.reject(o)
	case w.d.Invalid != nil, retry.IsPermanent(err),
		errors.Is(err, idempotency.ErrMismatch), errors.Is(err, idempotency.ErrNoPayload):
		return s.reject(o)
	case s.start.Err() != nil:
		return s.putOff(o, fmt.Errorf("%w: %w", context.Cause(s.start), err))
	default:
		return s.putOff(o, err)
	}
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
	ctx, cancel := context.WithTimeout(s.last, storeTimeout)
	defer cancel()
	o := w.out[0]
	if err := recordOutcome(ctx, l.claim, &o, l.lost.Load()); err != nil {
		s.unrecorded(&o, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.out[0].Verdict, w.out[0].Err, w.out[0].Delay = o.Verdict, o.Err, o.Delay
	return w.phase != settled
}

func recordOutcome(ctx context.Context, claim *idempotency.Claim, o *Outcome, lost bool) (err error) {
	switch {
	case o.Verdict == VerdictDone:
		return claim.Complete(ctx)
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
func (s *Session) unrecorded(o *Outcome, err error) {
	s.c.observe(Event{Kind: EventUnrecorded, Queue: s.queue.ARN, Message: o.Delivery.Message, Outcome: *o, Err: err})
	s.c.log(slog.LevelWarn, "outcome not recorded in the idempotency store",
		append(s.attrs(o), slog.String("verdict", o.Verdict.String()), slog.String("error", err.Error()))...)
}

// Renew renews the claims of all deliveries whose handlers are running, for the
// lease of the guard from now on. A host without a deadline calls it with its
// heartbeat, at least twice per lease. A handler whose claim turns out to be lost
// is cancelled with [ErrLeaseLost]. It returns when all are renewed, or ctx has
// ended, and reports how many were lost.
func (s *Session) Renew(ctx context.Context) (lost int) {
	s.mu.Lock()
	var held []*lease
	for _, w := range s.inflight {
		if l := w.run.lease.Load(); l != nil && w.phase == running {
			held = append(held, l)
		}
	}
	s.mu.Unlock()
	for _, l := range held {
		err := l.claim.Renew(ctx, time.Now().Add(s.c.cfg.Idempotency.Lease()))
		if errors.Is(err, idempotency.ErrLost) || time.Now().After(l.claim.Until()) && !l.completed() {
			lost++
			l.lost.Store(true)
			l.lose(errors.Join(ErrLeaseLost, err))
		}
	}
	return lost
}
