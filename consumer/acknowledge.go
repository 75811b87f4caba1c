package consumer

// acknowledger is a source that takes an acknowledgement over and says later what
// has become of it. A goroutine that waits for that, and its stack, cost more than
// all else that is done for a message.
type acknowledger interface {
	// Acknowledge begins to acknowledge a delivery and returns at once. Sooner or
	// later it calls confirmed, with an error if SQS did not confirm that the message
	// is gone: from any goroutine, with no lock held. confirmed does not block.
	Acknowledge(d *Delivery, confirmed func(error))
}

// nothingButAcknowledge reports whether there is nothing else to do for an outcome
// that could take its time: nothing to write to the store, to park, or to tell
// anybody, and nobody in a lane behind it.
func (s *Session) nothingButAcknowledge(w *work) bool {
	l := w.run.lease.Load()
	return s.acks != nil && w.out[0].Verdict == VerdictDone && w.lane == nil &&
		(l == nil || l.claim == nil) && s.c.cfg.Observe == nil
}

func (s *Session) acknowledge(w *work) {
	if s.record(w) { // which writes nothing, but ends the lease
		s.acks.Acknowledge(w.out[0].Delivery, func(err error) { s.acknowledged(w, err) })
	}
}

// acknowledged goes on when an acknowledgement was confirmed, or was not.
func (s *Session) acknowledged(w *work, err error) {
	if err == nil && s.conclude(w, w.out[0]) == published {
		s.goroutines.Done() // that of decide
		return
	}
	if !s.settledMeanwhile(w) {
		go s.settleOn(w, err)
	}
}

// settleOn settles what an acknowledgement alone did not.
func (s *Session) settleOn(w *work, err error) {
	if s.confirm(w, err) {
		s.goroutines.Done()
	}
}
