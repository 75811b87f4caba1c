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

// drained opens a session, submits, lets it run for a second and closes it with
// grace for what runs then. It returns what the source was told.
func drained(t *testing.T, src *source, cfg consumer.Config, h consumer.Handler, grace time.Duration, ids ...string) []consumer.Outcome {
	t.Helper()
	s := newConsumer(t, cfg, h).Open(src, consumer.SessionOptions{})
	if err := s.Submit(t.Context(), deliveries(ids...)...); err != nil {
		t.Error(err)
	}
	time.Sleep(time.Second)
	if err := s.Close(timeout(t, grace)); err != nil {
		t.Error(err)
	}
	var outs []consumer.Outcome
	for _, o := range src.told() {
		outs = append(outs, o.Outcome)
	}
	return outs
}

func TestDrain_WaitingIsDeferredAtOnceAndVisibleAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, cfg := newSource(t), steady(1)
		cfg.Concurrency = 1
		outs := drained(t, src, cfg, script{"a": sleeps(30 * time.Second)}, time.Minute, "a", "b", "c")
		wantOutcomes(t, outs, "b=deferred+0s", "c=deferred+0s", "a=done")
		wantErr(t, outs[0].Err, consumer.ErrDraining)
		want(t, "attempt", outs[0].Attempt, 0)
		want(t, "time of the deferral", src.told()[0].At, time.Second)
	})
}

func TestDrain_CutHandlerIsRefunded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outs := drained(t, newSource(t), steady(3), script{"a": works(time.Hour)}, 10*time.Second, "a")
		wantOutcomes(t, outs, "a=deferred+0s")
		wantErr(t, outs[0].Err, consumer.ErrDraining)
	})
}

func TestDrain_CutHandlerThatIsDoneAllTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := script{"a": func(ctx context.Context) error { <-ctx.Done(); return nil }}
		wantOutcomes(t, drained(t, newSource(t), steady(3), h, 10*time.Second, "a"), "a=done")
	})
}

func TestDrain_PermanentFailureOfACutHandlerCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := script{"a": func(ctx context.Context) error { <-ctx.Done(); return retry.Permanent(errTest) }}
		wantOutcomes(t, drained(t, newSource(t), steady(3), h, 10*time.Second, "a"), "a=rejected+4s")
	})
}

// The failure was the message's own; the drain only ended the wait after it.
func TestDrain_WaitAfterARealFailureIsNotRefunded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, cfg := newSource(t), steady(3)
		cfg.Retry.Backoff = retry.Constant(4 * time.Second)
		outs := drained(t, src, cfg, script{"a": fails}, time.Minute, "a")
		wantOutcomes(t, outs, "a=retry+10s")
		wantErr(t, outs[0].Err, errTest, consumer.ErrDraining)
		want(t, "attempt", outs[0].Attempt, 1)
		want(t, "end of the wait", src.told()[0].At, time.Second)
	})
}

func TestDrain_NextOfALaneDoesNotStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := script{"a1": sleeps(5 * time.Second), "b1": sleeps(6 * time.Second)}
		outs := drained(t, newFIFO(t), journaled(steady(1), j), h, time.Minute, "a1", "a2", "b1", "a3", "b2")
		wantOutcomes(t, outs, "a1=done", "a2=deferred+0s", "a3=deferred+0s", "b1=done", "b2=deferred+0s")
		want(t, "starts", j.starts(), []string{"a1@0s", "b1@0s"})
	})
}

func TestDrain_ParentContextEndsStartsWaitsAndHandlers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := steady(3)
		cfg.Concurrency = 2
		cfg.Retry.Backoff = retry.Constant(4 * time.Second)
		parent, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2*time.Second, func() { cancel(errStopped) })
		h := script{"a": works(time.Minute), "b": fails}
		begin := time.Now()
		outs := newConsumer(t, cfg, h).Process(parent, newSource(t), deliveries("a", "b", "c"))
		wantOutcomes(t, outs, "a=retry+10s", "b=retry+10s", "c=deferred+10s")
		for _, o := range outs {
			wantErr(t, o.Err, errStopped)
		}
		wantErr(t, outs[1].Err, errTest)
		want(t, "time", time.Since(begin), 2*time.Second)
	})
}

var errStopped = errors.New("stopped")
