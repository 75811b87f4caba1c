package consumer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

func TestSubmit_BlocksWhileCapacityIsUnsettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, begin := newSource(t), time.Now()
		// Settling counts against capacity, though not against slots.
		src.ack = func(context.Context, consumer.Outcome) error { time.Sleep(2 * time.Second); return nil }
		h := script{"a": second, "b": second, "c": second}
		s := newConsumer(t, steady(1), h).Open(src, consumer.SessionOptions{Capacity: 2})
		for i, at := range []time.Duration{0, 0, 3 * time.Second, 3 * time.Second, 5 * time.Second} {
			if err := s.Submit(t.Context(), deliveries([]string{"a", "b", "c", "d", "e"}[i])...); err != nil {
				t.Error(err)
			}
			want(t, "return of Submit", time.Since(begin), at)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, "outcomes", len(src.told()), 5)
	})
}

func TestSubmit_MoreThanCapacityInOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, j := newSource(t), newJournal()
		h := script{"a": second, "b": second, "c": second, "d": second, "e": second}
		s := newConsumer(t, journaled(steady(1), j), h).Open(src, consumer.SessionOptions{Capacity: 2})
		wantOutcomes(t, s.Run(deliveries("a", "b", "c", "d", "e")), "a=done", "b=done", "c=done", "d=done", "e=done")
		want(t, "handlers at once", j.atOnce(), 2)
	})
}

// A joined delivery takes up room like any other, and gives it back.
func TestSubmit_JoinedDeliveriesCountAgainstCapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := newConsumer(t, steady(1), script{"a": second}).Open(newSource(t), consumer.SessionOptions{Capacity: 2})
		for _, d := range []*consumer.Delivery{delivery("a", 1), delivery("a", 2), delivery("b", 1), delivery("c", 1)} {
			if err := s.Submit(t.Context(), d); err != nil {
				t.Error(err)
			}
		}
		want(t, "return of Submit", time.Since(begin), time.Second)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSubmit_ContextEndsAndEveryDeliveryIsSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, begin := newSource(t), time.Now()
		s := newConsumer(t, steady(1), script{"a": sleeps(time.Minute)}).Open(src, consumer.SessionOptions{Capacity: 1})
		err := s.Submit(timeout(t, 5*time.Second), deliveries("a", "b", "c")...)
		wantErr(t, err, context.DeadlineExceeded)
		want(t, "return of Submit", time.Since(begin), 5*time.Second)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		var outs []consumer.Outcome
		for _, o := range src.told() {
			outs = append(outs, o.Outcome)
		}
		wantOutcomes(t, outs, "b=deferred+10s", "c=deferred+10s", "a=done")
	})
}

func TestSubmit_UnblockedByCloseAndByTheDeadline(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"close": consumer.ErrDraining, "deadline": consumer.ErrDeadline} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				src, o := newSource(t), consumer.SessionOptions{Capacity: 1}
				if name == "deadline" {
					o.Context = timeout(t, 12*time.Second) // the last start is at 9 s
				}
				s := newConsumer(t, steady(1), script{"a": sleeps(10 * time.Second)}).Open(src, o)
				result := make(chan error)
				go func() { result <- s.Submit(context.Background(), deliveries("a", "b", "c")...) }()
				time.Sleep(time.Second)
				if name == "deadline" {
					wantErr(t, <-result, cause)
					want(t, "time", time.Since(src.began), 9*time.Second)
					result = nil
				}
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if result != nil {
					wantErr(t, <-result, cause)
				}
				var outs []string
				for _, o := range src.told() {
					outs = append(outs, o.Delivery.ID+"="+o.Verdict.String())
				}
				want(t, "outcomes", outs, []string{"b=deferred", "c=deferred", "a=done"})
			})
		})
	}
}

func TestSubmit_AfterTheLastStartIsDeferred(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int{0, 5} {
		synctest.Test(t, func(t *testing.T) {
			src, j := newSource(t), newJournal()
			s := newConsumer(t, journaled(steady(1), j), script{}).Open(src, consumer.SessionOptions{
				Context: timeout(t, 12*time.Second), Capacity: capacity,
			})
			time.Sleep(9100 * time.Millisecond)
			err := s.Submit(t.Context(), deliveries("a", "b")...)
			want(t, "Submit fails", errors.Is(err, consumer.ErrDeadline), capacity > 0)
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			want(t, "calls", len(j.starts()), 0)
			want(t, "outcomes", len(src.told()), 2)
		})
	}
}

func TestSubmit_AfterCloseIsErrClosed(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int{0, 5} {
		synctest.Test(t, func(t *testing.T) {
			src := newSource(t)
			s := newConsumer(t, steady(1), script{}).Open(src, consumer.SessionOptions{Capacity: capacity})
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			wantErr(t, s.Submit(t.Context(), deliveries("a")...), consumer.ErrClosed)
			wantErr(t, s.Close(t.Context()), consumer.ErrClosed)
			want(t, "outcomes", len(src.told()), 0)
			for _, o := range s.Run(deliveries("a")) {
				want(t, "a message that nobody looked at leaves its queue", o.Acknowledged(), false)
			}
		})
	}
}

// Receivers that submit while the session is being closed lose nothing: each
// delivery is settled, or its Submit says ErrClosed.
func TestSubmit_WhileClosing(t *testing.T) {
	t.Parallel()
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			src := newSource(t)
			s := newConsumer(t, steady(1), script{}).Open(src, consumer.SessionOptions{Capacity: 3})
			refused := make(chan int)
			for i := range 4 {
				go func() {
					n := 0
					for k := range 5 {
						if errors.Is(s.Submit(context.Background(), delivery(string(rune('a'+5*i+k)), 1)), consumer.ErrClosed) {
							n++
						}
					}
					refused <- n
				}()
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			lost := 20
			for range 4 {
				lost -= <-refused
			}
			want(t, "deliveries without an outcome", lost-len(src.told()), 0)
		})
	}
}

// The end of the caller's context is no drain: what was turned away comes back
// after its backoff, and says what kept it. Nothing of a group goes ahead of it.
func TestSubmit_ContextEndsWithACause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, src := newJournal(), newFIFO(t)
		s := newConsumer(t, journaled(steady(1), j), script{"a1": sleeps(time.Minute)}).Open(src, consumer.SessionOptions{Capacity: 2})
		if err := s.Submit(t.Context(), deliveries("a1")...); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errTest) })
		err := s.Submit(ctx, deliveries("b1", "b2")...)
		wantErr(t, err, errTest)
		if err := s.Submit(t.Context(), deliveries("c1")...); err != nil {
			t.Error(err) // the room that was not there for both is there for one
		}
		time.Sleep(time.Second)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		var outs []consumer.Outcome
		for _, o := range src.told() {
			outs = append(outs, o.Outcome)
		}
		wantOutcomes(t, outs, "b1=deferred+10s", "b2=deferred+12s", "c1=done", "a1=done")
		wantErr(t, outs[0].Err, errTest)
		want(t, "attempt", outs[0].Attempt, 0)
		want(t, "starts", j.starts(), []string{"a1@0s", "c1@1s"})
	})
}
