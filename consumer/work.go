package consumer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/ackwise/ackwise/retry"
)

// attempt is what a delivery's run of the handler leaves behind.
type attempt struct {
	entered bool         // the guard has let it pass
	asked   bool         // the store was asked
	drained bool         // by the time the last try returned, its context had ended with ErrDraining
	tries   atomic.Int32 // read from outside when the handler is abandoned
	// pending is what a try has come to, until that is accounted for: it outlives
	// a goroutine that runtime.Goexit ends.
	pending *result
	// succeeded is set as soon as the handler has returned nil.
	succeeded atomic.Bool
	stray     atomic.Bool           // abandoned
	lease     atomic.Pointer[lease] // nil without an idempotency store
}

// result is what a call of the user's has come to.
type result struct{ err error }

// work is the life of a worker goroutine: it takes a slot, then a delivery, and
// runs it. A first delivery that is not nil is one that already has a slot and
// whose goroutine was ended by runtime.Goexit.
func (s *Session) work(w *work, fresh bool) {
	alive := false
	defer func() {
		if !alive {
			s.exited(w)
		}
	}()
	growStack(false)
	ours := w == nil || s.resume(w)
	for ours {
		held := s.takeSlot()
		if w = s.take(fresh); w == nil {
			if held {
				s.freeSlot()
			}
			s.goroutines.Done()
			break
		}
		fresh = false
		ours = s.process(w)
	}
	alive = true // also if not ours: the session has gone on without this goroutine
}

// growStack makes room for a handler's frames while the stack is shallow and
// cheap to move. A new goroutine begins with a small stack, which a handler of any
// size makes grow several times, each time moving all that is on it. It is the
// frame that does it, so what would fill it is never called.
//
//go:noinline
func growStack(fill bool) byte {
	if !fill {
		return 0
	}
	room := filler()
	return room[len(room)-1]
}

//go:noinline
func filler() (room [4 << 10]byte) { return room }

// takeSlot waits for a slot until nothing may start any more.
func (s *Session) takeSlot() bool {
	select {
	case s.c.slots <- struct{}{}:
		return true
	default:
	}
	select {
	case s.c.slots <- struct{}{}:
		return true
	case <-s.start.Done():
		return false
	}
}

func (s *Session) freeSlot() { <-s.c.slots }

// process takes one delivery, with a slot in hand, to its outcome. It returns
// false if the delivery was abandoned meanwhile.
func (s *Session) process(w *work) bool {
	if !s.decide(w, s.run(w)) {
		s.strayReturned(w)
		return false
	}
	s.freeSlot()
	switch {
	case !w.apart:
		return s.settle(w)
	case s.nothingButAcknowledge(w):
		s.acknowledge(w)
	default:
		go s.settleApart(w, false)
	}
	return true
}

// settleApart settles in a goroutine that is counted; again says that what there
// is to record was recorded, or is not to be.
func (s *Session) settleApart(w *work, again bool) {
	var returned, ours bool
	defer func() {
		if !returned {
			go s.settleApart(w, true)
		}
	}()
	if again {
		ours = s.resettle(w)
	} else {
		ours = s.settle(w)
	}
	if returned = true; ours {
		s.goroutines.Done()
	}
}

// run enters the handler if the guard lets it, and judges how it went.
func (s *Session) run(w *work) Outcome {
	if !w.run.entered {
		if err := s.pendingOr(w, s.guard); err != nil {
			return s.refused(w, err)
		}
		w.run.entered = true
	}
	return s.judge(w, s.attempt(w))
}

// decide records the outcome of a delivery whose handler has returned, to be
// settled by the newest receipt. If settling may wait for something, a goroutine
// of its own does that, since this one has other deliveries to run. Where only
// parking waits, and no capacity bounds the deliveries, there are not more of
// those goroutines than slots: a batch of which everything is parked must not
// become as many calls at once. It returns false if the delivery was abandoned
// before.
func (s *Session) decide(w *work, o Outcome) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.phase != running {
		return false
	}
	if o.Delivery = w.newest; w.newest != w.d {
		w.newest.attempt, w.newest.maxAttempts = w.d.attempt, w.d.maxAttempts
	}
	w.phase, w.out[0], w.staffed = settling, o, true
	if w.apart = !s.quick || s.parks(w, &o) && s.apart < cap(s.c.slots); w.apart {
		s.apart++
		s.goroutines.Add(1)
	}
	return true
}

