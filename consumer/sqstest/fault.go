package sqstest

import "time"

// Fault is something that goes wrong on purpose. The first four fields and Match
// say which calls it is for, the others what happens; several effects combine.
// At most one fault works on a call: the first one that was injected and fits.
type Fault struct {
	// Action, Queue (name) and Caller (application id) restrict the fault to
	// such calls. Empty: any.
	Action, Queue, Caller string
	// Match, if set, must return true too. It sees the call before it is acted
	// upon, so without entries. It may be called by several goroutines at once.
	Match func(Call) bool
	// After lets this many fitting calls pass first.
	After int
	// Times is how many calls it works on. Default: 1. Negative: all, until it
	// is removed.
	Times int

	// Delay holds the call back before anything else happens.
	Delay time.Duration
	// Err is answered instead of acting.
	Err *Error
	// LoseResponse breaks the connection after acting: the work is done and the
	// caller does not learn of it. (The SDK then tries again.)
	LoseResponse bool
	// Entries makes entries of a batch call fail. A fault with Entries fits
	// only batches that have at least one of them.
	Entries []EntryFault
	// Twice owes the messages that a ReceiveMessage returns to the next receive
	// as well, although they are in flight.
	Twice bool
	// ExpireHandles makes all receipt handles expire that were issued so far
	// for the messages of a delete or visibility change, before it acts.
	// See also [Queue.ExpireHandles].
	ExpireHandles bool
	// CorruptMD5 answers wrong checksums of bodies, as if they had been damaged
	// on their way. The SDK fails the whole call then.
	CorruptMD5 bool
}

// AllEntries as [EntryFault.Index] means every entry of the batch.
const AllEntries = -1

// EntryFault makes one entry of a batch call fail; it is not acted upon.
type EntryFault struct {
	// Index is the entry's place in the batch, from 0, or [AllEntries].
	Index int
	// Code is the entry's error code. Default: "InternalError".
	Code string
	// Message is the text. Nil leaves it out of the answer, as SQS may.
	Message *string
	// SenderFault says whose fault it is: true means that trying again is of no
	// use.
	SenderFault bool
}

// Inject adds a fault. It returns a function that removes it again; calling
// that twice, or after the fault is used up, is fine.
func (s *Server) Inject(f Fault) (remove func()) {
	if f.Times == 0 {
		f.Times = 1
	}
	p := &f
	s.logMu.Lock()
	defer s.logMu.Unlock()
	s.faults = append(s.faults, p)
	return func() {
		s.logMu.Lock()
		defer s.logMu.Unlock()
		s.removeFault(p)
	}
}

// removeFault forgets p. The caller holds logMu. The slice is copied: others
// range over the old one without the lock.
func (s *Server) removeFault(p *Fault) {
	var rest []*Fault
	for _, f := range s.faults {
		if f != p {
			rest = append(rest, f)
		}
	}
	s.faults = rest
}

// claimFault returns the fault for this call, used up by one; zero if none.
func (s *Server) claimFault(c Call) Fault {
	s.logMu.Lock()
	faults := s.faults
	s.logMu.Unlock()
	for _, f := range faults {
		// Fields that say which calls never change after Inject, so they are
		// read without the lock, and Match may look at the server.
		if !f.fits(c) {
			continue
		}
		if claimed, ok := s.use(f); ok {
			return claimed
		}
	}
	return Fault{}
}

// use counts one fitting call for f and reports whether f works on it.
func (s *Server) use(f *Fault) (Fault, bool) {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	switch {
	case f.After > 0:
		f.After--
		return Fault{}, false
	case f.Times == 0: // another call was quicker
		return Fault{}, false
	case f.Times > 0:
		if f.Times--; f.Times == 0 {
			s.removeFault(f)
		}
	}
	return *f, true
}

func (f *Fault) fits(c Call) bool {
	switch {
	case f.Action != "" && f.Action != c.Action,
		f.Queue != "" && f.Queue != c.Queue,
		f.Caller != "" && f.Caller != c.Caller,
		len(f.Entries) > 0 && !f.hasEntry(batchSize(c.Input)):
		return false
	}
	return f.Match == nil || f.Match(c)
}

func (f *Fault) hasEntry(size int) bool {
	for _, e := range f.Entries {
		if e.Index < size && size > 0 {
			return true
		}
	}
	return false
}

// entry returns the scripted failure of the i-th entry, nil if none.
func (f *Fault) entry(i int) *EntryFault {
	for k := range f.Entries {
		if e := &f.Entries[k]; e.Index == i || e.Index == AllEntries {
			return e
		}
	}
	return nil
}
