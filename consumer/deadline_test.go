package consumer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

func TestDeadline_ReserveArithmetic(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		timeout, reserve, handlersEnd time.Duration
	}{
		{time.Minute, 0, 58 * time.Second}, // default: 2 s
		{time.Minute, 10 * time.Second, 50 * time.Second},
		{time.Minute, 40 * time.Second, 45 * time.Second}, // a quarter at most
		{3 * time.Second, 0, 2250 * time.Millisecond},
		{time.Second, 0, 750 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%v-%v", tt.timeout, tt.reserve), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin, entered := time.Now(), false
				h := script{"a": func(ctx context.Context) error {
					end, ok := ctx.Deadline()
					want(t, "deadline of the handler", end.Sub(begin), tt.handlersEnd)
					<-ctx.Done()
					want(t, "end of the handler", time.Since(begin), tt.handlersEnd)
					entered = ok
					return nil
				}}
				s := newConsumer(t, steady(1), h).Open(newSource(t), consumer.SessionOptions{
					Context: timeout(t, tt.timeout), Reserve: tt.reserve,
				})
				wantOutcomes(t, s.Run(deliveries("a")), "a=done")
				if !entered {
					t.Error("the handler was not entered, or without a deadline")
				}
			})
		})
	}
}

func TestDeadline_NegativeReserveIsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		h := script{"a": func(ctx context.Context) error {
			end, _ := ctx.Deadline()
			want(t, "deadline of the handler", end.Sub(begin), time.Minute)
			return nil
		}}
		s := newConsumer(t, steady(1), h).Open(newSource(t), consumer.SessionOptions{Context: timeout(t, time.Minute), Reserve: -1})
		wantOutcomes(t, s.Run(deliveries("a")), "a=done")
	})
}

func TestDeadline_EarlierOneOfTheContextIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin, cause := time.Now(), error(nil)
		h := script{"a": func(ctx context.Context) error {
			end, _ := ctx.Deadline()
			want(t, "deadline of the handler", end.Sub(begin), 10*time.Second)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil
		}}
		s := newConsumer(t, steady(1), h).Open(newSource(t), consumer.SessionOptions{
			Context: timeout(t, 10*time.Second), Deadline: begin.Add(time.Hour),
		})
		wantOutcomes(t, s.Run(deliveries("a")), "a=done")
		want(t, "end", time.Since(begin), 10*time.Second)
		wantErr(t, cause, context.DeadlineExceeded)
	})
}

func TestDeadline_OptionGoesBeforeTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		h := script{"a": func(ctx context.Context) error { <-ctx.Done(); return nil }}
		s := newConsumer(t, steady(1), h).Open(newSource(t), consumer.SessionOptions{
			Context: timeout(t, time.Hour), Deadline: begin.Add(10 * time.Second), Reserve: time.Second,
		})
		wantOutcomes(t, s.Run(deliveries("a")), "a=done")
		want(t, "end", time.Since(begin), 9*time.Second)
	})
}

func TestDeadline_PassedMeansNothingStarts(t *testing.T) {
	t.Parallel()
	for second, src := range map[string]func(testing.TB) *source{"a2=deferred+10s": newSource, "a2=deferred+12s": newFIFO} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			outs := newConsumer(t, journaled(steady(1), j), script{}).Process(timeout(t, -time.Second), src(t), deliveries("a1", "a2"))
			wantOutcomes(t, outs, "a1=deferred+10s", second)
			want(t, "calls", len(j.starts()), 0)
			wantErr(t, outs[0].Err, consumer.ErrDeadline)
			want(t, "attempt", outs[0].Attempt, 0)
		})
	}
}

// Handlers end at 10 s here. A start needs a second, or a tenth of the whole, or
// TryTimeout, whichever is the least.
func TestDeadline_NothingStartsInLastTenth(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		timeout, tryTimeout, busy time.Duration
		starts                    bool
	}{
		{12 * time.Second, 0, 8900 * time.Millisecond, true},
		{12 * time.Second, 0, 9100 * time.Millisecond, false},
		{102 * time.Second, 0, 98900 * time.Millisecond, true}, // a second, not a tenth
		{102 * time.Second, 0, 99100 * time.Millisecond, false},
		{12 * time.Second, 200 * time.Millisecond, 9700 * time.Millisecond, true},
		{12 * time.Second, 200 * time.Millisecond, 9900 * time.Millisecond, false},
		{12 * time.Second, 3 * time.Second, 8900 * time.Millisecond, true}, // a tenth, not TryTimeout
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := steady(1)
				cfg.Concurrency, cfg.TryTimeout = 1, tt.tryTimeout
				outs := newConsumer(t, cfg, script{"a": sleeps(tt.busy)}).Process(timeout(t, tt.timeout), newSource(t), deliveries("a", "b"))
				if tt.starts {
					wantOutcomes(t, outs, "a=done", "b=done")
					return
				}
				wantOutcomes(t, outs, "a=done", "b=deferred+10s")
				wantErr(t, outs[1].Err, consumer.ErrDeadline)
			})
		})
	}
}

