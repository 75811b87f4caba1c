package consumer_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/retry"
)

// The work is done: the message goes, whatever becomes of the record.
func TestStore_CompletingFailsAlthoughTheWorkIsDone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sabotage func(st *scripted)
		took     time.Duration
		status   string
	}{
		"fails":         {func(st *scripted) { st.before["complete"] = answers(errStore) }, 0, "in_progress"},
		"blocks":        {func(st *scripted) { st.before["complete"] = blocks }, 5 * time.Second, "in_progress"},
		"response lost": {func(st *scripted) { st.after["complete"] = answers(errStore) }, 0, "completed"},
		"taken over":    {func(st *scripted) { st.before["complete"] = answers(idempotency.ErrLost) }, 0, "in_progress"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log lines
				var events unrecorded
				st, src, begin := newScripted(), newSource(t), time.Now()
				tt.sabotage(st)
				cfg := guarded(t, steady(3), st)
				cfg.Logger, cfg.Observe = log.logger(), events.observe
				outs := newConsumer(t, cfg, script{}).Process(t.Context(), src, deliveries("a"))
				wantOutcomes(t, outs, "a=done")
				want(t, "tries", outs[0].Tries, 1)
				want(t, "acknowledged", src.receipts(), []string{"a#1"})
				want(t, "time", time.Since(begin), tt.took)
				want(t, "asked", st.asked(), []string{"claim a", "complete a"})
				want(t, "status", st.record("a").Status.String(), tt.status)
				want(t, "events", len(events.events), 1)
				e := events.events[0]
				want(t, "event", short(e.Outcome)+" "+e.Message.ID+" "+e.Queue, "a=done a "+standardARN)
				if e.Err == nil || !strings.Contains(log.String(), `"level":"WARN"`) || !strings.Contains(log.String(), "not recorded") {
					t.Errorf("event says %v, log:\n%s", e.Err, log.String())
				}
			})
		})
	}
}

// A failure that cannot be recorded holds the key until the lease ends, and
// counts.
func TestStore_ReleasingFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var events unrecorded
		st := newScripted()
		st.before["release"] = answers(errStore)
		cfg := guardedBy(t, steady(1), st, idempotency.Config{Lease: 30 * time.Second})
		cfg.Observe = events.observe
		want(t, "outcome", short(outcome(t, cfg, script{"a": fails}, delivery("a", 1))), "a=retry+10s")
		want(t, "events", len(events.events), 1)
		time.Sleep(10 * time.Second)
		want(t, "back", short(outcome(t, cfg, never(t), delivery("a", 2))), "a=deferred+21s")
		time.Sleep(21*time.Second + time.Millisecond)
		o := outcome(t, cfg, script{}, delivery("a", 3))
		want(t, "after the lease", short(o), "a=done")
		want(t, "attempt", o.Attempt, 2)
	})
}

// Someone has taken the key over without our knowledge: his is the message now,
// and it is neither parked nor made visible under his hands.
func TestStore_ReleasingFindsThatTheKeyWasTakenOver(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(context.Context) error{
		"failure": fails, "permanent": always(retry.Permanent(errTest)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := newScripted()
				cfg := guardedBy(t, steady(1), st, idempotency.Config{Lease: 10 * time.Second})
				cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error {
					t.Error("parked")
					return nil
				})
				h := script{"a": func(ctx context.Context) error {
					time.Sleep(12 * time.Second)
					elsewhere(t, st, "a", time.Now().Add(time.Minute))
					return do(ctx)
				}}
				want(t, "outcome", short(outcome(t, cfg, h, delivery("a", 1))), "a=retry-")
				st.wantRecord(t, "a", state{"in_progress", 2, ""})
			})
		})
	}
}

