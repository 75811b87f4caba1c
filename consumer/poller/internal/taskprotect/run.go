package taskprotect

import (
	"context"
	"errors"
	"time"

	"github.com/ackwise/ackwise/retry"
)

// retryAfter is how long to wait after the nth failure in a row.
var retryAfter = retry.HalfJitter(retry.Exponential(2*look, time.Minute))

// run is what Run knows. One goroutine uses it.
type run struct {
	*Protector

	idle func() bool

	until    time.Time // the task may be protected until then; zero: it is not
	renewAt  time.Time // when a busy task asks again
	failures int       // in a row
	retryAt  time.Time // no call before
	warned   time.Time // when last
}

// busyPeriod begins with work that came, and ends when the task is idle and not
// protected.
func (r *run) busyPeriod(ctx context.Context) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	r.renewAt = time.Time{}
	var idleSince time.Time // zero: there is work
	for {
		now := time.Now()
		over := !idleSince.IsZero() && now.Sub(idleSince) >= quiet
		may := !now.Before(r.retryAt)
		switch {
		case over && !now.Before(r.until):
			return
		case over && may:
			if r.call(ctx, false); r.until.IsZero() {
				return
			}
		case idleSince.IsZero() && may && !now.Before(r.renewAt):
			r.call(ctx, true)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		switch {
		case r.working():
			idleSince = time.Time{}
		case idleSince.IsZero():
			idleSince = time.Now()
		}
	}
}

// working reports whether there is work, or some came since it was last asked.
func (r *run) working() bool {
	select {
	case <-r.came:
		return true
	default:
		return !r.idle()
	}
}

// call protects the task or removes that, and notes what is now known.
func (r *run) call(ctx context.Context, on bool) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := r.put(ctx, on)
	now := time.Now()
	refused := errors.As(err, new(*refusalError))
	switch {
	case on && !refused: // a call whose answer was lost may have been carried out
		r.until = now.Add(protectFor)
	case !on && err == nil:
		r.until = time.Time{}
	}
	r.renewAt = time.Time{}
	if err == nil {
		r.failures, r.retryAt = 0, time.Time{}
		if on {
			r.renewAt = now.Add(protectFor / 2)
		}
		return
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return // Run is to end
	}
	r.failures++
	r.retryAt = now.Add(retryAfter(r.failures))
	r.tell(on, err)
}

// tell warns, unless it did a short time ago.
func (r *run) tell(on bool, err error) {
	now := time.Now()
	if !r.warned.IsZero() && now.Sub(r.warned) < warnEvery {
		return
	}
	r.warned = now
	if on {
		r.warn("the task could not be protected from scale-in; work goes on, and it is tried again", err)
	} else {
		r.warn("the task's protection from scale-in could not be removed; it ends by itself within 10 minutes", err)
	}
}

// leave removes the protection at the end: a task that drains is not to hold up
// the deployment that stops it.
func (r *run) leave(ctx context.Context) {
	if !time.Now().Before(r.until) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	r.call(ctx, false)
}
