// Package stub is a server that answers as Amazon SQS does and does next to
// nothing else, so that a consumer measured against it shows its own cost. It
// speaks AWS JSON 1.0 over HTTP, checksums included.
//
// It is no queue: a message is handed out once, is never seen again whether it
// is deleted or not, and a change of its visibility is accepted and forgotten.
// Use sqstest where behaviour matters.
package stub

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Stats are the counts of a load so far.
type Stats struct {
	Calls    map[string]int // requests by action, such as "ReceiveMessage"
	Received int            // messages handed out
	Deleted  int            // messages deleted, each counted once
	InHand   int            // the most that were handed out and not deleted at one time
}

// Server answers the calls of consumers. It is an http.Handler, safe for
// concurrent use. Make it with New.
type Server struct {
	latency time.Duration

	mu    sync.Mutex // never held across a wait
	loads int        // numbers the loads
	load  *load
}

// load is one set of messages.
type load struct {
	number int
	total  int
	next   int
	gone   []bool
	stats  Stats
	done   chan struct{} // closed when all are deleted
	over   chan struct{} // closed when the next load begins: ends long polls
}

// New makes a server that waits for latency before it answers a call; 0 answers
// at once. It has no messages: see Load.
func New(latency time.Duration) *Server {
	s := &Server{latency: latency}
	s.Load(0)
	return s
}

// queuePath is the path of a queue's URL, up to the number of its load.
const queuePath = "/000000000000/peers-"

// Load replaces the queue by another one with n messages and all counts at zero.
// It returns the path of its URL. A late call for the queue before is refused.
func (s *Server) Load(n int) (path string) {
	l := &load{
		total: n,
		gone:  make([]bool, n),
		stats: Stats{Calls: make(map[string]int)},
		done:  make(chan struct{}),
		over:  make(chan struct{}),
	}
	if n == 0 {
		close(l.done)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	l.number = s.loads
	if s.load != nil {
		close(s.load.over)
	}
	s.load = l
	return queuePath + strconv.Itoa(l.number)
}

// Done is closed when all messages of the present load are deleted.
func (s *Server) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load.done
}

// Stats returns a copy of the counts of the present load.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.load.stats
	st.Calls = maps.Clone(st.Calls)
	return st
}

// enter counts a call and returns the load that its queue URL names, or nil if
// there is none.
func (s *Server) enter(queueURL, action string) *load {
	_, number, _ := strings.Cut(queueURL, queuePath)
	s.mu.Lock()
	defer s.mu.Unlock()
	if number != strconv.Itoa(s.load.number) {
		return nil
	}
	s.load.stats.Calls[action]++
	return s.load
}

// take hands out up to n messages of a load: those from first to before last.
// With none left it waits as a long poll does.
func (s *Server) take(ctx context.Context, l *load, n int, wait time.Duration) (first, last int) {
	s.mu.Lock()
	first = l.next
	last = min(first+n, l.total)
	l.next = last
	l.stats.Received += last - first
	l.stats.InHand = max(l.stats.InHand, l.next-l.stats.Deleted)
	s.mu.Unlock()

	if first < last || wait <= 0 {
		return first, last
	}
	// No message of this load can come any more.
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.over:
	case <-ctx.Done():
	}
	return first, last
}

// remove deletes a message of a load, and reports whether the handle is one of
// its handles. A second delete is accepted, as SQS does, and counts nothing.
func (s *Server) remove(l *load, handle []byte) bool {
	number, i, ok := parseHandle(handle)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !ok || number != l.number || i < 0 || i >= l.next {
		return false
	}
	if l.gone[i] {
		return true
	}
	l.gone[i] = true
	l.stats.Deleted++
	if l.stats.Deleted == l.total {
		close(l.done)
	}
	return true
}
