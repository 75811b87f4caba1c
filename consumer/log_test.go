package consumer_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

const marker = "s3cr3t"

// records decodes the lines of a log and drops what differs from run to run.
func (l *lines) records(t *testing.T) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(l.String()) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		delete(r, "time")
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b map[string]any) int {
		return cmpString(a["message_id"].(string), b["message_id"].(string))
	})
	return all
}

func TestLog_OneLinePerOutcomeThatIsNotDoneAndNeverABody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		cfg := steady(1)
		cfg.Logger = log.logger()
		cfg.DeadLetter = parkFunc(func(_ context.Context, o consumer.Outcome) error {
			if o.Delivery.ID == "f1" {
				return errors.New("full")
			}
			return nil
		})
		h := script{
			"a2": fails, "b1": always(retry.Permanent(errTest)), "c1": perform("panic"), "d1": perform("goexit"),
			"f1": always(retry.Permanent(errTest)), "g1": sleeps(time.Hour),
		}
		ds := deliveries("a1", "a2", "a3", "b1", "c1", "d1", "e1", "f1", "g1")
		ds[6].Invalid = errors.New("undecodable")
		for _, d := range ds {
			d.Body = marker
			d.Attributes = map[string]consumer.Attribute{"k": {DataType: "String", StringValue: marker}}
		}
		newConsumer(t, cfg, h).Process(timeout(t, time.Minute), newFIFO(t), ds)
		checkLog(t, log.records(t))
		if strings.Contains(log.String(), marker) {
			t.Error("the log has a body or an attribute in it")
		}
		time.Sleep(2 * time.Hour)
	})
}

func checkLog(t *testing.T, got []map[string]any) {
	t.Helper()
	base := func(id, level, verdict string, attempt int, extra map[string]any) map[string]any {
		r := map[string]any{
			"level": level, "msg": "message not done", "queue": fifoARN, "message_id": id, "receives": 1.0,
			"verdict": verdict, "attempt": float64(attempt), "tries": float64(attempt),
		}
		maps.Copy(r, extra)
		return r
	}
	const gaveUp = " (gave up after 1 try: all tries were used)"
	wanted := []map[string]any{
		base("a2", "WARN", "retry", 1, map[string]any{"delay": 10e9, "error": "declined" + gaveUp}),
		base("a3", "INFO", "deferred", 0, map[string]any{"delay": 12e9, "error": "an earlier message of the group was not finished (message a2)"}),
		base("b1", "ERROR", "rejected", 1, map[string]any{"parked": true, "error": "declined"}),
		base("c1", "WARN", "retry", 1, map[string]any{"delay": 10e9, "error": "the handler panicked: boom" + gaveUp}),
		base("d1", "WARN", "retry", 1, map[string]any{"delay": 10e9, "error": "the handler called runtime.Goexit" + gaveUp}),
		base("e1", "ERROR", "rejected", 0, map[string]any{"delay": 4e9, "error": "undecodable"}),
		base("f1", "ERROR", "rejected", 1, map[string]any{"delay": 4e9, "error": "declined (parking failed: full)"}),
		base("g1", "WARN", "retry", 1, map[string]any{
			"error": "the handler did not return when its context ended: the deadline of the invocation is near",
		}),
	}
	for _, r := range got {
		stack, has := r["stack"].(string)
		if id := r["message_id"]; has != (id == "c1" || id == "d1") || has && !strings.Contains(stack, "recover_test.go") {
			t.Errorf("%v: stack: %q", id, stack)
		}
		delete(r, "stack")
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestLog_NothingForDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		cfg := steady(3)
		cfg.Logger = log.logger()
		newConsumer(t, cfg, script{"a": steps(errTest)}).Process(t.Context(), newSource(t), deliveries("a", "b"))
		want(t, "log", log.String(), "")
	})
}

func TestLog_WarnsWhenReceivesAreUsedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		cfg, src := steady(1), newSource(t)
		cfg.Logger = log.logger()
		src.queue.MaxReceives = 3
		ds := []*consumer.Delivery{delivery("a", 2), delivery("b", 3), delivery("c", 3)}
		newConsumer(t, cfg, script{"a": fails, "b": fails}).Process(t.Context(), src, ds)
		records := log.records(t)
		if len(records) != 2 || records[0]["warning"] != nil || records[1]["warning"] == nil {
			t.Errorf("log: %v", records)
		}
	})
}

// What is not written below some level is written if it is somebody's last chance.
func TestLog_RaisesTheLevelWhenReceivesAreUsedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		cfg, src := steady(1), newSource(t)
		cfg.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		src.queue.MaxReceives = 3
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ds := []*consumer.Delivery{delivery("a", 2), delivery("b", 3)}
		wantOutcomes(t, newConsumer(t, cfg, script{}).Process(ctx, src, ds), "a=deferred+10s", "b=deferred+10s")
		records := log.records(t)
		if len(records) != 1 || records[0]["message_id"] != "b" || records[0]["level"] != "WARN" {
			t.Errorf("log: %v", records)
		}
	})
}

func TestLog_SaysWhenAnAcknowledgementIsUnconfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		cfg, src := steady(1), newSource(t)
		cfg.Logger = log.logger()
		src.ack = func(context.Context, consumer.Outcome) error { return errors.New("expired") }
		wantOutcomes(t, newConsumer(t, cfg, script{}).Process(t.Context(), src, deliveries("a")), "a=done")
		records := log.records(t)
		if len(records) != 1 || records[0]["level"] != "WARN" || records[0]["error"] != "expired" || records[0]["message_id"] != "a" {
			t.Errorf("log: %v", records)
		}
	})
}

func TestAttempt_OfAMessageThatIsNotRun(t *testing.T) {
	t.Parallel()
	n, limit := (&consumer.Message{ReceiveCount: 3}).Attempt()
	want(t, "attempt", n, 3)
	want(t, "limit", limit, 0)
}

func TestAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		src.queue.MaxReceives = 5
		type attempt struct{ n, max int }
		got := map[string]attempt{}
		h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
			n, limit := m.Attempt()
			got[m.ID] = attempt{n, limit}
			return nil
		})
		cfg := steady(1)
		cfg.Concurrency = 1
		c := newConsumer(t, cfg, h)
		c.Process(t.Context(), src, []*consumer.Delivery{delivery("a", 1), delivery("b", 4), delivery("c", 0)})
		c.Process(t.Context(), newSource(t), []*consumer.Delivery{delivery("d", 7)})
		if diff := cmp.Diff(map[string]attempt{"a": {1, 5}, "b": {4, 5}, "c": {1, 5}, "d": {7, 0}}, got, cmp.AllowUnexported(attempt{})); diff != "" {
			t.Error(diff) // the host of d does not know
		}
	})
}
