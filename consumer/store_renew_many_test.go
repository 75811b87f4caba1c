package consumer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
)

// Ten renewals at once: forty that take 4 s each are over in 16 s, which is far
// less than a lease, and one that hangs holds back no other.
func TestStore_RenewalsGoTenAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		st, cfg := newScripted(), steady(1)
		cfg.Concurrency = 40
		st.before["renew"] = func(context.Context, string) error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(4 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			now--
			return nil
		}
		h := consumer.HandlerFunc(func(ctx context.Context, _ *consumer.Message) error { return works(10 * time.Minute)(ctx) })
		var names []string
		for i := range 40 {
			names = append(names, fmt.Sprint("m", i))
		}
		s := newConsumer(t, guardedBy(t, cfg, st, idempotency.Config{Lease: 2 * time.Minute}), h).Open(newSource(t), consumer.SessionOptions{})
		if err := s.Submit(t.Context(), deliveries(names...)...); err != nil {
			t.Error(err)
		}
		time.Sleep(30 * time.Second)
		begin := time.Now()
		want(t, "lost", s.Renew(t.Context()), 0)
		want(t, "time", time.Since(begin), 16*time.Second)
		want(t, "renewals at once", most, 10)
		if err := s.Close(timeout(t, 0)); err != nil {
			t.Error(err)
		}
	})
}

// A handler fails, and gives its claim back, while the renewal of it is under
// way: the store says that it is lost, and it is not.
func TestStore_ReleasedWhileItIsRenewedIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		st.before["renew"] = delays(3 * time.Second)
		r := newRenewedOn(t, st, steady(1), script{"a": func(context.Context) error { time.Sleep(2 * time.Second); return errTest }}, "a")
		want(t, "lost", r.s.Renew(t.Context()), 0)
		wantOutcomes(t, r.end(), "a=retry+10s")
		st.wantRecord(t, "a", state{"failed", 1, "declined (gave up after 1 try: all tries were used)"})
	})
}
