package poller

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
)

const (
	// linger is how long a delete waits for others to go with.
	linger = 100 * time.Millisecond
	// briefly is that where there is less prefetched than a delete takes.
	briefly = 10 * time.Millisecond
	// patience is how long a delete is tried for where the visibility is longer:
	// all that time its message takes up capacity.
	patience = 30 * time.Second
	// brief is what remains for calls once handlers have been cancelled, and
	// farewell what Flush waits for: see Config.Grace.
	brief    = 2 * time.Second
	farewell = 1500 * time.Millisecond
)

// source is a poller's side of its queue.
type source struct {
	queue       *sqsqueue.Queue
	about       consumer.Queue
	warn        func(what string, attrs ...slog.Attr)
	deletes     *batcher[string]
	changes     *batcher[change]
	giveUp, end context.CancelFunc // of deletes; of all calls
	flushing    chan struct{}      // closed by Flush
	hurrying    sync.WaitGroup
}

// newSource returns the source of a session of the given capacity, prefetch
// included.
func newSource(queue *sqsqueue.Queue, about consumer.Queue, capacity, prefetch int, warn func(string, ...slog.Attr)) *source {
	s := &source{queue: queue, about: about, warn: warn, flushing: make(chan struct{})}
	ctx, end := context.WithCancel(context.Background())
	s.end = end
	deleting, giveUp := context.WithCancel(ctx)
	s.giveUp = giveUp
	wait := linger
	switch {
	case about.FIFO:
		wait = 0 // the next of the group waits for it
	case prefetch < sqsqueue.MaxBatch:
		wait = briefly // a slot may wait for it
	}
	s.deletes = newBatcher(deleting, wait, capacity, s.delete)
	s.changes = newBatcher(ctx, linger, sqsqueue.MaxBatch, s.change)
	return s
}

// Queue implements consumer.Source.
func (s *source) Queue() consumer.Queue { return s.about }

// Settle implements consumer.Source. Acknowledgements are deletes, and return
// once SQS has confirmed them.
func (s *source) Settle(_ context.Context, os []consumer.Outcome) []error {
	if len(os) == 1 && os[0].Acknowledged() {
		done := make(chan error, 1)
		s.Acknowledge(os[0].Delivery, func(err error) { done <- err })
		if err := <-done; err != nil {
			return []error{err}
		}
		return nil
	}
	var errs []error
	var changes []change
	for i := range os {
		switch o := &os[i]; {
		case o.Acknowledged():
			if err := s.Settle(context.Background(), os[i:i+1]); err != nil {
				errs = append(errs, make([]error, len(os)-len(errs))...)
				errs[i] = err[0]
			}
		case o.Delay >= 0:
			changes = append(changes, change{sqsqueue.Visibility{Receipt: o.Delivery.Receipt, For: o.Delay}, o.Delivery.VisibleUntil})
		}
	}
	s.changes.add(nil, changes...)
	return errs
}

// Acknowledge deletes a message. confirmed is called with the result, and is not to
// block.
func (s *source) Acknowledge(d *consumer.Delivery, confirmed func(error)) {
	s.deletes.add(confirmed, d.Receipt)
}

// delete deletes one batch. While it insists, the heartbeat keeps the messages.
func (s *source) delete(ctx context.Context, receipts []string, tell func(int, error)) {
	ctx, cancel := context.WithTimeout(ctx, min(patience, s.about.Visibility))
	defer cancel()
	s.queue.Delete(ctx, receipts, tell)
}

// hurry gives up on deletes soon after stopped is closed.
func (s *source) hurry(stopped <-chan struct{}) {
	s.hurrying.Go(func() {
		select {
		case <-stopped:
		case <-s.flushing:
			return
		}
		t := time.NewTimer(brief)
		defer t.Stop()
		select {
		case <-t.C:
			s.giveUp()
		case <-s.flushing:
		}
	})
}

// change is one visibility to be changed, as long as the message is ours.
type change struct {
	sqsqueue.Visibility

	until time.Time
}

// change changes the visibility of one batch of failures. It is an extra: what is
// not changed comes back when its visibility timeout has passed. What may be
// visible by now is left out: on a standard queue a change by an older receipt
// takes the message from whoever has it. So what is about to be goes by itself, to
// be cut off then.
func (s *source) change(ctx context.Context, changes []change, _ func(int, error)) {
	now := time.Now()
	parts := [2]part{}
	for _, c := range changes {
		switch left := c.until.Sub(now); {
		case left <= 0:
		case left < soon:
			parts[0].add(c)
		default:
			parts[1].add(c)
		}
	}
	var errs []error
	for _, p := range parts {
		errs = append(errs, p.send(ctx, s.queue)...)
	}
	if failed, first := sqsqueue.Failures(errs); failed > 0 {
		s.warn("messages that were not done keep the visibility they have",
			slog.Int("messages", failed), slog.String("error", first.Error()))
	}
}

// soon is what is left of a visibility that is about to end.
const soon = 2 * time.Second

// part is changes that are made in one call, until the first of them is of no use.
type part struct {
	changes []sqsqueue.Visibility
	end     time.Time
}

func (p *part) add(c change) {
	if len(p.changes) == 0 || c.until.Before(p.end) {
		p.end = c.until
	}
	p.changes = append(p.changes, c.Visibility)
}

func (p *part) send(ctx context.Context, queue *sqsqueue.Queue) []error {
	if len(p.changes) == 0 {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, p.end)
	defer cancel()
	return queue.ChangeVisibility(ctx, p.changes)
}

// Extend implements consumer.Source.
func (s *source) Extend(ctx context.Context, ds []*consumer.Delivery, d time.Duration) []error {
	errs := s.queue.Extend(ctx, ds, d)
	for i, err := range errs {
		errs[i] = ours(err)
	}
	return errs
}

// ours makes an error that says that a message is not ours any more one of
// [consumer.ErrLeaseLost].
func ours(err error) error {
	switch sqsqueue.Classify(err) {
	case sqsqueue.ClassHandleGone, sqsqueue.ClassHandleBad:
		return fmt.Errorf("%w: %w", consumer.ErrLeaseLost, err)
	default:
		return err
	}
}

// Flush implements consumer.Source: it sends what has not been sent, and waits
// for all calls, for a moment.
func (s *source) Flush(context.Context) error {
	close(s.flushing)
	timer := time.AfterFunc(farewell, s.end)
	defer timer.Stop()
	s.changes.flush() // goes out beside the deletes
	s.deletes.close()
	s.changes.close()
	s.hurrying.Wait()
	s.end()
	return nil
}
