package sqstest

// order decides which visible message comes next. A queue tells it every change
// of a message; m.state is already the new one when it is told.
type order interface {
	arrived(m *message)
	shown(m *message)
	hidden(m *message)
	// left is told of a message that is gone; wasVisible says what it was.
	left(m *message, wasVisible bool)
	// any reports whether pick would find something.
	any() bool
	// pick returns up to n messages in the order of their delivery, and those
	// it came across that used up their receives and have to be moved. It
	// changes nothing: the queue hides or moves what it returns.
	pick(n int, spent func(*message) bool) (picked, moved []*message)
}

// standardOrder is the order of a standard queue: the message that has been
// visible for longest comes first. SQS promises no order there; this one is
// repeatable and starves nobody.
type standardOrder struct{ ready messageList }

func (o *standardOrder) arrived(m *message) {
	if m.state == stateVisible {
		o.ready.pushBack(m)
	}
}

func (o *standardOrder) shown(m *message)  { o.ready.pushBack(m) }
func (o *standardOrder) hidden(m *message) { o.ready.remove(m) }
func (o *standardOrder) any() bool         { return o.ready.head != nil }

func (o *standardOrder) left(m *message, wasVisible bool) {
	if wasVisible {
		o.ready.remove(m)
	}
}

func (o *standardOrder) pick(n int, spent func(*message) bool) (picked, moved []*message) {
	for m := o.ready.head; m != nil && len(picked) < n; m = m.next {
		if spent(m) {
			moved = append(moved, m)
		} else {
			picked = append(picked, m)
		}
	}
	return picked, moved
}

// lane is the message group of a FIFO queue: its messages in the order of their
// arrival. It is ready while its first message is visible, because a hidden
// message blocks all later ones of its group and none of the earlier ones, as
// recordings of AWS show.
type lane struct {
	messages   messageList
	ready      bool
	prev, next *lane // list of the ready lanes
}

// fifoOrder is the order of a FIFO queue. Groups take turns: the one that has
// been ready for longest comes first, and one receive takes as much of it as
// fits before it goes on to the next.
type fifoOrder struct {
	lanes      map[string]*lane
	head, tail *lane
}

func (o *fifoOrder) arrived(m *message) {
	l := o.lanes[m.group]
	if l == nil {
		l = &lane{}
		o.lanes[m.group] = l
	}
	m.lane = l
	l.messages.pushBack(m)
	o.update(l)
}

func (o *fifoOrder) shown(m *message)  { o.update(m.lane) }
func (o *fifoOrder) hidden(m *message) { o.update(m.lane) }
func (o *fifoOrder) any() bool         { return o.head != nil }

func (o *fifoOrder) left(m *message, _ bool) {
	l := m.lane
	l.messages.remove(m)
	m.lane = nil
	o.update(l)
	if l.messages.head == nil {
		delete(o.lanes, m.group)
	}
}

// update moves the lane in or out of the list of ready lanes.
func (o *fifoOrder) update(l *lane) {
	ready := l.messages.head != nil && l.messages.head.state == stateVisible
	switch {
	case ready && !l.ready:
		l.prev, l.next = o.tail, nil
		if o.tail == nil {
			o.head = l
		} else {
			o.tail.next = l
		}
		o.tail = l
	case !ready && l.ready:
		if l.prev == nil {
			o.head = l.next
		} else {
			l.prev.next = l.next
		}
		if l.next == nil {
			o.tail = l.prev
		} else {
			l.next.prev = l.prev
		}
		l.prev, l.next = nil, nil
	}
	l.ready = ready
}

func (o *fifoOrder) pick(n int, spent func(*message) bool) (picked, moved []*message) {
	for l := o.head; l != nil && len(picked) < n; l = l.next {
		for m := l.messages.head; m != nil && m.state == stateVisible && len(picked) < n; m = m.next {
			if spent(m) {
				moved = append(moved, m)
			} else {
				picked = append(picked, m)
			}
		}
	}
	return picked, moved
}