func TestDeadline_DeferredByReceiveCountAndNeverAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := steady(1)
		cfg.Redelivery.Backoff = func(n int) time.Duration { return time.Duration(n-1) * time.Minute }
		ds := deliveries("a", "b", "c")
		ds[1].ReceiveCount, ds[2].ReceiveCount = 3, 0
		outs := newConsumer(t, cfg, script{}).Process(timeout(t, -1), newSource(t), ds)
		wantOutcomes(t, outs, "a=deferred+1s", "b=deferred+2m0s", "c=deferred+1s")
	})
}

func TestDeadline_HandlerHonouringContextIsJoinedAndItsNilCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		tidy := func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(900 * time.Millisecond) // still within half the reserve
			return nil
		}
		outs := newConsumer(t, steady(3), script{"a": tidy}).Process(timeout(t, 10*time.Second), newSource(t), deliveries("a"))
		wantOutcomes(t, outs, "a=done")
		want(t, "end", time.Since(begin), 8900*time.Millisecond)
	})
}

func TestDeadline_CutCountsAsAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outs := newConsumer(t, steady(3), script{"a": works(time.Minute)}).Process(timeout(t, 10*time.Second), newSource(t), deliveries("a"))
		wantOutcomes(t, outs, "a=retry+10s")
		want(t, "attempt", outs[0].Attempt, 1)
		want(t, "tries", outs[0].Tries, 1)
		wantErr(t, outs[0].Err, consumer.ErrDeadline)
	})
}

func TestDeadline_WaitThatDoesNotFitIsNotBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		cfg := steady(5)
		cfg.Retry.Backoff = func(n int) time.Duration { return time.Second << (n - 1) } // 1, 2, 4 s
		cfg.Retry.MaxWait = time.Minute
		outs := newConsumer(t, cfg, script{"a": fails}).Process(timeout(t, 8*time.Second), newSource(t), deliveries("a", "b"))
		wantOutcomes(t, outs, "a=retry+10s", "b=done")
		want(t, "tries", outs[0].Tries, 3) // at 0, 1 and 3 s; the next would be at 7, after the last start
		want(t, "end", time.Since(begin), 3*time.Second)
		wantErr(t, outs[0].Err, errTest)
	})
}

func TestDeadline_HandlersSeeWhyTheirContextEnded(t *testing.T) {
	t.Parallel()
	type key struct{}
	for name, tt := range map[string]struct {
		timeout time.Duration
		cause   error
		end     func(cancel context.CancelCauseFunc, closing context.CancelFunc)
	}{
		"deadline": {10 * time.Second, consumer.ErrDeadline, func(context.CancelCauseFunc, context.CancelFunc) {}},
		"draining": {time.Hour, consumer.ErrDraining, func(_ context.CancelCauseFunc, closing context.CancelFunc) { closing() }},
		"parent":   {time.Hour, errTest, func(cancel context.CancelCauseFunc, _ context.CancelFunc) { cancel(errTest) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancelCause(context.WithValue(timeout(t, tt.timeout), key{}, "v"))
				defer cancel(nil)
				var cause error
				h := script{"a": func(ctx context.Context) error {
					want(t, "value of the parent", ctx.Value(key{}), any("v"))
					<-ctx.Done()
					cause = context.Cause(ctx)
					return nil
				}}
				s := newConsumer(t, steady(1), h).Open(newSource(t), consumer.SessionOptions{Context: parent})
				if err := s.Submit(t.Context(), deliveries("a")...); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second)
				closing, begin := context.WithCancel(t.Context())
				defer begin()
				tt.end(cancel, begin)
				if err := s.Close(closing); err != nil {
					t.Error(err)
				}
				wantErr(t, cause, tt.cause)
			})
		})
	}
}
