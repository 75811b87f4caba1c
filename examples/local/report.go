package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// report writes the tables at the end.
func (s *stage) report(w io.Writer, a *account, elapsed time.Duration) {
	printf(w, "\nAfter %v:\n", elapsed.Round(10*time.Millisecond))
	table(w, func(t io.Writer) {
		row(t, "messages", a.sent, "sent")
		row(t, "done", len(a.done), "the handler returned nil, and they have left the queue")
		row(t, "parked", len(a.parked), "copied to the dead-letter queue by the library")
		row(t, "moved", len(a.moved), "to the dead-letter queue by SQS, receives used up")
		row(t, "left", len(a.left), "still in the queue"+labels(a.left))
		row(t, "lost", len(a.lost), "nowhere, and not done"+labels(a.lost))
	})
	s.ledger.report(w)
	reportDead(w, a)
	printf(w, "\nCalls of SQS:\n")
	s.host.reportCalls(w)
	s.reportTwice(w)
}

// table aligns what f writes, indented.
func table(w io.Writer, f func(t io.Writer)) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	f(t)
	_ = t.Flush()
}

// row writes a line of cells. Some are what messages or errors say.
func row(t io.Writer, cells ...any) {
	for i, c := range cells {
		sep := "\t"
		if i == 0 {
			sep = "  "
		}
		printf(t, "%s%s", sep, printable(fmt.Sprint(c)))
	}
	printf(t, "\n")
}

// labels names a few messages.
func labels(es []*entry) string {
	const most = 5
	var names []string
	for _, e := range es[:min(len(es), most)] {
		names = append(names, e.label())
	}
	if len(es) > most {
		names = append(names, "…")
	}
	if names == nil {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}

// verdicts in the order of the table.
var verdicts = []consumer.Verdict{
	consumer.VerdictDone, consumer.VerdictDuplicate, consumer.VerdictRetry, consumer.VerdictDeferred, consumer.VerdictRejected,
}

// report writes the deliveries by verdict and the delays by receive.
func (l *ledger) report(w io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	printf(w, "\nDeliveries, and the handler's tries in them:\n")
	table(w, func(t io.Writer) {
		row(t, "verdict", "deliveries", "tries")
		for _, v := range verdicts {
			if c := l.verdicts[v]; c != nil {
				row(t, v, c.deliveries, c.tries)
			}
		}
	})
	if len(l.delays) == 0 {
		return
	}
	printf(w, "\nRedeliveries, and the delay that was asked for:\n")
	table(w, func(t io.Writer) {
		row(t, "after receive", "messages", "delay")
		for i, d := range l.delays {
			if d.messages > 0 {
				row(t, i+1, d.messages, d)
			}
		}
	})
}

// String is the range.
func (d delays) String() string {
	const untilItEnds = "until the visibility ends"
	if d.messages == d.kept {
		return untilItEnds
	}
	text := d.shortest.String()
	if d.longest > d.shortest {
		text += " to " + d.longest.String()
	}
	if d.kept > 0 {
		text += fmt.Sprintf(", %d %s", d.kept, untilItEnds)
	}
	return text
}

func reportDead(w io.Writer, a *account) {
	if len(a.parked)+len(a.moved)+len(a.strangers) == 0 {
		return
	}
	printf(w, "\nIn the dead-letter queue, and why:\n")
	table(w, func(t io.Writer) {
		row(t, "message", "order", "by", "receives", "tries", "error")
		for _, e := range a.parked {
			row(t, short(e.id), e.label(), "library", e.receives, e.tries, a.reasons[e.id].Error)
		}
		for _, e := range a.moved {
			row(t, short(e.id), e.label(), "SQS", e.receives, e.tries, why(e))
		}
	})
	if a.copies > 0 {
		printf(w, "  and %s of these\n", plural(a.copies, "second copy", "second copies"))
	}
	for _, id := range a.strangers {
		printf(w, "  and %s, which nobody sent\n", id)
	}
}

// why is the last error that the message had here.
func why(e *entry) any {
	if e.last == nil {
		return "it was received and never came to an outcome"
	}
	return cause(e.last)
}

func short(id string) string { return id[:min(len(id), 8)] }

func calls(c sqstest.Calls) string {
	parts := []string{}
	for _, action := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%s %d", action, c[action]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// reportTwice says what came of the messages that were delivered twice.
func (s *stage) reportTwice(w io.Writer) {
	successes := s.shop.successes()
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	for _, id := range s.ledger.order {
		if e := s.ledger.entries[id]; e.twice {
			printf(w, "\n%s was delivered twice on purpose, as SQS may do: it was received %s, and done %s.\n",
				e.label(), times(e.receives), times(successes[id]))
		}
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
