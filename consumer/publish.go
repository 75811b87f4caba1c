package consumer

// published says what became of an attempt to publish an outcome.
type publishing uint8

const (
	published publishing = iota
	gone                 // the session has published without waiting
	outdated             // acknowledged by a receipt that is not the newest any more
)

// publish records the outcome for good and tells hooks and log of it.
func (s *Session) publish(w *work, o Outcome) publishing {
	p := s.conclude(w, o)
	switch {
	case p != published:
	case w.joined == nil:
		s.report(&o)
	default:
		s.tell(news(nil, w, o))
	}
	return p
}

// news adds to a list what there is to tell of an outcome: it is that of the
// delivery and of those that joined it.
func news(list []Outcome, w *work, o Outcome) []Outcome {
	o.Delivery = w.d // not the newest, by whose receipt it was settled
	list = append(list, o)
	for j := w.joined; j != nil; j = j.next {
		list = append(list, joint(j, o))
	}
	return list
}

// joint is the outcome of a delivery that joined another: the handler was not
// called for it.
func joint(j *work, o Outcome) Outcome {
	o.Delivery, o.Attempt, o.Tries = j.d, 0, 0
	return o
}

// conclude records the outcome for good, for the delivery and for those that
// joined it, and lets the lane go on.
func (s *Session) conclude(w *work, o Outcome) publishing {
	s.mu.Lock()
	switch {
	case w.phase == settled:
		s.mu.Unlock()
		return gone
	case o.Acknowledged() && o.Delivery != w.newest:
		s.mu.Unlock()
		return outdated
	}
	n, late := s.book(w, o)
	s.mu.Unlock()
	s.makeRoom(n)
	if late {
		s.deferWaiting()
	}
	return published
}

// publishAll publishes outcomes on any goroutine, a host's included: hooks and log
// are told on another.
func (s *Session) publishAll(ws []*work, outs []Outcome) {
	s.goroutines.Add(1) // before the session can end
	defer s.goroutines.Done()
	told := s.concludeAll(ws, outs)
	s.aside(func() { s.tell(told) })
}

// concludeAll records outcomes for good and returns what there is to tell.
func (s *Session) concludeAll(ws []*work, outs []Outcome) (told []Outcome) {
	for i, w := range ws {
		if s.conclude(w, outs[i]) == published {
			told = news(told, w, outs[i])
		}
	}
	return told
}

func (s *Session) makeRoom(places int) {
	if s.room != nil && places > 0 {
		s.room.Release(int64(places))
	}
}

// book does conclude's bookkeeping, with s.mu held. It returns how many places in
// the capacity are free again, and whether it has made something ready that can
// no longer start.
func (s *Session) book(w *work, o Outcome) (n int, late bool) {
	if w.apart {
		s.apart--
	}
	if name := s.name(w); s.inflight[name] == w {
		delete(s.inflight, name)
	}
	n = s.end(w, o)
	for j := w.joined; j != nil; j = j.next {
		n += s.end(j, joint(j, o))
	}
	if w.lane != nil && s.lanes[w.lane.group] == w.lane {
		if next := w.lane.waiting.pop(); next != nil {
			s.ready.push(next)
			late = s.start.Err() != nil
			if w.apart {
				s.hire() // otherwise this goroutine takes it
			}
		} else {
			delete(s.lanes, w.lane.group)
		}
	}
	if s.unsettled == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
	return n, late
}

// end makes o the outcome of w for good, with s.mu held. It returns the number of
// places in the capacity that this frees.
func (s *Session) end(w *work, o Outcome) (places int) {
	w.phase = settled
	s.unsettled--
	if w.left { // and out may be in use by the goroutine that was left
		if s.finals == nil {
			s.finals = make(map[*work]Outcome)
		}
		s.finals[w] = o
	} else {
		w.out[0] = o
	}
	if w.roomless {
		return 0
	}
	return 1
}
