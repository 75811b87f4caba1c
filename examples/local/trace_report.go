package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// outcomes are what becomes of a delivery, in the order of the table.
var outcomes = []string{
	traceDeleted, traceReported, traceNotDeleted, string(sqstest.FailureError), string(sqstest.FailureTimeout),
	string(sqstest.FailureResponse), string(sqstest.FailureRefused),
}

// report writes what became of the deliveries, and how long messages took to
// come back.
func (t *trace) report(w io.Writer) {
	t.seen.Lock()
	defer t.seen.Unlock()
	printf(w, "\nDeliveries, and what the function's answers made of them (its tries in them are\nnot known here):\n")
	table(w, func(tw io.Writer) {
		row(tw, "outcome", "deliveries")
		for _, what := range outcomes {
			if n := t.deliveries[what]; n > 0 {
				row(tw, what, n)
			}
		}
	})
	if len(t.back) == 0 {
		return
	}
	printf(w, "\nRedeliveries, and how long after the one before:\n")
	table(w, func(tw io.Writer) {
		row(tw, "after receive", "messages", "came back after")
		for i, d := range t.back {
			if d.messages > 0 {
				row(tw, i+1, d.messages, d)
			}
		}
	})
}

// reportDead writes what is in the dead-letter queue: what the copies say of it
// or, of those that SQS moved, what was seen here.
func (t *trace) reportDead(w io.Writer, a *account) {
	if len(a.parked)+len(a.moved)+len(a.strangers) == 0 {
		return
	}
	printf(w, "\nIn the dead-letter queue, and why:\n")
	table(w, func(tw io.Writer) {
		row(tw, "message", "order", "by", "receives", "error")
		for _, e := range a.parked {
			row(tw, short(e.id), e.label(), "function", e.receives, a.reasons[e.id].Error)
		}
		for _, e := range a.moved {
			row(tw, short(e.id), e.label(), "SQS", e.receives, why(e))
		}
	})
	if a.copies > 0 {
		printf(w, "  and %s of these\n", plural(a.copies, "second copy", "second copies"))
	}
	for _, id := range a.strangers {
		printf(w, "  and %s, which nobody sent\n", printable(id))
	}
}

func reportInvocations(w io.Writer, s sqstest.Stats) {
	failed := 0
	for _, n := range s.Failures {
		failed += n
	}
	printf(w, "  in %s, %d of which failed as a whole\n", plural(s.Invocations, "invocation", "invocations"), failed)
	table(w, func(t io.Writer) {
		for _, kind := range slices.Sorted(maps.Keys(s.Failures)) {
			row(t, fmt.Sprintf("  %s", kind), s.Failures[kind])
		}
	})
}
