package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/retry"
)

// quiet is used because the program prints every outcome itself.
var quiet = slog.New(slog.DiscardHandler)

var (
	errBank  = errors.New("the bank does not answer")
	errOrder = errors.New("there is no such article")
)

// shop handles the events and remembers what it did.
type shop struct {
	start time.Time

	mu   sync.Mutex // guards what follows; held for short sections only
	w    io.Writer
	done []string
}

// work is how long an event takes; different for each order, so that no two
// things happen at one moment and the output is always the same.
var work = map[string]time.Duration{
	"order-1": 100 * time.Millisecond, "order-2": 130 * time.Millisecond, "order-3": 170 * time.Millisecond,
}

func (s *shop) handle(ctx context.Context, m *consumer.Message) error {
	select {
	case <-time.After(work[m.GroupID]):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch {
	case m.GroupID == "order-2" && m.Body == "created" && m.ReceiveCount == 1:
		return errBank // trying again later helps
	case m.GroupID == "order-3" && m.Body == "created":
		return retry.Permanent(errOrder) // nothing helps
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, m.GroupID+" "+m.Body)
	return nil
}

// observe prints each run of the handler, and of each message that is not done
// what happens to it now.
func (s *shop) observe(e consumer.Event) {
	text := ""
	switch o := e.Outcome; {
	case e.Kind == consumer.EventTry && e.Err == nil:
		text = "runs: done"
	case e.Kind == consumer.EventTry:
		text = "runs: " + e.Err.Error()
	case e.Kind != consumer.EventOutcome || o.Verdict == consumer.VerdictDone:
		return
	case o.Verdict == consumer.VerdictDeferred:
		text = fmt.Sprintf("does not run, comes back in %v: %v", o.Delay, reason(o.Err))
	case o.Verdict == consumer.VerdictRetry:
		text = fmt.Sprintf("comes back in %v: %v", o.Delay, reason(o.Err))
	case o.Verdict == consumer.VerdictRejected:
		text = fmt.Sprintf("is parked, so the group goes on: %v", o.Err)
	}
	s.printf("%.1fs  %s %-7s  receive %d  %s\n",
		time.Since(s.start).Seconds(), e.Message.GroupID, e.Message.Body, e.Message.ReceiveCount, text)
}

// reason leaves out the bookkeeping: how many tries there were, and the id of
// the message that failed.
func reason(err error) error {
	var gaveUp *retry.ExhaustedError
	switch {
	case errors.Is(err, consumer.ErrGroupFailed):
		return consumer.ErrGroupFailed
	case errors.As(err, &gaveUp):
		return gaveUp.Last
	default:
		return err
	}
}

func (s *shop) printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintf(s.w, format, args...)
}

// report prints what came of it and checks the order.
func (s *shop) report(server *sqstest.Server, dead *sqstest.Queue) error {
	parked := make(map[string]bool)
	for _, m := range dead.Messages() {
		parked[m.GroupID+" "+m.Body] = true
		s.printf("\n%s holds: %s %s\n", dead.Name(), m.GroupID, m.Body)
	}
	for _, order := range orders {
		var want, got []string
		for _, e := range events {
			if name := e.order + " " + e.event; e.order == order && !parked[name] {
				want = append(want, name)
			}
		}
		for _, name := range s.done {
			if strings.HasPrefix(name, order+" ") {
				got = append(got, name)
			}
		}
		if !slices.Equal(want, got) {
			return fmt.Errorf("%s was handled as %q, not as %q", order, got, want)
		}
	}
	s.printf("Handled in order within every group: yes\n")
	calls := server.Calls()
	for _, action := range slices.Sorted(maps.Keys(calls)) {
		s.printf("Calls of SQS by the library: %d %s\n", calls[action], action)
	}
	return nil
}
