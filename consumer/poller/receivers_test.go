package poller_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
)

// far is an SQS whose every call takes latency longer, there and back; polls counts
// the receives in flight.
func far(latency time.Duration, polls *tower) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if actionOf(r) == "ReceiveMessage" {
				polls.enter()
				defer polls.leave()
			}
			time.Sleep(latency / 2)
			res, err := next.RoundTrip(r)
			time.Sleep(latency / 2)
			return res, err
		})
	}
}

// Receivers grow while calls bring all that they ask for, up to Receivers, and
// shrink to one when there is nothing.
func TestReceivers_GrowAndShrinkWithTheLoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		receivers int
		most      int64
	}{{0, 11}, {4, 4}, {1, 1}} {
		synctest.Test(t, func(t *testing.T) {
			var polls tower
			cfg := steady()
			cfg.Concurrency = 100
			r := newRig(t, setup{
				cfg: cfg, poller: poller.Config{Receivers: c.receivers},
				over: far(50*time.Millisecond, &polls), handler: ignores(10 * time.Millisecond),
			})
			r.run()
			for range 2 {
				r.after(time.Minute)
				want(t, "polls while idle", polls.now.Load(), 1)
				r.q.Send(bodies(700)...)
				r.after(30 * time.Second)
				want(t, "left", r.q.Len(), 0)
				want(t, "most polls at once", polls.most.Load(), c.most)
			}
			r.after(time.Minute)
			want(t, "polls while idle", polls.now.Load(), 1)
			r.drained()
		})
	}
}

// With calls that take long, the throughput is that of all receivers: each brings
// ten messages per round trip.
func TestReceivers_ThroughputWithLatency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var polls tower
		const n, receivers = 2000, 5
		cfg := steady()
		cfg.Concurrency = 10
		r := newRig(t, setup{
			cfg: cfg, poller: poller.Config{Prefetch: 190, Receivers: receivers},
			over: far(100*time.Millisecond, &polls), handler: ignores(time.Millisecond),
		})
		r.q.Send(bodies(n)...)
		r.run()
		for r.q.Len() > 0 && time.Since(r.began) < time.Hour {
			time.Sleep(50 * time.Millisecond)
		}
		// 2000 messages by fifties per 100 ms are 4 s, and a moment to grow and to end.
		if took := time.Since(r.began); took > 5500*time.Millisecond {
			t.Errorf("took %v with %d polls at most", took, polls.most.Load())
		}
		r.drained()
		want(t, "receives that brought something", r.srv.Calls()["ReceiveMessage"] <= n/10+2*receivers, true)
		want(t, "deletes", r.srv.Calls()["DeleteMessageBatch"] <= n/10+5, true)
	})
}

// A trickle is received as it comes, by one receiver.
func TestReceivers_ATrickleNeedsOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var polls tower
		var late int
		r := newRig(t, setup{over: far(10*time.Millisecond, &polls), handler: func(_ context.Context, m *consumer.Message) error {
			if time.Since(m.SentAt) > 20*time.Millisecond {
				late++
			}
			return nil
		}})
		r.run()
		for range 200 {
			r.q.Send("x")
			r.after(time.Second)
		}
		want(t, "polls at once", polls.most.Load(), 1)
		want(t, "late", late, 0)
		want(t, "left", r.q.Len(), 0)
		r.drained()
	})
}

// Messages that take long do not keep a receive from being issued as soon as there
// is room for ten again, and none is issued before that.
func TestReceivers_AReceiveIsIssuedWhenThereIsRoomForTen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{handler: ignores(10 * time.Second)})
		r.q.Send(bodies(60)...)
		r.run()
		r.after(59 * time.Second)
		n := 0
		for _, c := range r.srv.Log() {
			if c.Action == "ReceiveMessage" && c.Done {
				n++
				want(t, "messages of one receive", len(c.Entries), 10)
			}
		}
		want(t, "receives", n, 6)
		r.after(time.Minute)
		want(t, "left", r.q.Len(), 0)
		r.drained()
	})
}
