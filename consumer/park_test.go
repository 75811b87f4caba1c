package consumer_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

func TestPark_OnlyRejectedMessagesAndOncePerMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var parked []string
		cfg := steady(2)
		cfg.DeadLetter = parkFunc(func(ctx context.Context, o consumer.Outcome) error {
			want(t, "verdict", o.Verdict, consumer.VerdictRejected)
			wantErr(t, o.Err, errTest)
			if _, ok := ctx.Deadline(); !ok {
				t.Error("Park has no deadline")
			}
			parked = append(parked, o.Delivery.Receipt)
			return nil
		})
		src := newSource(t)
		h := script{"a": fails, "b": always(retry.Permanent(errTest))}
		outs := newConsumer(t, cfg, h).Process(t.Context(), src,
			[]*consumer.Delivery{delivery("a", 1), delivery("b", 1), delivery("c", 1), delivery("b", 2)})
		wantOutcomes(t, outs, "a=retry+10s", "b=rejected parked", "c=done", "b=rejected parked")
		want(t, "parked", parked, []string{"b#2"})
	})
}

func TestPark_TooOldIsParked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg, d := steady(1), delivery("a", 1)
		cfg.Redelivery.MaxAge = time.Hour
		cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error { return nil })
		d.SentAt = time.Now().Add(-time.Hour)
		o := one(t, cfg, consumer.Queue{ARN: standardARN}, d, errTest)
		want(t, "outcome", short(o), "a=rejected parked")
		wantErr(t, o.Err, consumer.ErrTooOld, errTest)
	})
}

// The message was parked, so its delete by the older receipt is repeated with
// the newer one, but it is not parked again.
func TestPark_RedeliveryWhileParkingIsAcknowledgedToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var parked atomic.Int64
		cfg, src := steady(1), newSource(t)
		cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error {
			parked.Add(1)
			time.Sleep(3 * time.Second)
			return nil
		})
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
		want(t, "parked", parked.Load(), 1)
		receipts := src.receipts()
		want(t, "last receipt", receipts[len(receipts)-1], "a#2")
	})
}

// Five seconds bound one call; the error says that it was parking that failed.
func TestPark_HasFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin, cfg := time.Now(), steady(1)
		cfg.DeadLetter = parkFunc(obey)
		o := one(t, cfg, consumer.Queue{ARN: standardARN}, delivery("a", 3), retry.Permanent(errTest))
		want(t, "outcome", short(o), "a=rejected+16s")
		wantErr(t, o.Err, consumer.ErrParkingFailed, context.DeadlineExceeded, errTest)
		want(t, "time", time.Since(begin), 5*time.Second)
	})
}

// The deadline of the invocation does not cancel what is being parked, only
// the end of the time for settling does.
func TestPark_GoesOnAfterHandlersAreCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := steady(1)
		cfg.DeadLetter = parkFunc(func(ctx context.Context, _ consumer.Outcome) error {
			select {
			case <-time.After(1500 * time.Millisecond):
				return nil
			case <-ctx.Done():
				return errors.New("cut")
			}
		})
		h := script{"a": func(ctx context.Context) error { <-ctx.Done(); return retry.Permanent(errTest) }}
		outs := newConsumer(t, cfg, h).Process(timeout(t, 10*time.Second), newSource(t), deliveries("a"))
		wantOutcomes(t, outs, "a=rejected parked")
	})
}

func TestPark_IsToldTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := steady(1)
		queue := consumer.Queue{ARN: standardARN, Name: "orders", Visibility: time.Minute}
		d := &queueTeller{}
		cfg.DeadLetter = d
		one(t, cfg, queue, delivery("a", 1), retry.Permanent(errTest))
		want(t, "queue", d.queue, queue)
	})
}

type queueTeller struct{ queue consumer.Queue }

func (d *queueTeller) Park(_ context.Context, q consumer.Queue, _ consumer.Outcome) error {
	d.queue = q
	return nil
}
