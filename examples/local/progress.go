package main

import (
	"fmt"
	"time"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// silence is how long nothing is shown while nothing changes.
const silence = 5 * time.Second

// showProgress writes a line each second in which something has changed, until
// the function it returns is called.
func (s *stage) showProgress() (stop func()) {
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
				if p := s.progress(); p.differs(last) || now.Sub(shown) >= silence {
					s.ledger.println(fmt.Sprintf("%4.0fs  %v", now.Sub(s.ledger.start).Seconds(), p))
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

// progress is how far the run has got.
type progress struct {
	sent, done, queued, dead, tries int
	hidden                          int
	next                            time.Duration // until a hidden message can be received
}

// differs reports whether there is news beside the passing of time.
func (p progress) differs(last progress) bool {
	p.next, last.next = 0, 0
	return p != last
}

// String is a line of it.
func (p progress) String() string {
	text := fmt.Sprintf("done %d of %d, in the queue %d", p.done, p.sent, p.queued)
	if p.hidden > 0 {
		text += fmt.Sprintf(" (%d hidden, one of them for %.1fs)", p.hidden, p.next.Seconds())
	}
	return text + fmt.Sprintf(", in the dead-letter queue %d, tries %d", p.dead, p.tries)
}

func (s *stage) progress() progress {
	now, messages := time.Now(), s.queue.Messages()
	p := progress{
		sent: len(s.ledger.order), done: len(s.shop.successes()),
		queued: len(messages), dead: s.dead.Len(), tries: s.ledger.triesSoFar(),
	}
	for _, m := range messages {
		if m.State == sqstest.Visible {
			continue
		}
		left := max(m.VisibleAt.Sub(now), 0)
		if p.hidden++; p.hidden == 1 || left < p.next {
			p.next = left
		}
	}
	return p
}
