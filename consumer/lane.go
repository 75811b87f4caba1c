package consumer

import (
	"context"
	"fmt"
	"iter"
)

// phase is where a delivery is on its way. It only ever grows.
type phase uint8

const (
	waiting  phase = iota // in the ready list or behind others in its lane
	running               // its handler has a goroutine
	settling              // it has an outcome that SQS is being told
	settled               // done with; what comes later is ignored
)

// work is one delivery on its way through a session.
type work struct {
	id     string // the message's: a handler might change it there
	d      *Delivery
	newest *Delivery // the one whose receipt counts, if others joined
	joined *work     // the same message again, linked by next
	lane   *lane     // nil on a standard queue
	next   *work     // in the ready list, in the lane, or among those that joined
	// out is the outcome as soon as there is one. It is an array so that Settle
	// can be handed a slice of it.
	out  [1]Outcome
	hold *hold // nil where the session does not extend

	phase    phase
	roomless bool // was turned away: holds no room
	staffed  bool // a goroutine that the session counts is settling it
	apart    bool // and that one does nothing else
	left     bool // the session has published without waiting for it: the outcome is in Session.finals
	run      attempt
}

// lane is a message group of a FIFO queue: one message is in the ready list or
// on its way, the rest waits here.
type lane struct {
	group   string
	waiting workList
}

// workList is a queue linked through work.next.
type workList struct{ head, tail *work }

func (l *workList) push(w *work) {
	w.next = nil
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.next = w
	}
	l.tail = w
}

func (l *workList) pop() *work {
	w := l.head
	if w == nil {
		return nil
	}
	if l.head = w.next; l.head == nil {
		l.tail = nil
	}
	w.next = nil
	return w
}

// enqueue puts new work into lanes and ready list, and sees to it that there
// are goroutines to do it. A message that is on its way already is joined.
func (s *Session) enqueue(ws []work) error {
	return s.admit(len(ws), func(i int) *work { return &ws[i] }, ws)
}

// admit does so for n pieces of work, wherever they are. batch is where they are all
// together.
func (s *Session) admit(n int, at func(int) *work, batch []work) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	whole := s.whole && s.inflight == nil
	few := whole && n <= fewEnough
	if s.inflight == nil && !few {
		s.inflight = make(map[string]*work, n)
	}
	s.unsettled += n
	for i := range n {
		w := at(i)
		w.id = w.d.ID
		s.startHold(w)
		if few {
			s.place(w, find(batch[:i], w.id))
		} else {
			s.place(w, s.inflight[w.id])
		}
	}
	if whole {
		// They are found in the batch from now on: a map of ten thousand is not
		// kept for that, nor emptied one by one.
		s.batch, s.inflight, s.whole = batch, nil, false
	}
	s.hire()
	s.mu.Unlock()
	if !whole {
		s.watch()
	}
	if s.start.Err() != nil {
		// The deferral that the end of start set off may have missed these.
		if s.heart != nil {
			s.aside(s.deferWaiting) // it may have to wait for an extension: see Drain
		} else {
			s.deferWaiting()
		}
	}
	return nil
}

// onTheirWay gives all deliveries that are not settled, but for those that joined
// another. s.mu is held.
func (s *Session) onTheirWay() iter.Seq[*work] {
	return func(yield func(*work) bool) {
		for i := range s.batch {
			if w := &s.batch[i]; w.phase != settled && !yield(w) {
				return
			}
		}
		for _, w := range s.inflight {
			if !yield(w) {
				return
			}
		}
	}
}

// fewEnough is how many deliveries are sooner looked through than put into a map.
const fewEnough = 16

// find gives the first of ws that has the id, or nil.
func find(ws []work, id string) *work {
	for i := range ws {
		if ws[i].id == id {
			return &ws[i]
		}
	}
	return nil
}

// place puts w where it belongs; first is the delivery of the same id, if there is
// one.
func (s *Session) place(w, first *work) {
	if first != nil && w.id != "" {
		w.next, first.joined = first.joined, w
		if w.d.ReceiveCount >= first.newest.ReceiveCount {
			first.newest = w.d
			first.rehold()
		}
		return
	}
	if s.inflight != nil {
		s.inflight[s.name(w)] = w
	}
	if s.lanes == nil {
		s.ready.push(w)
		return
	}
	l := s.lanes[w.d.GroupID]
	if l != nil {
		w.lane = l
		l.waiting.push(w)
		return
	}
	w.lane = &lane{group: w.d.GroupID}
	s.lanes[w.d.GroupID] = w.lane
	s.ready.push(w)
}

// name is the key of w among the deliveries on their way: its message id, or
// something of its own if it has none.
func (s *Session) name(w *work) string {
	if w.id != "" {
		return w.id
	}
	return fmt.Sprintf("\x00%p", w)
}

// hire starts a goroutine if there is work for one and the concurrency allows
// it. One at a time: the new one hires the next when it has taken something, so
// that a batch that one goroutine does in no time starts no ten. s.mu is held.
func (s *Session) hire() {
	if s.ready.head == nil || s.starting > 0 || s.workers >= cap(s.c.slots) {
		return
	}
	s.workers++
	s.starting++
	s.goroutines.Add(1)
	go s.work(nil, true)
}

// take gives the next work that may start, or nil, in which case the calling
// goroutine no longer counts as a worker. fresh says that it is its first time.
func (s *Session) take(fresh bool) *work {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fresh {
		s.starting--
	}
	if s.start.Err() == nil {
		if w := s.ready.pop(); w != nil {
			w.phase = running
			s.hire()
			return w
		}
	}
	s.workers--
	return nil
}

// followers takes all that waits behind w out of its lane and ends the lane.
// s.mu is held.
func (s *Session) followers(w *work, to []*work) []*work {
	if w.lane == nil {
		return to
	}
	for f := w.lane.waiting.pop(); f != nil; f = w.lane.waiting.pop() {
		f.phase = settling
		to = append(to, f)
	}
	delete(s.lanes, w.lane.group)
	return to
}

// deferWaiting defers what waits and can no longer start. What waits behind a
// message that is still on its way shares that one's fate and is left to it.
func (s *Session) deferWaiting() {
	s.mu.Lock()
	var heads [][]*work
	for w := s.ready.pop(); w != nil; w = s.ready.pop() {
		w.phase = settling
		heads = append(heads, s.followers(w, []*work{w}))
	}
	s.mu.Unlock()
	if len(heads) == 0 {
		return
	}
	cause := context.Cause(s.start)
	if s.lanes != nil {
		for _, group := range heads {
			s.deferAll(group, cause)
		}
		return
	}
	all := make([]*work, 0, len(heads))
	for _, head := range heads {
		all = append(all, head...)
	}
	s.deferAll(all, cause)
}
