package consumer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

// The 12 hours count from the receive of a message, not from the opening of a
// session that lives for days.
func TestDelay_InASessionOfManyHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		h := script{"a": fails, "b": fails, "c": always(retry.After(100*time.Hour, errTest)), "d": fails}
		s := newConsumer(t, steady(1), h).Open(src, consumer.SessionOptions{})
		for _, id := range []string{"a", "b", "c", "d"} {
			if err := s.Submit(t.Context(), delivery(id, 2)); err != nil {
				t.Error(err)
			}
			time.Sleep(24 * time.Hour)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		var outs []consumer.Outcome
		for _, o := range src.told() {
			outs = append(outs, o.Outcome)
		}
		wantOutcomes(t, outs, "a=retry+10s", "b=retry+10s", "c=retry+11h0m0s", "d=retry+10s")
	})
}

// A first receive that was longer ago than SQS hides a message is not the one
// that brought it, whatever the receive count says.
func TestDelay_AbsurdTimeOfTheFirstReceive(t *testing.T) {
	t.Parallel()
	for _, ago := range []time.Duration{12*time.Hour + time.Second, 13 * time.Hour, 14 * 24 * time.Hour, 50 * 365 * 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			d := delivery("a", 1)
			d.FirstReceivedAt = time.Now().Add(-ago)
			queue := consumer.Queue{ARN: standardARN}
			want(t, "delay", short(one(t, steady(1), queue, d, errTest)), "a=retry+10s")
			want(t, "longest delay", short(one(t, steady(1), queue, d, retry.After(100*time.Hour, errTest))), "a=retry+11h0m0s")
		})
	}
}

// A backoff that says to leave the visibility alone is obeyed for what was not
// begun as well.
func TestDelay_NegativeBackoffLeavesDeferredAlone(t *testing.T) {
	t.Parallel()
	for _, src := range []func(testing.TB) *source{newSource, newFIFO} {
		synctest.Test(t, func(t *testing.T) {
			cfg := steady(1)
			cfg.Concurrency = 1
			cfg.Redelivery.Backoff = func(int) time.Duration { return -1 }
			s := newConsumer(t, cfg, script{"a1": works(time.Hour)}).
				Open(src(t), consumer.SessionOptions{Context: timeout(t, 10*time.Second), SettlesAtOnce: true})
			wantOutcomes(t, s.Run(deliveries("a1", "b1", "b2")), "a1=retry-", "b1=deferred-", "b2=deferred-")
		})
	}
}

// None and leaving alone are what they are behind a failed head, too.
func TestDelay_BehindAHeadWithoutOne(t *testing.T) {
	t.Parallel()
	for asked, outs := range map[time.Duration][]string{
		0:  {"a1=retry+0s", "a2=deferred+0s"},
		-1: {"a1=retry-", "a2=deferred-"},
		1:  {"a1=retry+1s", "a2=deferred+3s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := script{"a1": always(retry.After(asked, errTest))}
			wantOutcomes(t, newConsumer(t, steady(1), h).Process(t.Context(), newFIFO(t), deliveries("a1", "a2")), outs...)
		})
	}
}
