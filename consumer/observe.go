package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// EventKind says what an [Event] reports.
type EventKind uint8

// The kinds of events. More may be added; ignore what you do not know.
const (
	// EventTry: the handler returned from one try, or panicked.
	EventTry EventKind = iota + 1
	// EventOutcome: a delivery has its outcome, and SQS was told as far as it
	// has to be. There is exactly one for every delivery.
	EventOutcome
	// EventUnconfirmed: SQS did not confirm that an acknowledged message is
	// gone. It may be delivered again, although its work is done.
	EventUnconfirmed
	// EventUnrecorded: the outcome could not be written to the idempotency
	// store. Work that was done may be done again if its message comes again.
	EventUnrecorded
)

// Event is something that happened, for [Config.Observe].
type Event struct {
	Kind EventKind
	// Queue is the queue's ARN.
	Queue string
	// Message is the message in question. It is shared: read only.
	Message *Message
	// Try is the number of the try, from 1, and Duration what it took. Only
	// with EventTry.
	Try      int
	Duration time.Duration
	// Err is the error of the try, or the one that kept the acknowledgement
	// from being confirmed or the outcome from being recorded. With EventOutcome
	// see Outcome.Err.
	Err error
	// Outcome is set with all but EventTry.
	Outcome Outcome
}

// Logger returns the logger of the consumer, never nil, for hosts.
func (c *Consumer) Logger() *slog.Logger { return c.cfg.Logger }

// observe hands e to the hook. Neither the hook nor the logger can hurt the
// caller: an extra must never change a verdict. One that calls runtime.Goexit, as
// a t.Fatal in a test does, ends a goroutine of ours and is not called again.
func (c *Consumer) observe(e Event) {
	if c.cfg.Observe == nil || c.observeOff.Load() {
		return
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			c.log(slog.LevelError, "Observe panicked", slog.Any("panic", v))
			return
		}
		c.observeOff.Store(true)
		c.log(slog.LevelError, "Observe called runtime.Goexit and is not called any more")
	}()
	c.cfg.Observe(e)
	returned = true
}

// logs reports whether a line of that level would be written.
func (c *Consumer) logs(level slog.Level) (enabled bool) {
	if c.logOff.Load() {
		return false
	}
	returned := false
	defer func() {
		if !returned && recover() == nil {
			c.logOff.Store(true)
		}
	}()
	enabled = c.cfg.Logger.Enabled(context.Background(), level)
	returned = true
	return enabled
}

func (c *Consumer) log(level slog.Level, msg string, attrs ...slog.Attr) {
	if c.logOff.Load() {
		return
	}
	returned := false
	defer func() {
		if !returned && recover() == nil {
			c.logOff.Store(true) // its handler calls runtime.Goexit
		}
	}()
	c.cfg.Logger.LogAttrs(context.Background(), level, msg, attrs...)
	returned = true
}

// tell tells hook and log about outcomes, also of those after one at which the
// goroutine was ended.
func (s *Session) tell(news []Outcome) {
	i := 0
	defer func() {
		if i < len(news) {
			s.tell(news[i:])
		}
	}()
	for i < len(news) {
		i++
		s.report(&news[i-1])
	}
}

// report tells hook and log about an outcome.
func (s *Session) report(o *Outcome) {
	if o.Verdict != VerdictDone {
		defer s.logOutcome(o)
	}
	if s.c.cfg.Observe != nil {
		s.c.observe(Event{Kind: EventOutcome, Queue: s.queue.ARN, Message: o.Delivery.Message, Outcome: *o})
	}
}

func (s *Session) logOutcome(o *Outcome) {
	level, usedUp := levels[o.Verdict], false
	if last := s.queue.MaxReceives; last > 0 && o.Delivery.ReceiveCount >= last && !o.Acknowledged() && o.Verdict != VerdictRejected {
		level, usedUp = max(level, slog.LevelWarn), true
	}
	if !s.c.logs(level) {
		return
	}
	attrs := append(s.attrs(o),
		slog.String("verdict", o.Verdict.String()),
		slog.Int("attempt", o.Attempt),
		slog.Int("tries", o.Tries))
	if o.Delay >= 0 && !o.Acknowledged() {
		attrs = append(attrs, slog.Duration("delay", o.Delay))
	}
	if o.Parked {
		attrs = append(attrs, slog.Bool("parked", true))
	}
	if o.Err != nil {
		attrs = append(attrs, slog.String("error", fmt.Sprint(o.Err)))
	}
	if p, ok := errors.AsType[*PanicError](o.Err); ok {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	if usedUp {
		attrs = append(attrs, slog.String("warning", "receives used up: SQS moves the message to the dead-letter queue at its next receive"))
	}
	what := "message not done"
	if o.Verdict == VerdictDuplicate {
		what = "message was done before"
	}
	s.c.log(level, what, attrs...)
}

var levels = [...]slog.Level{
	VerdictRetry:     slog.LevelWarn,
	VerdictDuplicate: slog.LevelInfo,
	VerdictDeferred:  slog.LevelInfo,
	VerdictRejected:  slog.LevelError,
}

func (s *Session) attrs(o *Outcome) []slog.Attr {
	return []slog.Attr{
		slog.String("queue", s.queue.ARN),
		slog.String("message_id", o.Delivery.ID),
		slog.Int("receives", o.Delivery.ReceiveCount),
	}
}