// strayKey names what an abandoned handler keeps others from: another run of its
// message, or of its group, which must not run side by side either.
func (s *Session) strayKey(w *work) strayKey {
	if w.lane != nil {
		return strayKey{s.queue.ARN, "group " + w.lane.group}
	}
	return strayKey{s.queue.ARN, w.id}
}

// attempt runs the handler under the retry policy: Retry(Timeout(Recover(…))).
func (s *Session) attempt(w *work) error {
	policy := s.c.cfg.Retry
	if used := int(w.run.tries.Load()); used > 0 && w.run.pending != nil {
		// Goes on after a Goexit, whose error counts as the first result here.
		backoff := policy.Backoff
		policy.Tries -= used - 1
		policy.Backoff = func(n int) time.Duration { return backoff(n + used - 1) }
	}
	start, lease := s.start, w.run.lease.Load()
	if lease != nil {
		start = &lease.start
	}
	err := retry.Do(start, policy, func(context.Context) error {
		err := s.pendingOr(w, s.try)
		if lease.completed() {
			s.overruled(w, err)
			return nil // it is done, whatever the handler says after that
		}
		return err
	})
	// Only what Do itself returned: the handler may have returned one of its own.
	if gaveUp, ok := err.(*retry.ExhaustedError); ok && int(w.run.tries.Load()) != gaveUp.Tries { //nolint:errorlint // see above
		last := gaveUp.Last
		if p := w.run.pending; last == nil && p != nil {
			last = p.err
		}
		return &retry.ExhaustedError{Tries: int(w.run.tries.Load()), Last: last, Cause: gaveUp.Cause}
	}
	return err
}

// pendingOr accounts for the result of a call that a goroutine before this one
// has made, or makes the call.
func (s *Session) pendingOr(w *work, call func(*work) error) error {
	if p := w.run.pending; p != nil {
		w.run.pending = nil
		return p.err
	}
	return call(w)
}

// try calls the handler once. Whatever it does comes back as an error, but for
// runtime.Goexit, which ends the goroutine: see work.
func (s *Session) try(w *work) (err error) {
	handle, watched := s.handle, s.c.cfg.Observe != nil
	if lease := w.run.lease.Load(); lease != nil {
		handle = &lease.handle
	}
	ctx := handle
	if limit := s.c.cfg.TryTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, ErrTryTimeout)
		defer cancel()
	}
	var began time.Time
	if watched {
		began = time.Now()
	}
	n, returned, exiting := w.run.tries.Add(1), false, false
	defer func() {
		if !returned {
			v := recover()
			err, exiting = sound(&PanicError{Value: v, Stack: debug.Stack()}), v == nil
		}
		if handle.Err() != nil {
			w.run.drained = errors.Is(context.Cause(handle), ErrDraining)
		}
		w.run.succeeded.Store(err == nil)
		if watched || exiting {
			w.run.pending = &result{err}
			s.tried(w, int(n), began, err)
		}
		if !exiting {
			w.run.pending = nil
		}
	}()
	err = sound(s.c.handler.Handle(ctx, w.d.Message))
	returned = true
	if errors.Is(err, context.DeadlineExceeded) && context.Cause(ctx) == ErrTryTimeout { //nolint:errorlint // our own cause
		err = fmt.Errorf("%w: %w", ErrTryTimeout, err)
	}
	return err
}

// tried tells the hook how a try has ended. A handler that was abandoned has no
// say any more.
func (s *Session) tried(w *work, n int, began time.Time, err error) {
	if s.c.cfg.Observe == nil || w.run.stray.Load() {
		return
	}
	s.c.observe(Event{
		Kind: EventTry, Queue: s.queue.ARN, Message: w.d.Message,
		Try: n, Duration: time.Since(began), Err: err,
	})
}

// sound returns an error that can be read and taken apart: err itself, or one
// that says that it cannot. A nil pointer in an error, the classic mistake,
// panics only when somebody looks.
func sound(err error) (out error) {
	if err == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			out = &PanicError{Value: fmt.Sprintf("its error, a %T, cannot be read: %v", err, v), Stack: debug.Stack()}
		}
	}()
	_ = err.Error()
	_, _ = retry.Delay(err)
	_, _ = retry.IsPermanent(err), errors.Is(err, errUnlike)
	return err
}

// errUnlike is like no other error, so that a search for it visits them all.
var errUnlike = errors.New("unlike any other")
