package sqstest

import (
	"time"
)

// queue is one queue and what is in it. The server's mutex guards all of it.
type queue struct {
	id      uint64
	name    string
	arn     string
	fifo    bool
	set     settings
	tags    map[string]string
	created time.Time
	changed time.Time
	deleted bool
	limit   int // messages in flight

	byKey    map[uint64]*message
	order    order
	hidden   messageHeap
	aged     messageHeap
	again    []*message // in flight, and owed to the next receive as well
	inFlight int
	delayed  int

	nextPos  uint64
	nextSeq  uint64
	dedup    dedupWindow
	attempts map[string]*receiveAttempt
	waiters  waiterList
	purgedAt time.Time
}

func newQueue(id uint64, name, arn string, fifo bool, limit int, now time.Time) *queue {
	q := &queue{
		id: id, name: name, arn: arn, fifo: fifo, limit: limit,
		set: defaultSettings(), created: now, changed: now,
		byKey:  make(map[uint64]*message),
		hidden: newHiddenHeap(),
		aged:   newAgeHeap(),
		order:  &standardOrder{},
	}
	if fifo {
		q.order = &fifoOrder{lanes: make(map[string]*lane)}
	}
	return q
}

// add puts m into the queue, hidden for delay if that is positive. The message
// must be in no queue.
func (q *queue) add(m *message, now time.Time, delay time.Duration) {
	m.pos = q.nextPos
	q.nextPos++
	m.hiddenSlot, m.ageSlot = -1, -1
	m.prev, m.next, m.again = nil, nil, false
	m.state = stateVisible
	if delay > 0 {
		m.state, m.visibleAt = stateDelayed, now.Add(delay)
		q.delayed++
		q.hidden.push(m)
	}
	q.byKey[m.key] = m
	q.aged.push(m)
	q.order.arrived(m)
}

// hide makes m invisible until then. A message that is hidden already gets the
// new time.
func (q *queue) hide(m *message, until time.Time) {
	was := m.state
	switch was {
	case stateVisible:
		q.inFlight++
	case stateDelayed:
		q.delayed--
		q.inFlight++
	default: // it was in flight already
	}
	q.hidden.remove(m)
	m.state, m.visibleAt = stateInFlight, until
	q.hidden.push(m)
	if was == stateVisible {
		q.order.hidden(m)
	}
}

// show makes m visible.
func (q *queue) show(m *message) {
	switch m.state {
	case stateInFlight:
		q.inFlight--
	case stateDelayed:
		q.delayed--
	default:
		return
	}
	q.hidden.remove(m)
	m.state = stateVisible
	q.order.shown(m)
}

// drop takes m out of the queue: deleted, expired, purged or moved.
func (q *queue) drop(m *message) {
	was := m.state
	switch was {
	case stateInFlight:
		q.inFlight--
	case stateDelayed:
		q.delayed--
	default: // visible messages are what is left
	}
	m.state = stateGone
	q.hidden.remove(m)
	q.aged.remove(m)
	delete(q.byKey, m.key)
	q.order.left(m, was == stateVisible)
}

// advance brings the queue up to now: what has been hidden long enough shows,
// what is older than the retention period is gone. Every access starts with it,
// so nothing has to run in the background.
func (q *queue) advance(now time.Time) {
	for m := q.aged.top(); m != nil && !m.sentAt.Add(q.set.retention).After(now); m = q.aged.top() {
		q.drop(m)
	}
	for m := q.hidden.top(); m != nil && !m.visibleAt.After(now); m = q.hidden.top() {
		q.show(m)
	}
	q.dedup.forget(now)
}

// spent reports whether the redrive policy forbids one more receive of m.
func (q *queue) spent(m *message) bool {
	return q.set.deadLetterARN != "" && m.receives >= q.set.maxReceives
}

// deliverable reports whether a receive would get something now, or move
// something to the dead-letter queue.
func (q *queue) deliverable() bool {
	return q.inFlight < q.limit && (q.order.any() || len(q.again) > 0)
}

// visible counts the messages that are neither in flight nor delayed.
func (q *queue) visible() int { return len(q.byKey) - q.inFlight - q.delayed }

// nextSequence returns a sequence number in the form of SQS: 20 digits, beyond
// 64 bits, growing.
func (q *queue) nextSequence() string {
	q.nextSeq++
	return sequenceString(q.nextSeq)
}
