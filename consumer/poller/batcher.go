package poller

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
)

// batcher sends items by tens: at once when there are ten, or as many as there can
// be, and what is fewer when the first of them has waited for linger. It is safe for
// concurrent use, and ends with close.
type batcher[T any] struct {
	send   func(ctx context.Context, items []T, tell func(i int, err error)) // tells each result, if anybody asks for any
	ctx    context.Context
	linger time.Duration // 0: nothing waits
	full   int           // how many items go at once
	// senders are goroutines that stay: a call of the SDK goes deep, and a new
	// goroutine's stack would have to grow for each.
	senders sync.WaitGroup
	work    chan batch[T]

	mu     sync.Mutex
	next   batch[T]
	timer  *time.Timer // runs while there are items
	closed bool
}

// batch is what goes in one call.
type batch[T any] struct {
	items   []T
	results []func(error) // beside items; nil where nobody asks for the result
}

// newBatcher returns a batcher of which no more than most items can wait at once.
func newBatcher[T any](ctx context.Context, linger time.Duration, most int, send func(context.Context, []T, func(int, error))) *batcher[T] {
	return &batcher[T]{ctx: ctx, linger: linger, full: min(most, sqsqueue.MaxBatch), send: send, work: make(chan batch[T])}
}

// add takes items over. Each result is told to done, nil for nobody, which must not
// block.
func (b *batcher[T]) add(done func(error), items ...T) {
	if b.take(done, items) || done == nil {
		return
	}
	for range items {
		done(errClosed)
	}
}

// take returns false if the batcher was closed: by a session that has gone on
// without whoever adds this.
func (b *batcher[T]) take(done func(error), items []T) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	for _, item := range items {
		b.next.items = append(b.next.items, item)
		b.next.results = append(b.next.results, done)
		if len(b.next.items) == b.full {
			b.dispatch()
		}
	}
	switch {
	case len(b.next.items) == 0:
	case b.linger == 0:
		b.dispatch()
	case b.timer == nil:
		b.timer = time.AfterFunc(b.linger, b.flush)
	}
	return true
}

// flush sends what has not been sent.
func (b *batcher[T]) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dispatch()
}

var errClosed = errors.New("the poller has ended")

// close flushes and waits for all calls. What is added later is not sent.
func (b *batcher[T]) close() {
	b.mu.Lock()
	b.dispatch()
	if !b.closed {
		b.closed = true
		close(b.work)
	}
	b.mu.Unlock()
	b.senders.Wait()
}

// dispatch hands all items there are to a sender, a new one if none is free. b.mu
// is held.
func (b *batcher[T]) dispatch() {
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	if len(b.next.items) == 0 {
		return
	}
	next := b.next
	b.next = batch[T]{make([]T, 0, sqsqueue.MaxBatch), make([]func(error), 0, sqsqueue.MaxBatch)}
	select {
	case b.work <- next:
	default:
		b.senders.Go(func() {
			deeply(func() {
				b.sendOne(next)
				for next := range b.work {
					b.sendOne(next)
				}
			})
		})
	}
}

var errEnded = errors.New("the SQS client has ended its goroutine")

// sendOne tells each item once what has become of it, also if the client, or a
// middleware in it, calls runtime.Goexit: an item that is never told keeps its room.
func (b *batcher[T]) sendOne(next batch[T]) {
	tell := func(i int, err error) {
		if done := next.results[i]; done != nil {
			next.results[i] = nil
			done(err)
		}
	}
	defer func() {
		for i := range next.results {
			tell(i, errEnded)
		}
		clear(next.items) // a sender keeps its last batch while it waits for another
	}()
	b.send(b.ctx, next.items, tell)
}
