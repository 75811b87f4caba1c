package consumer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

func TestJoin_DuplicateInBatchRunsOnceNewestReceiptWins(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{1, 2, 3}, {3, 1, 2}, {2, 3, 1}} {
		for _, h := range []script{{"a": second}, {"a": fails}} {
			synctest.Test(t, func(t *testing.T) {
				j, src := newJournal(), newSource(t)
				var ds []*consumer.Delivery
				for _, n := range order {
					ds = append(ds, delivery("a", n))
				}
				outs := newConsumer(t, journaled(steady(1), j), h).Process(t.Context(), src, ds)
				want(t, "starts", j.starts(), []string{"a@0s"})
				want(t, "receipts", src.receipts(), []string{"a#3"})
				for i, o := range outs {
					if o.Delivery != ds[i] || o.Verdict != outs[0].Verdict || o.Acknowledged() != (src.told()[0].Err == nil) {
						t.Errorf("outcome %d: %v of %s", i, o.Verdict, o.Delivery.Receipt)
					}
				}
			})
		}
	}
}

func TestJoin_RedeliveredWhileRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, src := newJournal(), newSource(t)
		var outcomes int
		cfg := steady(1)
		cfg.Observe = func(e consumer.Event) {
			if e.Kind == consumer.EventOutcome {
				outcomes++
			}
		}
		s := newConsumer(t, journaled(cfg, j), script{"a": sleeps(time.Minute)}).Open(src, consumer.SessionOptions{})
		for n := 1; n <= 2; n++ {
			if err := s.Submit(t.Context(), delivery("a", n)); err != nil {
				t.Error(err)
			}
			time.Sleep(30 * time.Second)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, "starts", j.starts(), []string{"a@0s"})
		want(t, "receipts", src.receipts(), []string{"a#2"})
		want(t, "outcomes", outcomes, 2)
	})
}

// On a standard queue a delete by the older receipt may be accepted and do
// nothing, so the newer one is used too.
func TestJoin_NewerReceiptDuringSettleSettlesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, src := newJournal(), newSource(t)
		src.ack = func(context.Context, consumer.Outcome) error { time.Sleep(time.Minute); return nil }
		s := newConsumer(t, journaled(steady(1), j), script{}).Open(src, consumer.SessionOptions{})
		for n := 1; n <= 2; n++ {
			if err := s.Submit(t.Context(), delivery("a", n)); err != nil {
				t.Error(err)
			}
			time.Sleep(30 * time.Second)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, "starts", j.starts(), []string{"a@0s"})
		want(t, "receipts", src.receipts(), []string{"a#1", "a#2"})
		want(t, "time of the second delete", src.told()[1].At, time.Minute)
	})
}

func TestJoin_AfterSettlingItRunsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, src := newJournal(), newSource(t)
		s := newConsumer(t, journaled(steady(1), j), script{"a": fails}).Open(src, consumer.SessionOptions{})
		for n := 1; n <= 2; n++ {
			if err := s.Submit(t.Context(), delivery("a", n)); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * time.Second)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, "starts", j.starts(), []string{"a@0s", "a@10s"})
		want(t, "receipts", src.receipts(), []string{"a#1", "a#2"})
	})
}

func TestJoin_WaitingFollowerKeepsItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, src := newJournal(), newFIFO(t)
		h := script{"a1": second, "a2": second}
		ds := []*consumer.Delivery{delivery("a1", 1), delivery("a2", 1), delivery("a3", 1), delivery("a2", 2), delivery("a1", 2)}
		outs := newConsumer(t, journaled(steady(1), j), h).Process(t.Context(), src, ds)
		want(t, "starts", j.starts(), []string{"a1@0s", "a2@1s", "a3@2s"})
		want(t, "receipts", src.receipts(), []string{"a1#2", "a2#2", "a3#1"})
		wantOutcomes(t, outs, "a1=done", "a2=done", "a3=done", "a2=done", "a1=done")
	})
}

func TestJoin_FollowerIsDeferredByItsNewestReceipt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newFIFO(t)
		h := script{"a1": func(ctx context.Context) error { _ = second(ctx); return errTest }}
		ds := []*consumer.Delivery{delivery("a1", 1), delivery("a2", 1), delivery("a2", 2)}
		outs := newConsumer(t, steady(1), h).Process(t.Context(), src, ds)
		want(t, "receipts", src.receipts(), []string{"a1#1", "a2#2"})
		wantOutcomes(t, outs, "a1=retry+10s", "a2=deferred+12s", "a2=deferred+12s")
	})
}

// Lambda refuses records without an id, but other hosts may not.
func TestJoin_MessagesWithoutIDAreNotJoined(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		ds := deliveries("a1", "a2", "a3")
		for _, d := range ds {
			d.ID = ""
		}
		outs := newConsumer(t, journaled(steady(1), j), script{}).Process(t.Context(), newSource(t), ds)
		want(t, "calls", len(j.starts()), 3)
		wantOutcomes(t, outs, "=done", "=done", "=done")
	})
}

// A failure is settled by the newest receipt as well, also if that came while the
// parking of it was under way, which then failed.
func TestJoin_NewerReceiptWhileParkingFailsSettlesTheFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, cfg := newSource(t), steady(1)
		cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error { time.Sleep(3 * time.Second); return errTest })
		s := newConsumer(t, cfg, script{"a": always(retry.Permanent(errTest))}).Open(src, consumer.SessionOptions{})
		for n := 1; n <= 2; n++ {
			if err := s.Submit(t.Context(), delivery("a", n)); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, "receipts", src.receipts(), []string{"a#2"})
	})
}

// What a handler makes of the id is not what the session knows its message by:
// the next delivery of it runs, instead of joining one that is over.
func TestJoin_GoesByTheIDThatTheMessageCameWith(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, runs := newSource(t), 0
		h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
			runs++
			m.ID = "another"
			return nil
		})
		s := newConsumer(t, steady(1), h).Open(src, consumer.SessionOptions{})
		for n := 1; n <= 3; n++ {
			if err := s.Submit(t.Context(), delivery("a", n)); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, "runs", runs, 3)
		want(t, "receipts", src.receipts(), []string{"a#1", "a#2", "a#3"})
	})
}
