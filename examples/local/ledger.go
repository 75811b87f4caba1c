package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/retry"
)

// ledger records what becomes of the messages, as the library reports it. Its
// methods are safe for concurrent use.
type ledger struct {
	start time.Time
	// called says how often the handler was called for a message.
	called func(id string) int

	mu       sync.Mutex // guards what follows; held for short sections only
	w        io.Writer
	verbose  bool
	order    []string // message ids as they were sent
	entries  map[string]*entry
	verdicts map[consumer.Verdict]*tally
	delays   []delays // by receive count, from 1
}

// entry is one message.
type entry struct {
	line
	id              string
	receives, tries int
	last            error // of the last outcome that was not done
}

// tally counts the deliveries of one verdict and the handler's tries in them.
type tally struct{ deliveries, tries int }

// delays are those asked for after one receive.
type delays struct {
	messages          int
	kept              int // left as they were
	shortest, longest time.Duration
}

func newLedger(w io.Writer, verbose bool) *ledger {
	return &ledger{
		start: time.Now(), w: w, verbose: verbose,
		entries: make(map[string]*entry), verdicts: make(map[consumer.Verdict]*tally),
	}
}

// add notes a message that was sent.
func (l *ledger) add(id string, ln line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.order = append(l.order, id)
	l.entries[id] = &entry{line: ln, id: id}
}

// observe takes the outcomes.
func (l *ledger) observe(e consumer.Event) {
	if e.Kind != consumer.EventOutcome {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	o, m := &e.Outcome, l.entries[e.Outcome.Delivery.ID]
	if m != nil {
		// A delivery that was joined to another one has the outcome of that, and
		// its tries are there already.
		o.Tries = min(o.Tries, l.called(m.id)-m.tries)
	}
	t := l.verdicts[o.Verdict]
	if t == nil {
		t = &tally{}
		l.verdicts[o.Verdict] = t
	}
	t.deliveries++
	t.tries += o.Tries
	if m == nil {
		return // not ours; the account will show it
	}
	m.tries += o.Tries
	m.receives = max(m.receives, o.Delivery.ReceiveCount)
	if o.Err != nil {
		m.last = o.Err
	}
	if !o.Acknowledged() {
		l.delayed(o)
	}
	if l.verbose {
		printf(l.w, "%6.2fs  %s\n", time.Since(l.start).Seconds(), describe(m.label(), o))
	}
}

// delayed notes the delay that an outcome asks for. l.mu is held.
func (l *ledger) delayed(o *consumer.Outcome) {
	n := max(o.Delivery.ReceiveCount, 1)
	for len(l.delays) < n {
		l.delays = append(l.delays, delays{})
	}
	d := &l.delays[n-1]
	d.messages++
	switch {
	case o.Delay < 0:
		d.kept++
	case d.messages-d.kept == 1:
		d.shortest, d.longest = o.Delay, o.Delay
	default:
		d.shortest, d.longest = min(d.shortest, o.Delay), max(d.longest, o.Delay)
	}
}

// describe is an outcome in one line.
func describe(label string, o *consumer.Outcome) string {
	var b strings.Builder
	printf(&b, "%-8s receive %d  %-8s  %s", label, o.Delivery.ReceiveCount, o.Verdict, plural(o.Tries, "try", "tries"))
	switch {
	case o.Parked:
		b.WriteString(", parked")
	case !o.Acknowledged() && o.Delay >= 0:
		printf(&b, ", back in %v", o.Delay)
	case !o.Acknowledged():
		b.WriteString(", back when its visibility ends")
	}
	if o.Err != nil {
		printf(&b, ": %s", printable(cause(o.Err).Error()))
	}
	return b.String()
}

// cause is the error without how many tries or attempts it took, which is shown
// beside it.
func cause(err error) error {
	var usedUp *idempotency.ExhaustedError
	if errors.As(err, &usedUp) && usedUp.Last != "" {
		return errors.New(usedUp.Last)
	}
	var gaveUp *retry.ExhaustedError
	if errors.As(err, &gaveUp) && gaveUp.Last != nil {
		return gaveUp.Last
	}
	return err
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// println writes a line of its own between those of observe.
func (l *ledger) println(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	printf(l.w, "%s\n", text)
}

// triesSoFar counts the handler's tries in deliveries that have ended.
func (l *ledger) triesSoFar() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.verdicts {
		n += t.tries
	}
	return n
}
