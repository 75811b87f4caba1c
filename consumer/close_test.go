package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

func TestClose_JoinsHandlersAndSettling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, begin := newSource(t), time.Now()
		src.ack = func(context.Context, consumer.Outcome) error { time.Sleep(3 * time.Second); return nil }
		s := newConsumer(t, steady(1), script{"a": second}).Open(src, consumer.SessionOptions{})
		if err := s.Submit(t.Context(), deliveries("a")...); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, "return of Close", time.Since(begin), 4*time.Second)
		want(t, "flushes", src.flushes, 1)
		want(t, "receipts", src.receipts(), []string{"a#1"})
	})
}

func TestClose_Empty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		if outs := newConsumer(t, steady(1), script{}).Process(t.Context(), src, nil); len(outs) != 0 {
			t.Errorf("outcomes: %v", outs)
		}
		want(t, "calls", src.calls, 0)
		want(t, "flushes", src.flushes, 1)
	})
}

func TestClose_TwiceAndAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		s := newConsumer(t, steady(1), script{"a": sleeps(time.Minute)}).Open(src, consumer.SessionOptions{})
		if err := s.Submit(t.Context(), deliveries("a")...); err != nil {
			t.Error(err)
		}
		results := make(chan error)
		for range 3 {
			go func() { results <- s.Close(timeout2(t, time.Second)) }()
		}
		closed := 0
		for range 3 {
			if err := <-results; errors.Is(err, consumer.ErrClosed) {
				closed++
			} else if err != nil {
				t.Error(err)
			}
		}
		want(t, "calls that say ErrClosed", closed, 2)
		want(t, "flushes", src.flushes, 1)
		want(t, "outcomes", len(src.told()), 1)
		time.Sleep(time.Hour)
	})
}

// timeout2 is timeout for goroutines.
func timeout2(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	context.AfterFunc(ctx, cancel)
	return ctx
}

type flushFails struct{ *source }

func (flushFails) Flush(context.Context) error { return errTest }

func TestClose_ReturnsTheErrorOfFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newConsumer(t, steady(1), script{}).Open(flushFails{newSource(t)}, consumer.SessionOptions{})
		wantErr(t, s.Close(t.Context()), errTest)
	})
}

// hang blocks for an hour, whatever its context says.
func hang(context.Context, consumer.Outcome) error { time.Sleep(time.Hour); return errTest }

// obey blocks until its context ends.
func obey(ctx context.Context, _ consumer.Outcome) error { <-ctx.Done(); return context.Cause(ctx) }

func TestClose_GivesUpOnSettlingThatHangs(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []bool{false, true} {
		for name, ack := range map[string]func(context.Context, consumer.Outcome) error{"hang": hang, "obey": obey} {
			t.Run(fmt.Sprintf("%s, SettlesAtOnce=%t", name, atOnce), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					src, cfg, begin := newFIFO(t), steady(1), time.Now()
					var log lines
					var outcomes atomic.Int64
					cfg.Logger = log.logger()
					cfg.Observe = func(e consumer.Event) {
						if e.Kind == consumer.EventOutcome {
							outcomes.Add(1)
						}
					}
					src.ack = ack
					s := newConsumer(t, cfg, script{}).Open(src, consumer.SessionOptions{
						Context: timeout(t, 10*time.Second), SettlesAtOnce: atOnce,
					})
					outs := s.Run(deliveries("a1", "a2", "a3", "b1"))
					if took := time.Since(begin); took > 10*time.Second-20*time.Millisecond {
						t.Errorf("Run returned after %v, with the deadline at 10s", took)
					}
					var verdicts []string
					for _, o := range outs {
						verdicts = append(verdicts, o.Delivery.ID+"="+o.Verdict.String())
					}
					want(t, "verdicts", verdicts, []string{"a1=done", "a2=deferred", "a3=deferred", "b1=done"})
					settled, logged := len(src.told()), log.String()
					time.Sleep(2 * time.Hour)
					want(t, "outcomes", outcomes.Load(), 4)
					want(t, "outcomes told after Close", len(src.told())-settled, 0)
					want(t, "log after Close", log.String(), logged)
				})
			})
		}
	}
}

func TestClose_GivesUpOnParkingThatHangs(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []bool{false, true} {
		for name, park := range map[string]parkFunc{"hang": hang, "obey": obey, "late": func(context.Context, consumer.Outcome) error {
			time.Sleep(time.Hour)
			return nil
		}} {
			t.Run(fmt.Sprintf("%s, SettlesAtOnce=%t", name, atOnce), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					src, cfg, begin := newFIFO(t), steady(1), time.Now()
					cfg.DeadLetter = park
					h := script{"a1": func(context.Context) error { time.Sleep(6 * time.Second); return retry.Permanent(errTest) }}
					s := newConsumer(t, cfg, h).Open(src, consumer.SessionOptions{
						Context: timeout(t, 10*time.Second), SettlesAtOnce: atOnce,
					})
					outs := s.Run(deliveries("a1", "a2", "b1"))
					if took := time.Since(begin); took > 10*time.Second-20*time.Millisecond {
						t.Errorf("Run returned after %v, with the deadline at 10s", took)
					}
					want(t, "acknowledged", []bool{outs[0].Acknowledged(), outs[1].Acknowledged(), outs[2].Acknowledged()}, []bool{false, false, true})
					want(t, "verdict", outs[0].Verdict, consumer.VerdictRejected)
					settled := len(src.told())
					time.Sleep(2 * time.Hour)
					want(t, "outcomes told after Close", len(src.told())-settled, 0)
				})
			})
		}
	}
}

func TestClose_WithoutADeadlineSettlingHasTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, begin := newSource(t), time.Now()
		src.ack = hang
		s := newConsumer(t, steady(1), script{}).Open(src, consumer.SessionOptions{Capacity: 2})
		if err := s.Submit(t.Context(), deliveries("a", "b")...); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if err := s.Close(timeout(t, time.Second)); err != nil {
			t.Error(err)
		}
		// A second of grace, one for handlers and two for settling.
		want(t, "return of Close", time.Since(begin), 5*time.Second)
		time.Sleep(2 * time.Hour)
		receipts := src.receipts()
		slices.Sort(receipts)
		want(t, "receipts", receipts, []string{"a#1", "b#1"})
	})
}

func TestStopped_IsClosedWhenHandlersAreCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newConsumer(t, steady(1), script{}).Open(newSource(t), consumer.SessionOptions{Context: timeout(t, 10*time.Second)})
		begin := time.Now()
		<-s.Stopped()
		want(t, "time", time.Since(begin), 8*time.Second)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		s = newConsumer(t, steady(1), script{}).Open(newSource(t), consumer.SessionOptions{})
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		<-s.Stopped()
	})
}
