package poller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
	"github.com/ackwise/ackwise/retry"
)

// waits is how long to wait after the nth receive, or look at the queue, in a row
// that has failed.
var waits = retry.HalfJitter(retry.Exponential(time.Second, 30*time.Second))

// look asks SQS about the queue until it has answered, or said that it will not.
func (p *Poller) look(ctx context.Context) (sqsqueue.Description, error) {
	ctx, over := p.looking(ctx)
	defer over()
	var noise noise
	for n := 1; ; n++ {
		about, err := p.queue.Describe(ctx)
		switch {
		case err == nil && about.ARN == "":
			return about, errors.New("SQS does not say what the ARN of the queue is")
		case err == nil:
			return about, nil
		case ctx.Err() != nil || final(err):
			return about, fmt.Errorf("cannot look at the queue %s in region %q (sqs:GetQueueAttributes): %w",
				p.cfg.QueueURL, p.cfg.SQS.Options().Region, err)
		}
		if noise.due() {
			p.warn("cannot look at the queue yet", slog.String("error", err.Error()))
		}
		if err := wait(ctx, waits(n)); err != nil {
			return about, err
		}
	}
}

// looking returns a context that ends when the poller is aborted, too. Until over
// is called it shows that the poller is alive: a wait may be long.
func (p *Poller) looking(ctx context.Context) (_ context.Context, over func()) {
	ctx, cancel := context.WithCancel(ctx)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		ticks := time.NewTicker(tick)
		defer ticks.Stop()
		for {
			select {
			case <-p.aborted:
				cancel()
				return
			case <-ctx.Done():
				return
			case now := <-ticks.C:
				p.pulse.beat.Store(now.UnixNano())
			}
		}
	}()
	return ctx, func() {
		cancel()
		<-gone
	}
}

// final reports whether an error at start is one that waiting does not mend. That
// a key may not be used is not: queues outlive keys, and policies are mended.
func final(err error) bool {
	switch sqsqueue.Classify(err) {
	case sqsqueue.ClassNoQueue:
		return true
	case sqsqueue.ClassDenied:
		return !sqsqueue.OfKey(err)
	default:
		return false
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// noise limits what is logged of one thing that goes wrong again and again: the
// first time, and then once a minute.
type noise struct{ last time.Time }

func (n *noise) due() bool {
	if !n.last.IsZero() && time.Since(n.last) < time.Minute {
		return false
	}
	n.last = time.Now()
	return true
}

// fewReceives is the least that AWS advises for maxReceiveCount, and backstop how
// much more than our own budget of attempts it should be.
const (
	fewReceives = 5
	backstop    = 6
)

// warnAbout says what about the queue does not fit what it is used for.
func (p *Poller) warnAbout(q sqsqueue.Description, t timing) {
	cfg := p.c.Config()
	receives := slog.Int("maxReceiveCount", q.MaxReceives)
	limit := cfg.Redelivery.MaxAttempts
	switch {
	case q.DeadLetterARN == "" && cfg.DeadLetter == nil:
		p.warn("the queue has no redrive policy and the consumer no DeadLetter: what always fails comes back until the queue drops it; set one")
	case q.DeadLetterARN == "" && limit == 0:
		p.warn("the queue has no redrive policy and there is no MaxAttempts: " +
			"what fails for ever, but not permanently, comes back until the queue drops it; set one")
	case q.MaxReceives > 0 && limit > 0 && q.MaxReceives < backstop*limit:
		p.warn("the queue's maxReceiveCount counts deferred and throttled deliveries too, and may be used up before MaxAttempts; "+
			"make it a backstop, such as 100: at least six times MaxAttempts", receives, slog.Int("MaxAttempts", limit))
	case q.MaxReceives > 0 && q.MaxReceives < fewReceives:
		p.warn("the queue's maxReceiveCount is low: deliveries that a drain or an outage gives back count too; use 5 or more", receives)
	}
	if age := cfg.Redelivery.MaxAge; age > 0 && q.Retention > 0 && age >= q.Retention {
		p.warn("Redelivery.MaxAge is not shorter than the queue keeps messages: "+
			"they are dropped before they are rejected; lengthen the retention or shorten MaxAge",
			slog.Duration("MaxAge", age), slog.Duration("retention", q.Retention))
	}
	if q.Retention > 0 && q.Retention <= 2*t.hold {
		p.warn("the queue keeps messages hardly longer than one may be worked on: lengthen the retention, or shorten MaxHold",
			slog.Duration("retention", q.Retention), slog.Duration("MaxHold", t.hold))
	}
	if p.cfg.Visibility == 0 && q.Visibility > 0 && q.Visibility < t.visibility {
		p.warn("the queue's visibility timeout is short: messages are received with a longer one; set Visibility, or lengthen it",
			slog.Duration("queue", q.Visibility), slog.Duration("used", t.visibility))
	}
}