// A transaction of the handler's landed, and its response was lost: the handler
// reports a failure, and the release finds that the work is done.
func TestStore_ReleaseThatFindsTheWorkCompleted(t *testing.T) {
	t.Parallel()
	landed := func(st *scripted, ctx context.Context) {
		c, _ := idempotency.FromContext(ctx)
		if err := st.mem.Complete(ctx, c.Key(), c.Owner(), c.Expiry()); err != nil {
			panic(err)
		}
	}
	for name, fail := range map[string]func() error{
		"failure":   func() error { return errTest },
		"permanent": func() error { return retry.Permanent(errTest) },
		"panic":     func() error { panic("boom") },
		"last":      func() error { return retry.After(time.Hour, errTest) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := newScripted()
				cfg := budgeted(t, st, 1)
				cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error {
					t.Error("parked")
					return nil
				})
				o := outcome(t, cfg, script{"a": func(ctx context.Context) error { landed(st, ctx); return fail() }}, delivery("a", 1))
				want(t, "outcome", short(o), "a=done")
				want(t, "error", o.Err, nil)
				want(t, "asked", st.asked(), []string{"claim a", "release a"})
				want(t, "next delivery", short(outcome(t, cfg, never(t), delivery("a", 2))), "a=duplicate")
			})
		})
	}
	t.Run("drain", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			st := newScripted()
			h := script{"a": func(ctx context.Context) error { landed(st, ctx); return works(time.Hour)(ctx) }}
			wantOutcomes(t, drained(t, newSource(t), guarded(t, steady(3), st), h, 10*time.Second, "a"), "a=done")
		})
	})
}

// diary is what happened to a message, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

// Dying between any two of them must lose nothing: the record comes first, then
// the copy, then the acknowledgement.
func TestStore_RecordThenParkThenSettle(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(context.Context) error
		park error
		want string
	}{
		"done":           {steps(), nil, "claim, handler, complete, settle done"},
		"rejected":       {always(retry.Permanent(errTest)), nil, "claim, handler, release, park, settle rejected"},
		"parking failed": {always(retry.Permanent(errTest)), errTest, "claim, handler, release, park, settle rejected"},
		"retry":          {fails, nil, "claim, handler, release, settle retry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var d diary
				st, cfg := newScripted(), steady(1)
				for _, op := range []string{"claim", "complete", "release"} {
					st.after[op] = func(context.Context, string) error { time.Sleep(time.Second); d.add(op); return nil }
				}
				cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error {
					time.Sleep(time.Second)
					d.add("park")
					return tt.park
				})
				h := script{"a": func(ctx context.Context) error { d.add("handler"); return tt.do(ctx) }}
				newConsumer(t, guarded(t, cfg, st), h).Process(t.Context(), settleDiary{newSource(t), &d}, deliveries("a"))
				want(t, "order", strings.Join(d.lines, ", "), tt.want)
			})
		})
	}
}

type settleDiary struct {
	*source
	d *diary
}

func (s settleDiary) Settle(ctx context.Context, os []consumer.Outcome) []error {
	for _, o := range os {
		s.d.add("settle " + o.Verdict.String())
	}
	return s.source.Settle(ctx, os)
}

// Recording has a context of its own, which outlives the handler's and ends
// before the host must have answered.
func TestStore_RecordingOutlivesTheHandlerButNotTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, begin := newScripted(), time.Now()
		var ended time.Duration
		st.before["release"] = func(ctx context.Context, _ string) error {
			<-ctx.Done()
			ended = time.Since(begin)
			return errors.New("cut")
		}
		c := newConsumer(t, guarded(t, steady(1), st), script{"a": works(time.Hour)})
		outs := c.Process(timeout(t, 10*time.Second), newSource(t), deliveries("a"))
		wantOutcomes(t, outs, "a=retry+10s")
		want(t, "end of recording", ended, 9900*time.Millisecond)
	})
}

// What a message costs, in operations of the store.
func TestStore_Writes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		cfg := budgeted(t, st, 2)
		elsewhere(t, st.mem, "held", time.Now().Add(time.Hour))
		transact := func(ctx context.Context) error {
			c, _ := idempotency.FromContext(ctx)
			defer c.MarkCompleted()
			return st.mem.Complete(ctx, c.Key(), c.Owner(), c.Expiry()) // the transaction itself
		}
		h := script{"retried": fails, "transact": transact}
		for _, tt := range []struct {
			what, id string
			life     int64
			ops      []string
		}{
			{"first run", "done", 1, []string{"claim done", "complete done"}},
			{"duplicate", "done", 1, []string{"claim done"}},
			{"held", "held", 0, []string{"claim held"}},
			{"with Transact", "transact", 1, []string{"claim transact"}},
			{"failure", "retried", 1, []string{"claim retried", "release retried"}},
			{"retry attempt", "retried", 1, []string{"claim retried", "release retried"}},
			{"exhausted", "retried", 1, []string{"claim retried"}},
			{"new life", "retried", 2, []string{"claim retried", "release retried"}},
		} {
			d := delivery(tt.id, 1)
			if tt.life > 0 {
				d.SentAt = time.UnixMilli(tt.life)
			}
			outcome(t, cfg, h, d)
			want(t, tt.what, st.asked(), tt.ops)
		}
	})
}
