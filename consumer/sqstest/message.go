package sqstest

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// state is where a stored message is in its life.
type state uint8

const (
	stateVisible  state = iota // a receive may have it (on FIFO: if its group lets it)
	stateInFlight              // hidden since a receive or a visibility change
	stateDelayed               // hidden since it was sent, never received
	stateGone                  // deleted, expired, purged or moved away
)

// message is one stored message. The server's mutex guards it.
type message struct {
	key      uint64 // what receipt handles name; survives a move to a dead-letter queue
	id       string
	body     string
	bodyMD5  string
	attrs    map[string]types.MessageAttributeValue
	trace    string // AWSTraceHeader
	group    string
	dedup    string
	sequence string // FIFO only
	source   string // DeadLetterQueueSourceArn

	sentAt          time.Time
	firstReceivedAt time.Time
	receives        int
	// deadHandles is the number of the newest receive whose handle a test
	// expired; this one and all older ones are refused.
	deadHandles int
	// again is set while a scripted second delivery is owed.
	again bool

	state     state
	visibleAt time.Time // end of the hidden time; meaningless once visible
	pos       uint64    // order of arrival in the queue that holds it

	hiddenSlot, ageSlot int // positions in the queue's heaps, -1 if absent

	prev, next *message // ready list of a standard queue, or group of a FIFO queue
	lane       *lane    // FIFO only
}

// messageList is a doubly linked list through the messages themselves, so that
// any message can leave it in constant time.
type messageList struct{ head, tail *message }

func (l *messageList) pushBack(m *message) {
	m.prev, m.next = l.tail, nil
	if l.tail == nil {
		l.head = m
	} else {
		l.tail.next = m
	}
	l.tail = m
}

func (l *messageList) remove(m *message) {
	if m.prev == nil {
		l.head = m.next
	} else {
		m.prev.next = m.next
	}
	if m.next == nil {
		l.tail = m.prev
	} else {
		m.next.prev = m.prev
	}
	m.prev, m.next = nil, nil
}
