package sqsqueue

import (
	"context"
	"sync"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// calls is how many calls of one round are in flight at once.
const calls = 4

// Extend hides deliveries for d from now on: tens per call, four calls at once. The
// errors are positional.
func (q *Queue) Extend(ctx context.Context, ds []*consumer.Delivery, d time.Duration) []error {
	errs := make([]error, len(ds))
	var round sync.WaitGroup
	slots := make(chan struct{}, calls)
	for from := 0; from < len(ds); from += MaxBatch {
		part := ds[from:min(from+MaxBatch, len(ds))]
		slots <- struct{}{}
		round.Go(func() {
			defer func() { <-slots }()
			changes := make([]Visibility, len(part))
			for i, dl := range part {
				changes[i] = Visibility{Receipt: dl.Receipt, For: d}
			}
			copy(errs[from:], q.ChangeVisibility(ctx, changes))
		})
	}
	round.Wait()
	return errs
}

// Failures counts what has failed, and gives the first of it.
func Failures(errs []error) (n int, first error) {
	for _, err := range errs {
		if err != nil {
			if n++; first == nil {
				first = err
			}
		}
	}
	return n, first
}
