package poller

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
)

// A client that ends the goroutine it is called in, as t.FailNow in a fake one does,
// leaves nobody without an answer, and no item is told twice.
func TestBatcher_Goexit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBatcher(t.Context(), 0, 2, func(_ context.Context, _ []int, tell func(int, error)) {
			tell(0, nil)
			tell(0, errClosed)
			runtime.Goexit()
		})
		var told []error
		b.add(func(err error) { told = append(told, err) }, 1, 2)
		b.close()
		if len(told) != 2 || told[0] != nil || !errors.Is(told[1], errEnded) {
			t.Errorf("told %v; want nil for the one, and %v for the other", told, errEnded)
		}
	})
}
