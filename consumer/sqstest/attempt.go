package sqstest

import "time"

// receiveAttempt is the answer to a receive with a ReceiveRequestAttemptId on a
// FIFO queue, kept for a caller whose connection broke.
type receiveAttempt struct {
	messages []receivedMessage
	until    time.Time
}

// rememberAttempt keeps an answer for five minutes, as SQS documents.
func (q *queue) rememberAttempt(id string, messages []receivedMessage, now time.Time) {
	if !q.fifo {
		return
	}
	if q.attempts == nil {
		q.attempts = make(map[string]*receiveAttempt)
	}
	for key, a := range q.attempts {
		if !a.until.After(now) {
			delete(q.attempts, key)
		}
	}
	kept := make([]receivedMessage, len(messages))
	copy(kept, messages)
	for i := range kept {
		kept[i].hiddenUntil = kept[i].message.visibleAt
	}
	q.attempts[id] = &receiveAttempt{messages: kept, until: now.Add(dedupInterval)}
}

// replay answers a repeated attempt with the same messages and handles, and
// starts their visibility anew. It does nothing if one of them was deleted,
// received again or had its visibility changed since.
func (p *poll) replay(now time.Time) bool {
	q := p.queue
	a := q.attempts[p.attempt]
	if a == nil || !a.until.After(now) {
		return false
	}
	for _, r := range a.messages {
		m := r.message
		if m.state != stateInFlight || q.byKey[m.key] != m || !m.visibleAt.Equal(r.hiddenUntil) {
			return false
		}
	}
	visibility := q.set.visibility
	if p.visible != nil {
		visibility = time.Duration(*p.visible) * time.Second
	}
	for i := range a.messages {
		r := &a.messages[i]
		q.hide(r.message, now.Add(visibility))
		r.hiddenUntil = r.message.visibleAt
		p.add(r.message, r.ReceiptHandle)
	}
	return true
}
