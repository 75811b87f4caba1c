package consumer_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
)

// claimFIFO claims a message of the FIFO queue for another process.
func claimFIFO(t *testing.T, st idempotency.Store, id string, deadline time.Time) {
	t.Helper()
	g, err := idempotency.New(st, idempotency.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Claim(t.Context(), idempotency.Work{Namespace: fifoARN, Kind: "id", Key: id, Deadline: deadline}); err != nil {
		t.Fatal(err)
	}
}

// What waits behind a head that somebody else is at comes back just after the head
// does, and none of it is claimed.
func TestStore_FIFOFollowersOfAHeldHead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, src := newScripted(), newFIFO(t)
		claimFIFO(t, st.mem, "a1", time.Now().Add(30*time.Second))
		outs := newConsumer(t, guarded(t, steady(1), st), script{}).
			Process(t.Context(), src, deliveries("a1", "a2", "b1", "a3"))
		wantOutcomes(t, outs, "a1=deferred+32s", "a2=deferred+34s", "b1=done", "a3=deferred+34s")
		wantErr(t, outs[0].Err, idempotency.ErrHeld)
		wantErr(t, outs[1].Err, consumer.ErrGroupFailed)
		calls := make(map[string]int)
		for _, o := range src.told() {
			calls[o.Delivery.ID] = o.Call
		}
		want(t, "one call for the group", calls["a2"] == calls["a1"] && calls["a3"] == calls["a1"], true)
		want(t, "records", st.mem.Len(), 2)
	})
}

func TestStore_FIFOHeads(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before func(t *testing.T, st *scripted)
		outs   []string
	}{
		"duplicate lets the group go on": {func(t *testing.T, st *scripted) {
			t.Helper()
			cfg := guarded(t, steady(1), st)
			newConsumer(t, cfg, script{}).Process(t.Context(), newFIFO(t), deliveries("a1"))
		}, []string{"a1=duplicate", "a2=done"}},
		"exhausted": {func(t *testing.T, st *scripted) {
			t.Helper()
			newConsumer(t, budgeted(t, st, 1), script{"a1": fails}).Process(t.Context(), newFIFO(t), deliveries("a1"))
		}, []string{"a1=rejected+4s", "a2=deferred+6s"}},
		"store down": {func(t *testing.T, st *scripted) {
			t.Helper()
			st.before["claim"] = answers(errStore)
		}, []string{"a1=deferred+10s", "a2=deferred+12s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := newScripted()
				tt.before(t, st)
				outs := newConsumer(t, guarded(t, steady(1), st), script{}).Process(t.Context(), newFIFO(t), deliveries("a1", "a2"))
				wantOutcomes(t, outs, tt.outs...)
			})
		})
	}
}

// The next message of a group is begun when the record of the one before is
// written and its acknowledgement confirmed.
func TestStore_FIFONextWaitsForTheRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, j := newScripted(), newJournal()
		st.before["complete"] = delays(2 * time.Second)
		src := newFIFO(t)
		src.ack = func(context.Context, consumer.Outcome) error { time.Sleep(time.Second); return nil }
		newConsumer(t, journaled(guarded(t, steady(1), st), j), script{}).Process(t.Context(), src, deliveries("a1", "a2", "b1"))
		want(t, "starts", j.starts(), []string{"a1@0s", "b1@0s", "a2@3s"})
	})
}
