package sqstest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// pump is one Run or Drain. Its goroutine is the only one that receives, so
// that a batch fills up as far as the queue allows; each batch is invoked in a
// goroutine of its own.
type pump struct {
	e     *EventSource
	drain bool
	// slots bounds the batches. One is taken before the receive: a received
	// message never waits for its turn while its visibility runs out.
	slots       chan struct{}
	invocations sync.WaitGroup
	running     atomic.Int64
	finished    chan struct{} // of capacity 1: an invocation has ended
	failures    int           // receives that failed in a row
}

// run pumps until ctx ends, the queue is quiet (Drain) or it cannot go on.
func (p *pump) run(ctx context.Context) error {
	for {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return p.stopped(ctx)
		}
		quiet, err := p.await(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return p.stopped(ctx)
			}
			return err
		}
		if quiet {
			return nil
		}
		batch, err := p.collect(ctx)
		if len(batch) > 0 {
			p.start(ctx, batch) // whatever came after: it was received
		} else {
			<-p.slots
		}
		if err := p.consider(ctx, err); err != nil {
			return err
		}
	}
}

// stopped is the result once ctx has ended: what Run waits for, and what Drain
// did not want.
func (p *pump) stopped(ctx context.Context) error {
	if !p.drain {
		return nil
	}
	return fmt.Errorf("not quiet when the context ended: %w", context.Cause(ctx))
}

// start invokes the batch in the slot that is held, in pieces if it is too large
// for one event.
func (p *pump) start(ctx context.Context, batch []*record) {
	// Stopping the source does not cancel invocations: Lambda finishes them.
	ctx = context.WithoutCancel(ctx)
	p.running.Add(1)
	p.invocations.Go(func() {
		failed := make(map[string]bool) // groups
		for _, piece := range cut(batch, p.e.cfg.PayloadLimit) {
			// A FIFO group is not to be overtaken: what follows a failure stays.
			piece = without(piece, failed)
			if len(piece) == 0 {
				continue
			}
			for _, r := range p.e.run(ctx, piece) {
				if r.group != "" && isFIFO(p.e.cfg.QueueURL) {
					failed[r.group] = true
				}
			}
		}
		<-p.slots
		p.running.Add(-1)
		select {
		case p.finished <- struct{}{}:
		default:
		}
	})
}

func without(records []*record, groups map[string]bool) []*record {
	if len(groups) == 0 {
		return records
	}
	var rest []*record
	for _, r := range records {
		if !groups[r.group] {
			rest = append(rest, r)
		}
	}
	return rest
}

const (
	// maxFailures is how many receives may fail in a row, with waits in between
	// that double from minPause to maxPause: about two and a half minutes.
	maxFailures = 10
	minPause    = time.Second
	maxPause    = 30 * time.Second
)

// consider decides what an error of a receive means: nil to go on.
func (p *pump) consider(ctx context.Context, err error) error {
	if err == nil {
		p.failures = 0
		return nil
	}
	if ctx.Err() != nil {
		return p.stopped(ctx)
	}
	p.failures++
	p.e.count(func(s *Stats) { s.ReceiveErrors++ })
	if !passing(err) {
		return err
	}
	if p.failures >= maxFailures {
		return fmt.Errorf("%d receives in a row failed, the last one with: %w", p.failures, err)
	}
	pause := time.NewTimer(min(minPause<<(p.failures-1), maxPause))
	defer pause.Stop()
	select {
	case <-pause.C:
		return nil
	case <-ctx.Done():
		return p.stopped(ctx)
	}
}
