package consumer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

func second(context.Context) error { time.Sleep(time.Second); return nil }

func TestLane_GroupRunsInOrderAndGroupsOverlap(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			h := script{"a1": second, "b1": second, "a2": second, "a3": second, "b2": second}
			c := newConsumer(t, journaled(steady(1), j), h)
			s := c.Open(newFIFO(t), consumer.SessionOptions{SettlesAtOnce: atOnce})
			outs := s.Run(deliveries("a1", "b1", "a2", "a3", "b2"))
			want(t, "starts", j.starts(), []string{"a1@0s", "b1@0s", "a2@1s", "b2@1s", "a3@2s"})
			wantOutcomes(t, outs, "a1=done", "b1=done", "a2=done", "a3=done", "b2=done")
		})
	}
}

func TestLane_FIFOFollowersComeBackTwoSecondsAfterTheHead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, src := newJournal(), newFIFO(t)
		h := script{"a2": func(context.Context) error { return retry.After(90*time.Second, errTest) }}
		c := newConsumer(t, journaled(steady(3), j), h)
		outs := c.Process(t.Context(), src, deliveries("a1", "a2", "b1", "a3", "a4"))
		wantOutcomes(t, outs, "a1=done", "a2=retry+1m30s", "b1=done", "a3=deferred+1m32s", "a4=deferred+1m32s")
		want(t, "starts", j.starts(), []string{"a1@0s", "a2@0s", "b1@0s"})
		for _, o := range outs[3:] {
			wantErr(t, o.Err, consumer.ErrGroupFailed)
			want(t, "attempt of a follower", o.Attempt, 0)
		}
		// One call, the head first, so that no follower is ever visible before it.
		var call []string
		number := 0
		for _, o := range src.told() {
			if !o.Acknowledged() {
				call = append(call, short(o.Outcome))
				number = max(number, o.Call)
				want(t, "number of the call", o.Call, number)
			}
		}
		want(t, "call", call, []string{"a2=retry+1m30s", "a3=deferred+1m32s", "a4=deferred+1m32s"})
	})
}

func TestLane_NextWaitsForTheConfirmedDelete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, src := newJournal(), newFIFO(t)
		src.ack = func(context.Context, consumer.Outcome) error { time.Sleep(3 * time.Second); return nil }
		c := newConsumer(t, journaled(steady(1), j), script{"a1": second})
		outs := c.Process(t.Context(), src, deliveries("a1", "a2"))
		want(t, "starts", j.starts(), []string{"a1@0s", "a2@4s"})
		wantOutcomes(t, outs, "a1=done", "a2=done")
	})
}

func TestLane_UnconfirmedDeleteDefersFollowers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, src, cfg := newJournal(), newFIFO(t), steady(1)
		src.ack = func(_ context.Context, o consumer.Outcome) error {
			if o.Delivery.ID == "a1" {
				return errors.New("the receipt handle has expired")
			}
			return nil
		}
		cfg.Redelivery.Backoff = func(n int) time.Duration { return time.Duration(n) * time.Minute }
		var unconfirmed []consumer.Event
		cfg.Observe = func(e consumer.Event) {
			if e.Kind == consumer.EventUnconfirmed {
				unconfirmed = append(unconfirmed, e)
			}
		}
		ds := deliveries("a1", "a2", "a3", "b1")
		ds[1].ReceiveCount, ds[2].ReceiveCount = 3, 5
		outs := newConsumer(t, journaled(cfg, j), script{}).Process(t.Context(), src, ds)
		// Followers come back by the receives of the first of them, behind that.
		wantOutcomes(t, outs, "a1=done", "a2=deferred+3m0s", "a3=deferred+3m2s", "b1=done")
		wantErr(t, outs[1].Err, consumer.ErrGroupFailed)
		want(t, "starts", j.starts(), []string{"a1@0s", "b1@0s"})
		if len(unconfirmed) != 1 || unconfirmed[0].Message.ID != "a1" || unconfirmed[0].Err == nil {
			t.Errorf("unconfirmed events: %+v", unconfirmed)
		}
	})
}

