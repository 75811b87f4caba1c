package poller

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// What a session that has gone on adds after the end is not sent, and whoever waits
// for it is told.
func TestBatcher_AddAfterClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		b := newBatcher(t.Context(), time.Second, 10, func(_ context.Context, items []int, tell func(int, error)) {
			sent += len(items)
			for i := range items {
				tell(i, nil)
			}
		})
		done := make(chan error, 4)
		tell := func(err error) { done <- err }
		b.add(tell, 1, 2)
		b.close() // does not wait for the linger
		b.close()
		b.add(tell, 3, 4)
		b.add(nil, 5)
		b.flush()
		time.Sleep(time.Minute)
		if sent != 2 || len(done) != 4 {
			t.Fatalf("%d sent, %d results", sent, len(done))
		}
		for i, want := range []error{nil, nil, errClosed, errClosed} {
			if err := <-done; !errors.Is(err, want) {
				t.Errorf("result %d: %v", i, err)
			}
		}
	})
}
