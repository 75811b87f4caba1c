package consumer

// exited is called by a worker goroutine that runtime.Goexit is ending, which
// cannot be stopped: the handler has called it, or a hook.
func (s *Session) exited(w *work) {
	go s.work(w, false) // goes on where this one stopped
}

// resume goes on with a delivery, and a slot, whose goroutine has been ended. It
// returns false if the session has gone on without it.
func (s *Session) resume(w *work) bool {
	s.mu.Lock()
	at, stray := w.phase, w.run.stray.Load()
	s.mu.Unlock()
	switch {
	case stray:
		s.strayReturned(w)
		return false
	case at == running:
		return s.process(w)
	default:
		return s.resettle(w)
	}
}

// resettle goes on with a delivery whose settling has been ended. It keeps the
// outcome it had. It returns false if the session has gone on without it.
func (s *Session) resettle(w *work) bool {
	s.mu.Lock()
	at, left, o := w.phase, w.left, w.out[0]
	o.Delivery = w.newest
	s.mu.Unlock()
	switch {
	case at == settled:
		return !left // it was a hook that was told of it
	case !o.Acknowledged():
		return s.settleFailure(w, o)
	}
	for {
		switch s.publish(w, o) {
		case published:
			return true
		case gone:
			return false
		case outdated:
			o.Delivery = s.newest(w)
		}
	}
}

// aside calls f, which tells hooks and log something, in a goroutine of its own:
// they may be slow, or end it, and neither must concern the caller.
func (s *Session) aside(f func()) {
	s.goroutines.Add(1)
	go func() {
		defer s.goroutines.Done()
		f()
	}()
}

// apart calls f in a goroutine of its own and waits for it. If f does not return,
// v is what it panicked with, or nil if it called runtime.Goexit.
func apart(f func()) (v any, returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if !returned {
				v = recover()
			}
		}()
		f()
		returned = true
	}()
	<-done
	return v, returned
}

// strayReturned takes note that an abandoned handler has returned.
func (s *Session) strayReturned(w *work) {
	s.c.addStray(s.strayKey(w), -1)
	w.run.lease.Load().end()
	s.freeSlot()
}
