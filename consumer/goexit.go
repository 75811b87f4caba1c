package consumer

// exited is called by a worker goroutine that runtime.Goexit is ending, which
// cannot be stopped: the handler has called it, or a hook.
func (s *Session) exited(w *work) {
	s.mu.Lock()
	during := w.phase
	s.mu.Unlock()
	switch {
	case w.run.stray.Load():
		s.strayReturned(w)
	case during == running:
		go s.work(w, false) // goes on where this one stopped
	default:
		if !s.rescue(w) {
			return
		}
		s.mu.Lock()
		s.workers--
		s.hire()
		s.mu.Unlock()
		s.goroutines.Done()
	}
}

// rescue publishes the outcome of a delivery whose settling a hook has ended by
// runtime.Goexit. It returns false if the session has gone on without the
// goroutine.
func (s *Session) rescue(w *work) bool {
	s.mu.Lock()
	if w.phase == settled {
		defer s.mu.Unlock()
		return !w.left
	}
	o := w.out[0]
	o.Delivery = w.newest
	n, late := s.book(w, o)
	s.mu.Unlock()
	s.makeRoom(n)
	if late {
		s.deferWaiting()
	}
	return true
}

// strayReturned takes note that an abandoned handler has returned.
func (s *Session) strayReturned(w *work) {
	s.c.addStray(s.strayKey(w), -1)
	w.run.lease.Load().end()
	s.freeSlot()
}
