package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ackwise/ackwise/retry"
)

const (
	// maxVisibility is the longest that SQS keeps a received message invisible,
	// counted from the receive (ChangeMessageVisibility, SQS API reference).
	maxVisibility = 12 * time.Hour
	// visibilityMargin is kept from it. Where the time of the receive is not
	// known, as in Lambda, it has to cover what may have passed before the
	// session opened: the batching window and the retries of throttled
	// invocations.
	visibilityMargin = time.Minute
	unknownMargin    = time.Hour
	// retentionMargin is how long before SQS drops a message its last delivery
	// should come, where that is less than half of the queue's retention.
	retentionMargin = 10 * time.Minute
	// leaveVisibility as a delay leaves a message's visibility as it is.
	leaveVisibility = time.Duration(-1)
)

// judge turns what the attempt returned into the outcome. It is the one place
// that decides a verdict for a delivery that had its slot.
func (s *Session) judge(w *work, err error) Outcome {
	o := Outcome{Delivery: w.d, Err: err, Tries: int(w.run.tries.Load())}
	if o.Tries > 0 {
		o.Attempt = int(w.d.attempt)
	}
	switch {
	case err == nil || w.run.lease.Load().completed():
		o.Verdict, o.Err = VerdictDone, nil
		return o
	case w.run.lease.Load().isLost():
		o.leave()
		return o
	case retry.IsPermanent(err):
		return s.reject(o)
	case o.Tries == 0:
		return s.putOff(o, err)
	case w.run.drained:
		// Cut by our own drain: not the message's fault.
		o.Verdict, o.Delay = VerdictDeferred, 0
		return o
	}
	if limit := s.c.cfg.Redelivery.MaxAttempts; limit > 0 && o.Attempt >= limit {
		o.Err = fmt.Errorf("%w (%d): %w", ErrAttempts, limit, err)
		return s.reject(o)
	}
	o.Verdict = VerdictRetry
	if d, asked := retry.Delay(err); asked {
		o.Delay = s.wholeSeconds(w.d, d)
	} else {
		o.Delay = s.wholeSeconds(w.d, s.c.cfg.Redelivery.Backoff(o.Attempt))
	}
	if s.tooOld(w.d, o.Delay) {
		o.Err = fmt.Errorf("%w: %w", ErrTooOld, err)
		return s.reject(o)
	}
	return o
}

// leave makes o the outcome of a failure under a lease that was lost: the
// message is somebody else's by now, whatever was wrong with it here.
func (o *Outcome) leave() {
	o.Verdict, o.Delay = VerdictRetry, leaveVisibility
	if o.Tries == 0 {
		o.Verdict = VerdictDeferred
	}
}

// errGuardHangs says that a delivery was cut off before its handler was entered.
var errGuardHangs = errors.New("the idempotency store or the key function did not answer in time")

// reject makes o a rejected outcome that comes back, if it was not parked and
// SQS has receives left for it, after 2 s doubled by each receive, up to 15 min.
func (s *Session) reject(o Outcome) Outcome {
	o.Verdict = VerdictRejected
	o.Delay = s.wholeSeconds(o.Delivery, rejectBackoff(max(o.Delivery.ReceiveCount, 1)+1))
	return o
}

var rejectBackoff = retry.Exponential(2*time.Second, 15*time.Minute)

// putOff makes o a deferred outcome with the delay that its reason asks for.
func (s *Session) putOff(o Outcome, reason error) Outcome {
	o.Verdict, o.Err = VerdictDeferred, reason
	if errors.Is(reason, ErrDraining) {
		o.Delay = 0
		return o
	}
	o.Delay = s.wholeSeconds(o.Delivery, s.c.cfg.Redelivery.Backoff(max(o.Delivery.ReceiveCount, 1)))
	if o.Delay == 0 {
		o.Delay = time.Second
	}
	return o
}

// wholeSeconds rounds d up to the seconds that SQS takes and keeps it inside
// the 12 hours since the receive. A negative d stays negative.
func (s *Session) wholeSeconds(dl *Delivery, d time.Duration) time.Duration {
	if d < 0 {
		return leaveVisibility
	}
	if d > 0 {
		// Not at once, even where SQS may refuse the change: nobody asked for it.
		d = max(min(d, time.Until(time.Unix(0, dl.hideLimit))), time.Second)
	}
	return (d + time.Second - 1).Truncate(time.Second)
}

// limitHiding notes until when SQS would let the delivery be hidden. It is done
// when the delivery comes in: an extension moves VisibleUntil later.
func (s *Session) limitHiding(d *Delivery, now time.Time) {
	received, margin := now, unknownMargin
	switch {
	case !d.VisibleUntil.IsZero() && s.queue.Visibility > 0:
		received, margin = d.VisibleUntil.Add(-s.queue.Visibility), visibilityMargin
	case d.ReceiveCount == 1 && !d.FirstReceivedAt.IsZero():
		received, margin = d.FirstReceivedAt, visibilityMargin
	}
	switch age := now.Sub(received); {
	case age < 0:
		received = now // clocks differ
	case age > maxVisibility:
		received, margin = now, unknownMargin // not this receive's, whatever it is
	}
	d.hideLimit = received.Add(maxVisibility - margin).UnixNano()
}

// tooOld reports whether the message's next delivery, after delay, would come
// after its greatest age.
func (s *Session) tooOld(d *Delivery, delay time.Duration) bool {
	limit := s.c.cfg.Redelivery.MaxAge
	if limit == 0 && s.queue.Retention > 0 {
		limit = s.queue.Retention - min(retentionMargin, s.queue.Retention/2)
	}
	if limit == 0 || d.SentAt.IsZero() {
		return false
	}
	return time.Since(d.SentAt)+max(delay, 0) > limit
}

// abandonedOutcome is the outcome of a delivery whose handler did not return.
// Its visibility is not lowered: the handler may still be at it.
func (s *Session) abandonedOutcome(w *work) Outcome {
	if w.run.succeeded.Load() {
		// It is only a hook that has not returned.
		return Outcome{Delivery: w.d, Verdict: VerdictDone, Attempt: int(w.d.attempt), Tries: int(w.run.tries.Load())}
	}
	handle := s.handle
	if l := w.run.lease.Load(); l != nil {
		handle = &l.handle
	}
	cause := context.Cause(handle)
	o := Outcome{
		Delivery: w.d, Verdict: VerdictRetry, Delay: leaveVisibility,
		Err:     fmt.Errorf("%w: %w", ErrAbandoned, cause),
		Attempt: max(w.d.ReceiveCount, 1), Tries: int(w.run.tries.Load()),
	}
	if o.Tries == 0 {
		o.Verdict, o.Attempt = VerdictDeferred, 0
		o.Err = fmt.Errorf("%w: %w", errGuardHangs, cause)
		return o
	}
	if l := w.run.lease.Load(); l != nil && l.claim != nil {
		if o.Attempt = l.claim.Attempt(); l.claim.Completed() {
			o.Verdict, o.Err, o.Delay = VerdictDone, nil, 0
		}
	}
	return o
}

// deferredOutcomes are the outcomes of deliveries that were not begun. Those of a
// group come back after its first; on a standard queue each goes by its own
// receive count.
func (s *Session) deferredOutcomes(ws []*work, reason error) []Outcome {
	outs := make([]Outcome, len(ws))
	for i, w := range ws {
		outs[i] = s.putOff(Outcome{Delivery: s.newest(w)}, reason)
		if s.queue.FIFO && i > 0 {
			outs[i].Delay = behind(outs[0].Delay)
		}
	}
	return outs
}
