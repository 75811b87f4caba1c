package main

import (
	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// account is where every message that was sent is now. It is drawn up from what
// the queues hold and what the handler itself has noted, not from what the
// library says it did.
type account struct {
	sent int
	// done left the queue, and the handler had returned nil for them.
	done []*entry
	// parked and moved are in the dead-letter queue: by the library, and by SQS.
	parked, moved []*entry
	// left are still in the queue.
	left []*entry
	// lost are in no queue, and the handler never returned nil for them.
	lost []*entry
	// strangers are messages in the dead-letter queue that nobody sent.
	strangers []string
	// copies are second copies in the dead-letter queue of one message.
	copies int
	// reasons is why parked messages were parked, as their copies say.
	reasons map[string]dlq.Provenance
}

// draw draws up the account.
func draw(l *ledger, queue, dead []sqstest.MessageState, successes map[string]int) *account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &account{sent: len(l.order), reasons: make(map[string]dlq.Provenance)}
	waiting, moved := make(map[string]bool), make(map[string]bool)
	for _, m := range queue {
		waiting[m.ID] = true
	}
	for _, m := range dead {
		id, p := m.ID, provenance(m)
		if p.MessageID != "" {
			id = p.MessageID
		}
		_, parked := a.reasons[id]
		switch {
		case l.entries[id] == nil:
			a.strangers = append(a.strangers, m.ID)
		case parked || moved[id]:
			a.copies++
		case p.MessageID != "":
			a.reasons[id] = p
		default:
			moved[id] = true
		}
	}
	for _, id := range l.order {
		e := l.entries[id]
		_, parked := a.reasons[id]
		switch {
		case waiting[id]:
			a.left = append(a.left, e)
		case parked:
			a.parked = append(a.parked, e)
		case moved[id]:
			a.moved = append(a.moved, e)
		case successes[id] > 0:
			a.done = append(a.done, e)
		default:
			a.lost = append(a.lost, e)
		}
	}
	return a
}

// provenance is what a parked copy says of its origin; zero if it is none.
func provenance(m sqstest.MessageState) dlq.Provenance {
	value := m.Attributes[dlq.AttributeName].StringValue
	if value == nil {
		return dlq.Provenance{}
	}
	p, _ := dlq.Parse(&consumer.Message{Attributes: map[string]consumer.Attribute{
		dlq.AttributeName: {StringValue: *value},
	}})
	return p
}

// closed reports whether every message is done or in the dead-letter queue, and
// nothing else is there.
func (a *account) closed() bool {
	return len(a.left) == 0 && len(a.lost) == 0 && len(a.strangers) == 0
}