// Fair queues put a group on the messages of standard queues, without an order.
func TestLane_GroupsOfAStandardQueueDoNotSerialise(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := script{"a1": func(ctx context.Context) error { _ = second(ctx); return errTest }, "a2": second, "a3": second}
		outs := newConsumer(t, journaled(steady(1), j), h).Process(t.Context(), newSource(t), deliveries("a1", "a2", "a3"))
		want(t, "starts", j.starts(), []string{"a1@0s", "a2@0s", "a3@0s"})
		wantOutcomes(t, outs, "a1=retry+10s", "a2=done", "a3=done")
	})
}

func TestLane_UndecodableIsAFailedHead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, cfg := newJournal(), steady(3)
		cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error {
			t.Error("an undecodable message was parked, though it cannot be copied faithfully")
			return nil
		})
		broken := errors.New("undecodable")
		ds := deliveries("a1", "a2", "a3", "b1")
		ds[1].Invalid = broken
		outs := newConsumer(t, journaled(cfg, j), script{}).Process(t.Context(), newFIFO(t), ds)
		wantOutcomes(t, outs, "a1=done", "a2=rejected+4s", "a3=deferred+6s", "b1=done")
		wantErr(t, outs[1].Err, broken)
		want(t, "starts", j.starts(), []string{"a1@0s", "b1@0s"})
	})
}

func TestLane_ParkedMessageLetsTheLaneGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, cfg := newFIFO(t), steady(3)
		cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error {
			if len(src.told()) > 0 {
				t.Error("SQS was told before the copy was confirmed")
			}
			return nil
		})
		h := script{"a1": func(context.Context) error { return retry.Permanent(errTest) }}
		outs := newConsumer(t, cfg, h).Process(t.Context(), src, deliveries("a1", "a2"))
		wantOutcomes(t, outs, "a1=rejected parked", "a2=done")
		want(t, "tries of a permanent failure", outs[0].Tries, 1)
		want(t, "receipts", src.receipts(), []string{"a1#1", "a2#1"})
	})
}

func TestLane_FailedParkingHoldsTheLane(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	for name, dl := range map[string]consumer.DeadLetter{
		"error": parkFunc(func(context.Context, consumer.Outcome) error { return full }),
		"panic": parkFunc(func(context.Context, consumer.Outcome) error { panic(full) }),
		"hangs": parkFunc(func(ctx context.Context, _ consumer.Outcome) error { <-ctx.Done(); return full }),
		"none":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j, cfg := newJournal(), steady(3)
				cfg.DeadLetter = dl
				h := script{"a1": func(context.Context) error { return retry.Permanent(errTest) }}
				outs := newConsumer(t, journaled(cfg, j), h).Process(t.Context(), newFIFO(t), deliveries("a1", "a2"))
				wantOutcomes(t, outs, "a1=rejected+4s", "a2=deferred+6s")
				want(t, "starts", j.starts(), []string{"a1@0s"})
				wantErr(t, outs[0].Err, errTest)
				if dl != nil {
					wantErr(t, outs[0].Err, consumer.ErrParkingFailed)
				}
			})
		})
	}
}

func TestLane_SpansSubmits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := script{"a1": second, "a2": second, "b1": second}
		s := newConsumer(t, journaled(steady(1), j), h).Open(newFIFO(t), consumer.SessionOptions{})
		for _, id := range []string{"a1", "a2", "b1"} {
			if err := s.Submit(t.Context(), deliveries(id)...); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(5 * time.Second)
		want(t, "starts", j.starts(), []string{"a1@0s", "b1@0s", "a2@1s"})
		// A lane that ran empty, or failed, is made again.
		if err := s.Submit(t.Context(), deliveries("a3")...); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		want(t, "starts", j.starts()[3:], []string{"a3@5s"})
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
