package consumer

import (
	"context"
	"sync/atomic"
	"time"
)

// defaultReserve is SessionOptions.Reserve unless it says otherwise.
const defaultReserve = 2 * time.Second

// abandonAfter is how long a handler whose context has ended is waited for
// where no deadline says.
const abandonAfter = time.Second

// clock is when things end in a session with a deadline, in this order. All
// zero in one without.
type clock struct {
	deadline  time.Time
	lastStart time.Time // nothing starts later: too little would be left
	stop      time.Time // handlers are cancelled
	join      time.Time // handlers that have not returned are abandoned
	answer    time.Time // the context of settling ends
	leave     time.Time // settling that has not ended is left alone
	told      time.Time // hooks and log that have not returned are left alone; the rest is for the host's answer
}

func newClock(now, deadline time.Time, reserve, tryTimeout time.Duration) clock {
	if reserve == 0 {
		reserve = defaultReserve
	}
	left := max(deadline.Sub(now), 0)
	reserve = max(min(reserve, left/4), 0)
	stop := deadline.Add(-reserve)
	room := time.Second
	if tryTimeout > 0 {
		room = tryTimeout
	}
	room = min(room, max(stop.Sub(now), 0)/10)
	return clock{
		deadline:  deadline,
		lastStart: stop.Add(-room),
		stop:      stop,
		join:      deadline.Add(-reserve / 2),
		answer:    deadline.Add(-min(100*time.Millisecond, reserve/4)),
		leave:     deadline.Add(-min(50*time.Millisecond, reserve/8)),
		told:      deadline.Add(-min(25*time.Millisecond, reserve/16)),
	}
}

// joinBy is until when a handler is waited for whose context ends now.
func (c clock) joinBy(now time.Time) time.Time {
	t := now.Add(abandonAfter)
	if !c.join.IsZero() && (t.After(c.join) || !now.Before(c.stop)) {
		return c.join
	}
	return t
}

// inTurn calls one function at a time and the other at a later one, at once if
// that has passed, unless it is stopped before. It takes a single timer: a session
// is over, nearly always, before either time has come.
func inTurn(t1 time.Time, first func(), t2 time.Time, second func()) (stop func()) {
	now := time.Now()
	if !t1.After(now) {
		first()
		if !t2.After(now) {
			second()
			return func() {}
		}
		timer := time.AfterFunc(t2.Sub(now), second)
		return func() { timer.Stop() }
	}
	var then atomic.Pointer[time.Timer]
	var stopped atomic.Bool
	timer := time.AfterFunc(t1.Sub(now), func() {
		then.Store(time.AfterFunc(time.Until(t2), second))
		if stopped.Load() {
			then.Load().Stop()
		}
		first()
	})
	return func() {
		stopped.Store(true)
		if !timer.Stop() {
			if t := then.Load(); t != nil {
				t.Stop()
			}
		}
	}
}

// limited is a context that ends, by other means, at a time of its own. It
// saves a timer for each of the two contexts of a session.
type limited struct {
	context.Context
	at time.Time
}

// Deadline implements context.Context.
func (l *limited) Deadline() (time.Time, bool) {
	if at, ok := l.Context.Deadline(); ok && at.Before(l.at) {
		return at, true
	}
	return l.at, true
}
