package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// trace records what becomes of the messages as an event source sees it: what it
// received, what the answers said and what it deleted. Its methods are safe for
// concurrent use.
type trace struct {
	*ledger
	stderr io.Writer
	to     target

	seen        sync.Mutex // guards what follows, and comes before ledger.mu; held for short sections only
	invocations int
	refusing    bool // so was the last invocation
	deliveries  map[string]int
	gone        map[string]int       // deletes, by message id
	refused     map[string]bool      // the last delivery of the message was no invocation
	received    map[string]time.Time // the last time
	again       map[string]string    // message ids of what was redriven, and what else it is known by
	back        []delays             // by receive count, from 1: how long messages took to come back
}

func newTrace(to target, stdout, stderr io.Writer, verbose bool) *trace {
	return &trace{
		ledger: newLedger(stdout, verbose), stderr: stderr, to: to,
		deliveries: make(map[string]int), gone: make(map[string]int),
		refused: make(map[string]bool), received: make(map[string]time.Time), again: make(map[string]string),
	}
}

// What becomes of a delivery, beside the kinds of a failed invocation.
const (
	traceDeleted    = "deleted"
	traceReported   = "reported as failed"
	traceNotDeleted = "not reported, but not deleted"
)

// observe takes an invocation.
func (t *trace) observe(v sqstest.Invocation) {
	t.seen.Lock()
	defer t.seen.Unlock()
	t.invocations++
	t.announce(v)
	deleted := make(map[string]bool, len(v.Deleted))
	for _, id := range v.Deleted {
		deleted[id] = true
	}
	for _, m := range v.Records {
		what, why := traceReported, error(nil)
		id := t.key(m)
		switch err := v.DeleteErrors[*m.MessageId]; {
		case deleted[*m.MessageId]:
			what = traceDeleted
			t.gone[id]++
		case v.Failure != "":
			what, why = string(v.Failure), v.Err
		case err != nil:
			what, why = traceNotDeleted, err
		}
		t.deliveries[what]++
		t.refused[id] = v.Failure == sqstest.FailureRefused
		t.delivered(id, m, v.Started, what, why)
	}
}

// key is what a message is known by: its id or, if it was parked before and has
// been redriven, the id that a copy of it will have from now on as well. t.seen
// is held.
func (t *trace) key(m types.Message) string {
	id := aws.ToString(m.MessageId)
	if p := provenance(sqstest.MessageState{Attributes: m.MessageAttributes}); p.MessageID != "" {
		t.again[id] = p.MessageID
		return p.MessageID
	}
	return id
}

// place is what a message on the dead-letter queue is known by, and whether it is
// a parked copy. What was received here and is there under its own id was moved
// by SQS, wherever it has been before.
func (t *trace) place(m sqstest.MessageState) (id string, parked bool) {
	t.seen.Lock()
	defer t.seen.Unlock()
	if id, ok := t.again[m.ID]; ok {
		return id, false
	}
	if p := provenance(m); p.MessageID != "" {
		return p.MessageID, true
	}
	return m.ID, false
}

// announce says when the function cannot be invoked, and when it can again.
// t.seen is held.
func (t *trace) announce(v sqstest.Invocation) {
	refused := v.Failure == sqstest.FailureRefused
	switch {
	case refused && !t.refusing:
		printf(t.stderr, "local: the function cannot be invoked; messages come back when their visibility ends: %s\n", printable(v.Err.Error()))
	case !refused && t.refusing:
		printf(t.stderr, "local: the function is invoked again\n")
	}
	t.refusing = refused
}

// delivered notes one delivery. t.seen is held.
func (t *trace) delivered(id string, m types.Message, at time.Time, what string, why error) {
	n, _ := strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
	if last, ok := t.received[id]; ok {
		t.cameBack(n-1, at.Sub(last))
	}
	t.received[id] = at
	e := t.entry(id, aws.ToString(m.Body))
	t.mu.Lock()
	defer t.mu.Unlock()
	e.receives = max(e.receives, n)
	if what != traceDeleted {
		if why == nil {
			why = errors.New("the function reported it, and an answer has no reasons")
		}
		e.last = why
	}
	if t.verbose {
		text := fmt.Sprintf("%-8s receive %d  %s", e.label(), n, what)
		if what != traceDeleted && what != traceReported {
			text += ": " + printable(why.Error())
		}
		printf(t.w, "%6.2fs  %s\n", time.Since(t.start).Seconds(), text)
	}
}

// cameBack notes that a message was received again. t.seen is held.
func (t *trace) cameBack(after int, took time.Duration) {
	after = max(after, 1)
	for len(t.back) < after {
		t.back = append(t.back, delays{})
	}
	d := &t.back[after-1]
	took = took.Round(10 * time.Millisecond)
	if d.messages++; d.messages == 1 {
		d.shortest = took
	}
	d.shortest, d.longest = min(d.shortest, took), max(d.longest, took)
}

// entry finds a message, or notes one that somebody else has sent.
func (t *trace) entry(id, body string) *entry {
	t.mu.Lock()
	e := t.entries[id]
	t.mu.Unlock()
	if e != nil {
		return e
	}
	ln := line{order: short(id)}
	var o order
	if json.Unmarshal([]byte(body), &o) == nil && o.id != "" {
		ln.order = o.id
	}
	t.add(id, ln)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entries[id]
}

// known returns the ids of all messages.
func (t *trace) known() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.order...)
}

// deleted returns how often each message was deleted.
func (t *trace) deleted() map[string]int {
	t.seen.Lock()
	defer t.seen.Unlock()
	return maps.Clone(t.gone)
}

// effort is how much was done so far.
func (t *trace) effort() string {
	t.seen.Lock()
	defer t.seen.Unlock()
	return plural(t.invocations, "invocation", "invocations")
}

// uninvoked are those of the messages that the function has not seen in their
// last delivery.
func (t *trace) uninvoked(es ...*entry) (out []*entry) {
	t.seen.Lock()
	defer t.seen.Unlock()
	for _, e := range es {
		if t.refused[e.id] {
			out = append(out, e)
		}
	}
	return out
}
