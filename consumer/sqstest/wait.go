package sqstest

import "time"

// waiter is a long poll that has found nothing so far.
type waiter struct {
	wake       chan struct{} // of capacity 1: a signal is never lost, never blocks
	until      time.Time     // when it looks again by itself
	prev, next *waiter
	queued     bool
}

// waiterList holds the long polls of a queue, the longest waiting one first.
// Only the first is woken and only the first watches for hidden messages to
// reappear; when it leaves it hands that duty on (see queue.leave). So an event
// costs the same however many polls wait.
type waiterList struct{ head, tail *waiter }

// enqueue appends w, unless it waits already, and sets when it looks again: at
// its deadline or, if it is the first, when the next hidden message shows.
func (q *queue) enqueue(w *waiter, deadline time.Time) {
	l := &q.waiters
	if !w.queued {
		w.queued = true
		w.prev = l.tail
		if l.tail == nil {
			l.head = w
		} else {
			l.tail.next = w
		}
		l.tail = w
	}
	w.until = deadline
	if w == l.head {
		if at, ok := q.nextChange(); ok && at.Before(deadline) {
			w.until = at
		}
	}
}

// leave takes w out of the list and lets the next first waiter know of whatever
// is there or will be.
func (q *queue) leave(w *waiter) {
	if w == nil || !w.queued {
		return
	}
	l := &q.waiters
	if w.prev == nil {
		l.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.queued = false
	q.notify()
}

// notify wakes the first waiter if there is something for it, or if it would
// look again too late. Everything that changes a queue ends with it.
func (q *queue) notify() {
	w := q.waiters.head
	if w == nil {
		return
	}
	at, ok := q.nextChange()
	if q.deleted || q.deliverable() || ok && at.Before(w.until) {
		w.signal()
	}
}

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// nextChange returns when the next hidden message shows by itself.
func (q *queue) nextChange() (time.Time, bool) {
	m := q.hidden.top()
	if m == nil {
		return time.Time{}, false
	}
	return m.visibleAt, true
}
