package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// silence is how long nothing is shown while nothing changes.
const silence = 5 * time.Second

// showProgress writes a line each second in which look finds that something has
// changed, until the function it returns is called.
func showProgress(l *ledger, look func() progress) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		var last progress
		var shown time.Time
		for {
			select {
			case <-ticker.C:
				now := time.Now()
				if p := look(); p.differs(last) || now.Sub(shown) >= silence {
					l.println(fmt.Sprintf("%4.0fs  %v", now.Sub(l.start).Seconds(), p))
					last, shown = p, now
				}
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}

// progress is how far the run has got. Each message that was sent is in one of
// done, queued, dead and lost.
type progress struct {
	sent, done, queued, dead, lost int
	handled                        int           // of queued: the handler returned nil, and they are not deleted yet
	hidden                         int           // of queued
	next                           time.Duration // until a hidden message can be received
	tries                          int
	// effort is shown instead of tries where those are not known.
	effort string
	// blind is a look at what was deleted alone: the queues are not looked into.
	blind bool
}

// differs reports whether there is news beside the passing of time.
func (p progress) differs(last progress) bool {
	p.next, last.next = 0, 0
	return p != last
}

// String is a line of it: a sum, as the last line of the program is.
func (p progress) String() string {
	if p.blind {
		return fmt.Sprintf("%d known = %d deleted + %d not yet; %s", p.sent, p.done, p.queued, p.effort)
	}
	text := fmt.Sprintf("%d sent = %d done + %d in the queue", p.sent, p.done, p.queued)
	var of []string
	if p.hidden > 0 {
		of = append(of, fmt.Sprintf("%d hidden, one for %.1fs", p.hidden, p.next.Seconds()))
	}
	if p.handled > 0 {
		of = append(of, fmt.Sprintf("%d handled", p.handled))
	}
	if of != nil {
		text += " (" + strings.Join(of, "; ") + ")"
	}
	text += fmt.Sprintf(" + %d in the dead-letter queue", p.dead)
	if p.lost > 0 {
		text += fmt.Sprintf(" + %d LOST", p.lost)
	}
	if p.effort != "" {
		return text + "; " + p.effort
	}
	return text + "; " + plural(p.tries, "try", "tries")
}

func (s *stage) progress() progress {
	// In this order: a message that has left the queue was put into the other one,
	// or noted as done, before.
	now, queue := time.Now(), s.queue.Messages()
	dead, successes := s.dead.Messages(), s.shop.successes()
	a := draw(s.ledger, queue, dead, successes)
	p := progress{
		sent: a.sent, done: len(a.done), queued: len(a.left), dead: len(a.parked) + len(a.moved),
		lost: len(a.lost), tries: s.ledger.triesSoFar(),
	}
	for _, e := range a.left {
		if successes[e.id] > 0 {
			p.handled++
		}
	}
	p.hidden, p.next = hidden(queue, now)
	return p
}

// hidden counts the messages that cannot be received now, and says how long the
// first of them cannot.
func hidden(queue []sqstest.MessageState, now time.Time) (n int, next time.Duration) {
	for _, m := range queue {
		if m.State == sqstest.Visible {
			continue
		}
		left := max(m.VisibleAt.Sub(now), 0)
		if n++; n == 1 || left < next {
			next = left
		}
	}
	return n, next
}
