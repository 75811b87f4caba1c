package consumer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// roomy is a session with a capacity of ten.
func roomy(t *testing.T, src *source, h consumer.Handler) *consumer.Session {
	t.Helper()
	cfg := steady(1)
	cfg.Concurrency = 4
	return newConsumer(t, cfg, h).Open(src, consumer.SessionOptions{Capacity: 10})
}

func takeRoom(t *testing.T, s *consumer.Session, atLeast, atMost int) *consumer.Room {
	t.Helper()
	r, err := s.Room(t.Context(), atLeast, atMost)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRoom_AsMuchAsThereIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := roomy(t, newSource(t), script{})
		first := takeRoom(t, s, 1, 7)
		want(t, "first", first.Size(), 7)
		second := takeRoom(t, s, 2, 7)
		want(t, "second", second.Size(), 3)
		if _, err := s.Room(timeout(t, time.Minute), 1, 1); err != context.DeadlineExceeded { //nolint:errorlint // the cause itself
			t.Errorf("with no room left: %v", err)
		}
		for _, r := range []*consumer.Room{first, second} {
			if err := r.Submit(); err != nil { // without deliveries: gives all back
				t.Error(err)
			}
			want(t, "size of one that was used", r.Size(), 0)
		}
		all := takeRoom(t, s, 10, 10)
		want(t, "all", all.Size(), 10)
		if err := all.Submit(); err != nil {
			t.Error(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What is asked for is cut to what there can be.
func TestRoom_BeyondTheCapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := roomy(t, newSource(t), script{})
		for _, asked := range [][2]int{{50, 100}, {10, 100}, {0, 100}, {-1, 10}} {
			r := takeRoom(t, s, asked[0], asked[1])
			want(t, "size", r.Size(), 10)
			if err := r.Submit(); err != nil {
				t.Error(err)
			}
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestRoom_WaitsForAtLeast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		h := script{"a": sleeps(time.Second), "b": sleeps(2 * time.Second), "c": sleeps(3 * time.Second), "d": sleeps(time.Minute)}
		s := roomy(t, newSource(t), h)
		if err := takeRoom(t, s, 4, 10).Submit(deliveries("a", "b", "c", "d")...); err != nil { // gives back six
			t.Error(err)
		}
		r := takeRoom(t, s, 9, 10)
		want(t, "size", r.Size(), 9)
		want(t, "time", time.Since(began), 3*time.Second)
		if err := r.Submit(); err != nil {
			t.Error(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A session without a capacity has room for whatever is asked.
func TestRoom_WithoutACapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		s := newConsumer(t, steady(1), script{}).Open(src, consumer.SessionOptions{})
		for range 3 {
			r := takeRoom(t, s, 1, 1000)
			want(t, "size", r.Size(), 1000)
			if err := r.Submit(deliveries("a", "b")...); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, "settled", len(src.receipts()), 6)
	})
}

// More than there was room for, as an SQS may answer that does not count right, is
// taken all the same, and gives no room back that it had not taken.
func TestRoom_MoreThanItsSize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		s := roomy(t, src, script{})
		for range 20 {
			if err := takeRoom(t, s, 2, 2).Submit(deliveries("a", "b", "c", "d", "e")...); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		want(t, "settled", len(src.receipts()), 100)
		r := takeRoom(t, s, 1, 100)
		want(t, "room in the end", r.Size(), 10)
		if _, err := s.Room(timeout(t, time.Second), 1, 1); err == nil {
			t.Error("there is more room than the capacity")
		}
		if err := r.Submit(); err != nil {
			t.Error(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A drain ends the wait for room, and gives none. What comes with room that was
// taken before is deferred, as after the drain has begun nothing starts.
func TestRoom_InADrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		s := roomy(t, src, never(t))
		r := takeRoom(t, s, 10, 10)
		waiter := make(chan error)
		go func() {
			_, err := s.Room(context.Background(), 1, 1)
			waiter <- err
		}()
		synctest.Wait()
		s.Drain()
		wantErr(t, <-waiter, consumer.ErrDraining)
		_, err := s.Room(t.Context(), 1, 1)
		wantErr(t, err, consumer.ErrDraining)
		if err := r.Submit(deliveries("a")...); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		want(t, "idle", s.Idle(), true)
		want(t, "outcome", short(src.told()[0].Outcome), "a=deferred+0s")
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wantErr(t, r.Submit(deliveries("b")...), consumer.ErrClosed)
		want(t, "settled", src.receipts(), []string{"a#1"})
	})
}

// Drain can be called again, before and beside Close.
func TestDrain_Twice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		s := roomy(t, src, script{"a": sleeps(time.Minute)})
		if err := s.Submit(t.Context(), deliveries("a", "b", "c", "d", "e")...); err != nil {
			t.Error(err)
		}
		for range 2 {
			s.Drain()
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		s.Drain()
		want(t, "settled", len(src.receipts()), 5)
	})
}
