package consumer_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// check compares what was seen with what must hold. w.mu is held.
func (w *witness) check(s scenario, outs []consumer.Outcome) {
	if len(w.outcomes) != len(s.ids) {
		w.faultf("%d outcomes of %d deliveries", len(w.outcomes), len(s.ids))
	}
	if w.most > s.concurrency {
		w.faultf("%d handlers at once at concurrency %d", w.most, s.concurrency)
	}
	for i, o := range outs {
		if o.Delivery.ID != s.ids[i] {
			w.faultf("outcome %d is of %s, not of %s", i, o.Delivery.ID, s.ids[i])
		}
	}
	for _, o := range w.outcomes {
		w.checkOutcome(o)
	}
	if outs != nil {
		w.checkBatch(s, outs)
	}
}

func (w *witness) checkOutcome(o consumer.Outcome) {
	id := o.Delivery.ID
	switch {
	case o.Verdict == consumer.VerdictDone && !w.succeeded[id]:
		w.faultf("%s is done, but its handler never returned nil", id)
	case o.Parked && !w.parked[id]:
		w.faultf("%s is said to be parked", id)
	case o.Verdict == consumer.VerdictRetry && o.Err == nil, o.Verdict == consumer.VerdictDeferred && o.Err == nil:
		w.faultf("%s: no reason for %v", id, o.Verdict)
	case o.Tries > 3 || (o.Tries == 0) != (o.Attempt == 0):
		w.faultf("%s: %d tries in attempt %d", id, o.Tries, o.Attempt)
	case o.Verdict == consumer.VerdictDeferred && o.Attempt > 0 && !errors.Is(o.Err, consumer.ErrDraining):
		w.faultf("%s: deferred, but attempt %d counts", id, o.Attempt)
	}
	if o.Acknowledged() {
		return
	}
	if o.Delay%time.Second != 0 && o.Delay >= 0 || o.Delay > 12*time.Hour {
		w.faultf("%s: delay %v", id, o.Delay)
	}
	if o.Delay == 0 && !errors.Is(o.Err, consumer.ErrDraining) && !errors.Is(o.Err, consumer.ErrGroupFailed) {
		w.faultf("%s: visible at once, though nobody asked for it: %v", id, o.Err)
	}
}

// checkBatch checks what holds within one batch: every message has one attempt
// at the most, success is never reported as failure, and a FIFO group is worked
// off from its head to the first failure.
func (w *witness) checkBatch(s scenario, outs []consumer.Outcome) {
	verdicts := make(map[string]consumer.Outcome)
	for _, o := range outs {
		id := o.Delivery.ID
		before, twice := verdicts[id]
		if tries := w.tries[id]; !twice && tries != o.Tries || twice && o.Tries != 0 { // the first has them all
			w.faultf("%s: %d tries in the outcome, %d calls", id, o.Tries, w.tries[id])
		}
		if w.succeeded[id] && o.Verdict != consumer.VerdictDone && !errors.Is(o.Err, consumer.ErrAbandoned) {
			w.faultf("%s ran to success and is reported as %v", id, o.Verdict)
		}
		if twice && before.Verdict != o.Verdict {
			w.faultf("%s has verdicts %v and %v", id, before.Verdict, o.Verdict)
		}
		if !twice {
			verdicts[id] = o
		}
	}
	if !s.fifo {
		return
	}
	for _, group := range []string{"a", "b", "c"} {
		var order []string
		for _, id := range s.ids {
			if id[:1] == group && !slices.Contains(order, id) {
				order = append(order, id)
			}
		}
		w.checkGroup(order, w.order[group], verdicts, s.unconfirmed)
	}
}

// checkGroup checks one group of a FIFO queue: order is how its messages came,
// ran is how they were begun.
func (w *witness) checkGroup(order, ran []string, verdicts map[string]consumer.Outcome, unconfirmed string) {
	failed := ""
	at := 0
	for _, id := range order {
		o := verdicts[id]
		if failed != "" && (o.Verdict != consumer.VerdictDeferred || o.Attempt != 0 || w.tries[id] > 0) {
			w.faultf("%s comes after %s, which stays on the queue, and is %v after %d tries", id, failed, o.Verdict, w.tries[id])
		}
		if !o.Acknowledged() || id == unconfirmed {
			failed = id
		}
		if w.tries[id] > 0 {
			if at >= len(ran) || ran[at] != id {
				w.faultf("%s is out of order in %v", id, ran)
			}
			at++
		}
	}
}

// checkSlots runs as many messages as there are slots, a second each, and wants
// that to take a second.
func (w *witness) checkSlots(t *testing.T, s scenario, c *consumer.Consumer) {
	t.Helper()
	if c.Stuck() {
		w.faultf("stuck although every handler has returned")
	}
	ids := []string{"v", "w", "x", "y", "z"}[:s.concurrency]
	begin := time.Now()
	for _, o := range c.Process(t.Context(), newSource(t), deliveries(ids...)) {
		if o.Verdict != consumer.VerdictDone {
			w.faultf("afterwards: %s", short(o))
		}
	}
	if took := time.Since(begin); took != time.Second {
		w.faultf("%d messages took %v at concurrency %d: slots were lost", s.concurrency, took, s.concurrency)
	}
}
