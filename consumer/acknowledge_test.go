package consumer_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// later is a source that takes acknowledgements over, and confirms them when the
// test says so.
type later struct {
	*source

	pendingMu sync.Mutex
	pending   []func(error)
	taken     []string
}

func (l *later) Acknowledge(d *consumer.Delivery, confirmed func(error)) {
	l.pendingMu.Lock()
	defer l.pendingMu.Unlock()
	l.pending = append(l.pending, confirmed)
	l.taken = append(l.taken, d.Receipt)
}

func (l *later) confirm(err error) {
	l.pendingMu.Lock()
	pending := l.pending
	l.pending = nil
	l.pendingMu.Unlock()
	for _, confirmed := range pending {
		confirmed(err)
	}
}

// unwatched is a configuration of which there is nothing to be told.
func unwatched() consumer.Config {
	cfg := steady(1)
	cfg.Observe = nil
	cfg.Logger = slog.New(slog.DiscardHandler)
	return cfg
}

func openLater(t *testing.T, cfg consumer.Config, h consumer.Handler, o consumer.SessionOptions) (*later, *consumer.Session) {
	t.Helper()
	src := &later{source: newSource(t)}
	src.queue.Visibility = 30 * time.Second
	src.extend = func(context.Context, []*consumer.Delivery, time.Duration) []error { return nil }
	return src, newConsumer(t, cfg, h).Open(src, o)
}

// What waits to be confirmed costs room, and no goroutine.
//
//nolint:paralleltest // it counts the goroutines of the process
func TestAcknowledge_NobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, s := openLater(t, unwatched(), script{}, consumer.SessionOptions{Capacity: 100})
		before := runtime.NumGoroutine()
		for i := range 100 {
			if err := s.Submit(t.Context(), delivery(strconv.Itoa(i), 1)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if more := runtime.NumGoroutine() - before; more > 5 { // the runtime has some of its own
			t.Errorf("%d goroutines more with 100 acknowledgements on their way", more)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Room(ctx, 1, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("there is room before anything is confirmed: %v", err)
		}
		src.confirm(nil)
		if !s.Idle() {
			t.Error("something is unsettled")
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, "settled otherwise", len(src.told()), 0)
		want(t, "taken over", len(src.taken), 100)
	})
}

// A context that a handler has waited for is let go with the message.
func TestAcknowledge_EndsTheHandlersContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ctx context.Context
		h := consumer.HandlerFunc(func(c context.Context, _ *consumer.Message) error {
			ctx = c //nolint:fatcontext // it is looked at afterwards
			_ = ctx.Done()
			return nil
		})
		src, s := openLater(t, unwatched(), h, consumer.SessionOptions{Beat: 10 * time.Second})
		d := delivery("a", 1)
		d.VisibleUntil = time.Now().Add(30 * time.Second)
		if err := s.Submit(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantErr(t, context.Cause(ctx), context.Canceled)
		src.confirm(nil)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAcknowledge_Unconfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		cfg := unwatched()
		cfg.Logger = log.logger()
		src, s := openLater(t, cfg, script{}, consumer.SessionOptions{})
		if err := s.Submit(t.Context(), delivery("a", 1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		src.confirm(errors.New("expired"))
		synctest.Wait()
		if !s.Idle() {
			t.Error("something is unsettled")
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		records := log.records(t)
		if len(records) != 1 || records[0]["level"] != "WARN" || records[0]["error"] != "expired" || records[0]["message_id"] != "a" {
			t.Errorf("log: %v", records)
		}
	})
}

// One that came once more meanwhile is acknowledged by the newer receipt too.
func TestAcknowledge_RedeliveredMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, s := openLater(t, unwatched(), script{}, consumer.SessionOptions{})
		for n := 1; n <= 2; n++ {
			if err := s.Submit(t.Context(), delivery("a", n)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		want(t, "taken over", src.taken, []string{"a#1"})
		src.confirm(nil)
		synctest.Wait()
		want(t, "settled then", src.receipts(), []string{"a#2"})
		if !s.Idle() {
			t.Error("something is unsettled")
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A confirmation that does not come holds nothing up for long, and changes nothing
// when it comes after all.
func TestAcknowledge_NeverConfirmed(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]error{"late": nil, "late, with an error": errTest} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				src, s := openLater(t, unwatched(), script{}, consumer.SessionOptions{})
				if err := s.Submit(t.Context(), delivery("a", 1)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				began := time.Now()
				if err := s.Close(timeout(t, 5*time.Second)); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took < 5*time.Second || took > 9*time.Second {
					t.Errorf("Close took %v", took)
				}
				src.confirm(late)
				synctest.Wait()
				want(t, "settled otherwise", len(src.told()), 0)
			})
		})
	}
}

func submitAndClose(t *testing.T, s *consumer.Session) {
	t.Helper()
	err := s.Submit(t.Context(), delivery("a", 1))
	synctest.Wait()
	if err = errors.Join(err, s.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

// Where there is more to it, Settle is called: for somebody who is told, and for
// what stays on the queue.
func TestAcknowledge_WhereThereIsMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		watched := unwatched()
		var events []consumer.EventKind
		watched.Observe = func(e consumer.Event) { events = append(events, e.Kind) }
		src, s := openLater(t, watched, script{}, consumer.SessionOptions{})
		submitAndClose(t, s)
		want(t, "receipts", src.receipts(), []string{"a#1"})
		want(t, "events", events, []consumer.EventKind{consumer.EventTry, consumer.EventOutcome})

		src, s = openLater(t, unwatched(), script{"a": fails}, consumer.SessionOptions{})
		submitAndClose(t, s)
		want(t, "receipts", src.receipts(), []string{"a#1"})
		want(t, "taken over", len(src.taken), 0)
	})
}
