package consumer_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
)

// outcomes collects the outcome events.
type outcomes struct {
	mu   sync.Mutex
	outs []consumer.Outcome
}

func (c *outcomes) observe(e consumer.Event) {
	if e.Kind == consumer.EventOutcome {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.outs = append(c.outs, e.Outcome)
	}
}

// The record says five of five, and another delivery arrives.
func TestCase_AT02_ExhaustedIsNeverSilentlyAcknowledged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sink    consumer.DeadLetter
		out     string
		settled string
	}{
		"no sink":    {nil, "a=rejected+2m8s", "not acknowledged"},
		"sink":       {parkFunc(func(context.Context, consumer.Outcome) error { return nil }), "a=rejected parked", "acknowledged"},
		"sink fails": {parkFunc(func(context.Context, consumer.Outcome) error { return errTest }), "a=rejected+2m8s", "not acknowledged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var events outcomes
				st, src := newScripted(), newSource(t)
				cfg := budgeted(t, st, 5)
				for n := 1; n <= 5; n++ {
					outcome(t, cfg, script{"a": fails}, delivery("a", n))
				}
				st.wantRecord(t, "a", state{"rejected", 5, st.record("a").Err})
				cfg.DeadLetter, cfg.Observe = tt.sink, events.observe
				outs := newConsumer(t, cfg, never(t)).Process(t.Context(), src, []*consumer.Delivery{delivery("a", 6)})
				wantOutcomes(t, outs, tt.out)
				want(t, "told the source", map[bool]string{true: "acknowledged", false: "not acknowledged"}[src.told()[0].Acknowledged()], tt.settled)
				want(t, "events", shorts(events.outs), []string{tt.out})
				wantErr(t, events.outs[0].Err, idempotency.ErrExhausted)
				if name == "sink fails" {
					wantErr(t, events.outs[0].Err, consumer.ErrParkingFailed)
				}
			})
		})
	}
}

// One delivery whose three tries fail is one attempt; a follower that is
// skipped, and a claim that is refused, are none.
func TestCase_AT08_AttemptsAreCountedOncePerRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		cfg := guarded(t, steady(3), st)
		attempts := func(id string) int {
			rec, _ := st.mem.Get(fifoARN + "#id:" + id)
			return rec.Attempts
		}
		outs := newConsumer(t, cfg, script{"a1": fails}).Process(t.Context(), newFIFO(t), deliveries("a1", "a2"))
		wantOutcomes(t, outs, "a1=retry+10s", "a2=deferred+12s")
		want(t, "tries", []int{outs[0].Tries, outs[1].Tries}, []int{3, 0})
		want(t, "attempts", []int{attempts("a1"), attempts("a2")}, []int{1, 0})
		claimFIFO(t, st, "a2", time.Now().Add(time.Minute)) // somebody else's first
		outs = newConsumer(t, cfg, script{}).Process(t.Context(), newFIFO(t), []*consumer.Delivery{delivery("a2", 2)})
		wantOutcomes(t, outs, "a2=deferred+1m2s")
		want(t, "attempts", []int{attempts("a1"), attempts("a2")}, []int{1, 1})
	})
}
