package consumer_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

// However little room there is, what is behind a failed head in one call is
// behind it in its lane.
func TestCapacity_KeepsTheOrderOfAGroup(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int{1, 2, 3, 5, 20} {
		for _, atOnce := range []bool{false, true} {
			t.Run(fmt.Sprintf("capacity=%d, SettlesAtOnce=%t", capacity, atOnce), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					j, src := newJournal(), newFIFO(t)
					c := newConsumer(t, journaled(steady(1), j), script{"a2": fails})
					s := c.Open(src, consumer.SessionOptions{Capacity: capacity, SettlesAtOnce: atOnce})
					wantOutcomes(t, s.Run(deliveries("a1", "a2", "b1", "a3", "a4")),
						"a1=done", "a2=retry+10s", "b1=done", "a3=deferred+12s", "a4=deferred+12s")
					want(t, "runs", ids(j), []string{"a1", "a2", "b1"})
				})
			})
		}
	}
}

// A handler that fails faster than Submit hands out the rest is none the wiser.
// Outside of a bubble, for the sake of real concurrency; nothing here waits.
func TestCapacity_AHandlerFasterThanSubmit(t *testing.T) {
	t.Parallel()
	c := newConsumer(t, steady(1), script{"a1": always(retry.Permanent(errTest))})
	ds := []string{"a1", "a2", "a3", "a4", "a5"}
	for _, capacity := range []int{0, 1, 3, 20} {
		for range 500 {
			s := c.Open(newFIFO(t), consumer.SessionOptions{Capacity: capacity})
			got := strings.Join(verdicts(s.Run(deliveries(ds...))), " ")
			if got != "a1=rejected a2=deferred a3=deferred a4=deferred a5=deferred" {
				t.Fatalf("capacity %d: %s", capacity, got)
			}
		}
	}
}

// Room is given back for all of them, also for what there was never room for.
func TestCapacity_IsThereAgainAfterALargeSubmit(t *testing.T) {
	t.Parallel()
	for _, h := range []script{{}, {"a1": fails}} {
		synctest.Test(t, func(t *testing.T) {
			src := newFIFO(t)
			s := newConsumer(t, steady(1), h).Open(src, consumer.SessionOptions{Capacity: 2})
			for range 3 {
				if err := s.Submit(t.Context(), deliveries("a1", "a2", "a3", "b1")...); err != nil {
					t.Error(err)
				}
				synctest.Wait()
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			want(t, "told", len(src.told()), 12)
		})
	}
}
