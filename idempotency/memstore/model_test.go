package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
)

// modelEpoch is when a bubble's clock begins.
var modelEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	modelSeeds = 5000
	modelParts = 8 // run in parallel
)

// simulate runs one schedule to its end. The same seed gives the same schedule:
// every worker has random numbers of its own, and no two wake at one instant.
func simulate(t *testing.T, seed uint64, s idempotency.Store) *world {
	t.Helper()
	w := newWorld(s)
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		for n := range 2 + seed%4 {
			k := newWorker(t, w, rand.New(rand.NewPCG(seed, n)))
			wg.Go(func() { k.run(10) })
		}
		wg.Wait()
		time.Sleep(time.Hour) // and what was still on the wire arrives
		w.settle()
	})
	return w
}

// settle sees that no key is stuck: with nobody at work, a claim gets it, or
// learns that the work is done or has had its attempts.
func (w *world) settle() {
	r := idempotency.Request{
		Key: "orders#id:7", Owner: "last", Now: time.Now(), Lease: time.Now().Add(modelLease),
		Expires: time.Now().Add(time.Hour), Life: w.messages[len(w.messages)-1].life, MaxAttempts: modelBudget,
	}
	_, err := w.store.Claim(context.Background(), r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && !errors.Is(err, idempotency.ErrCompleted) && !errors.Is(err, idempotency.ErrExhausted) {
		w.brokenf("in the end, with nobody at work: %v", err)
	}
	if errors.Is(err, idempotency.ErrCompleted) && w.effects == 0 {
		w.brokenf("in the end, the work counts as done, and it never was")
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	ran, seen := 0, make(map[string]int)
	t.Run("seeds", func(t *testing.T) {
		t.Parallel()
		for part := range uint64(modelParts) {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				for seed := part; seed < modelSeeds; seed += modelParts {
					w := simulate(t, seed, memstore.New())
					if len(w.violations) > 0 {
						t.Fatalf("seed %d: %s", seed, w.violations[0])
					}
					mu.Lock()
					ran++
					for what, n := range w.seen {
						seen[what] += n
					}
					mu.Unlock()
				}
			})
		}
	})
	t.Cleanup(func() {
		if ran == modelSeeds { // not only some parts, by -run
			wantSeen(t, seen)
		}
	})
}

// wantSeen sees that the schedules were worth it: everything that can happen
// did, and often.
func wantSeen(t *testing.T, seen map[string]int) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%7d %s", seen[what], what)
	}
	for _, what := range []string{
		"claimed after a completed record expired", "claimed after a failed record expired", "completion recognised",
		"completion refused", "crash", "duplicate", "exhausted", "held", "lease ended before the answer", "lost", "new life",
		"own token recognised", "parked", "redriven", "refunded", "release found the work done", "release recognised",
		"renewed", "renewed too late", "request late", "request lost", "response lost", "response lost, sent again", "run", "taken over", "unavailable",
	} {
		if seen[what] < 10 {
			t.Errorf("%d schedules had %q %d times, want 10 or more", modelSeeds, what, seen[what])
		}
		delete(seen, what)
	}
	for what := range seen {
		t.Errorf("not foreseen: %q", what)
	}
}
