package consumer

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/retry"
)

// attempt is what a delivery's run of the handler leaves behind.
type attempt struct {
	entered bool         // the guard has let it pass
	tries   atomic.Int32 // read from outside when the handler is abandoned
	// cut is the cause with which the handler's context had ended by the time
	// the last try returned; nil if it had not.
	cut error
	// exited is set while a try that ended in runtime.Goexit has not been
	// accounted for.
	exited error
	lease  atomic.Pointer[lease] // nil without an idempotency store
}

// lease is the claim that a handler runs under.
type lease struct {
	claim *idempotency.Claim
	lost  atomic.Bool
	// start and handle are the session's contexts for this delivery alone; lose
	// ends them.
	start, handle context.Context
	lose          func(error)
}

// completed reports whether the work is recorded as done, by a transaction of
// the handler's own.
func (l *lease) completed() bool { return l != nil && l.claim.Completed() }

// work is the life of a worker goroutine: it takes a slot, then a delivery, and
// runs it. A first delivery that is not nil is one that already has a slot and
// whose handler has just called runtime.Goexit.
func (s *Session) work(w *work, fresh bool) {
	alive := false
	defer func() {
		if !alive {
			// The handler called runtime.Goexit, which ends this goroutine and
			// cannot be recovered from. Another one goes on where it stopped.
			go s.work(w, false)
		}
	}()
	growStack()
	for ; ; w = nil {
		if w == nil {
			held := s.takeSlot()
			if w = s.take(fresh); w == nil {
				if held {
					s.freeSlot()
				}
				break
			}
			fresh = false
		}
		if !s.process(w) {
			// Abandoned: the session has gone on without this goroutine.
			alive = true
			return
		}
	}
	alive = true
	s.goroutines.Done()
}

// growStack makes room for a handler's frames while the stack is shallow and
// cheap to move. A new goroutine begins with a small stack, which decoding a
// body alone makes grow several times, each time moving all that is on it.
//
//go:noinline
func growStack() byte {
	var room [8 << 10]byte
	return room[len(os.Args)%len(room)]
}

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
	ours := s.decide(w, s.run(w))
	if !ours {
		s.c.addStray(s.strayKey(w), -1)
		w.run.lease.Load().end()
	}
	s.freeSlot()
	if !ours {
		return false
	}
	if !w.apart {
		return s.settle(w)
	}
	go func() {
		if s.settle(w) {
			s.goroutines.Done()
		}
	}()
	return true
}

// run enters the handler if the guard lets it, and judges how it went.
func (s *Session) run(w *work) Outcome {
	if !w.run.entered {
		if err := s.guard(w); err != nil {
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

func (s *Session) strayKey(w *work) strayKey { return strayKey{s.queue.ARN, w.d.ID} }

// attempt runs the handler under the retry policy: Retry(Timeout(Recover(…))).
func (s *Session) attempt(w *work) error {
	policy := s.c.cfg.Retry
	if used := int(w.run.tries.Load()); used > 0 {
		// Goes on after a Goexit, whose error counts as the first result here.
		backoff := policy.Backoff
		policy.Tries -= used - 1
		policy.Backoff = func(n int) time.Duration { return backoff(n + used - 1) }
	}
	start, lease := s.start, w.run.lease.Load()
	if lease != nil {
		start = lease.start
	}
	err := retry.Do(start, policy, func(context.Context) error {
		err := w.run.exited
		if w.run.exited = nil; err == nil {
			err = s.try(w)
		}
		if lease.completed() {
			return nil // it is done, whatever the handler says after that
		}
		return err
	})
	if gaveUp, ok := errors.AsType[*retry.ExhaustedError](err); ok && int(w.run.tries.Load()) != gaveUp.Tries {
		last := gaveUp.Last
		if last == nil {
			last = w.run.exited
		}
		return &retry.ExhaustedError{Tries: int(w.run.tries.Load()), Last: last, Cause: gaveUp.Cause}
	}
	return err
}

// try calls the handler once. Whatever it does comes back as an error, but for
// runtime.Goexit, which ends the goroutine: see work.
func (s *Session) try(w *work) (err error) {
	handle, watched := s.handle, s.c.cfg.Observe != nil
	if lease := w.run.lease.Load(); lease != nil {
		handle = lease.handle
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
	n, returned := w.run.tries.Add(1), false
	defer func() {
		if !returned {
			p := &PanicError{Value: recover(), Stack: debug.Stack()}
			if err = p; p.Value == nil {
				w.run.exited = p
			}
		}
		if handle.Err() != nil {
			w.run.cut = context.Cause(handle)
		}
		if watched {
			s.c.observe(Event{
				Kind: EventTry, Queue: s.queue.ARN, Message: w.d.Message,
				Try: int(n), Duration: time.Since(began), Err: err,
			})
		}
	}()
	err = s.c.handler.Handle(ctx, w.d.Message)
	returned = true
	return err
}
