package consumer

import (
	"context"
	"sync"
	"time"
)

// lazy is a context that ends with its parent, at a time of its own, or by end. It
// costs next to nothing until somebody waits for that: of the contexts that are
// made for each message hardly any is ever waited for.
type lazy struct {
	context.Context // the parent

	at time.Time // zero: it has no time of its own

	mu     sync.Mutex
	ctx    context.Context // nil until somebody has waited
	cancel context.CancelCauseFunc
	ended  bool  // before anybody has waited
	cause  error // of that
}

// end ends the context with a cause, unless it has ended.
func (l *lazy) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ctx != nil:
		l.cancel(cause)
	case !l.ended && l.Context.Err() == nil && (l.at.IsZero() || time.Now().Before(l.at)): // else something else was sooner
		l.ended, l.cause = true, cause
	}
}

// made is the context that can be waited for. l.mu is held.
func (l *lazy) made() context.Context {
	switch {
	case l.ctx != nil:
	case l.ended: // whatever has become of the parent since
		l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(l.Context))
		l.cancel(l.cause)
	case l.at.IsZero():
		l.ctx, l.cancel = context.WithCancelCause(l.Context)
	default:
		ctx, cancel := context.WithCancelCause(l.Context)
		timed, stop := context.WithDeadline(ctx, l.at)
		l.ctx, l.cancel = timed, func(cause error) { cancel(cause); stop() }
	}
	return l.ctx
}

// Deadline implements context.Context.
func (l *lazy) Deadline() (time.Time, bool) {
	at, ok := l.Context.Deadline()
	if l.at.IsZero() || ok && at.Before(l.at) {
		return at, ok
	}
	return l.at, true
}

// Done implements context.Context.
func (l *lazy) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made().Done()
}

// Err implements context.Context.
func (l *lazy) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil && !l.ended && l.at.IsZero() {
		return l.Context.Err()
	}
	return l.made().Err()
}

// Value implements context.Context. It asks the context that was made, if there is
// one: that is how package context finds the cause, and children their parent.
func (l *lazy) Value(key any) any {
	l.mu.Lock()
	ctx := l.ctx
	l.mu.Unlock()
	if ctx == nil {
		ctx = l.Context
	}
	return ctx.Value(key)
}
