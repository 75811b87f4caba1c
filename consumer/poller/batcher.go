package poller

import (
	"context"
	"sync"
	"time"

	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
)

// batcher sends items by tens: at once when there are ten, and what is fewer when
// the first of them has waited for linger. It is safe for concurrent use.
type batcher[T any] struct {
	send   func(ctx context.Context, items []T) []error // positional; nil if all went well
	ctx    context.Context
	linger time.Duration // 0: nothing waits
	calls  sync.WaitGroup

	mu      sync.Mutex
	items   []T
	waiters []chan<- error // beside items; nil where nobody waits for the result
	timer   *time.Timer    // runs while there are items
}

func newBatcher[T any](ctx context.Context, linger time.Duration, send func(context.Context, []T) []error) *batcher[T] {
	return &batcher[T]{ctx: ctx, linger: linger, send: send}
}

// add takes items over. Their results go to done, one for each, which must have
// room for them; nil for nobody.
func (b *batcher[T]) add(done chan<- error, items ...T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, item := range items {
		b.items = append(b.items, item)
		b.waiters = append(b.waiters, done)
		if len(b.items) == sqsqueue.MaxBatch {
			b.dispatch()
		}
	}
	switch {
	case len(b.items) == 0:
	case b.linger == 0:
		b.dispatch()
	case b.timer == nil:
		b.timer = time.AfterFunc(b.linger, b.flush)
	}
}

// flush sends what has not been sent.
func (b *batcher[T]) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dispatch()
}

// dispatch begins a call for all items there are. b.mu is held.
func (b *batcher[T]) dispatch() {
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	if len(b.items) == 0 {
		return
	}
	items, waiters := b.items, b.waiters
	b.items, b.waiters = nil, nil
	b.calls.Go(func() {
		errs := b.send(b.ctx, items)
		for i, done := range waiters {
			var err error
			if errs != nil {
				err = errs[i]
			}
			if done != nil {
				done <- err
			}
		}
	})
}
