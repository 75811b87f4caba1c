package sqstest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// groupLog records the order of bodies in each group, and overlaps of batches
// that hold the same group.
type groupLog struct {
	mu       sync.Mutex
	order    map[string][]string
	active   map[string]bool
	overlaps []string
	parallel int
	running  int
}

func newGroupLog() *groupLog {
	return &groupLog{order: make(map[string][]string), active: make(map[string]bool)}
}

func (g *groupLog) enter(e events.SQSEvent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running++
	g.parallel = max(g.parallel, g.running)
	inEvent := make(map[string]bool)
	for _, r := range e.Records {
		group := r.Attributes["MessageGroupId"]
		if g.active[group] && !inEvent[group] {
			g.overlaps = append(g.overlaps, r.Body)
		}
		inEvent[group], g.active[group] = true, true
		g.order[group] = append(g.order[group], r.Body)
	}
}

func (g *groupLog) leave(e events.SQSEvent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	for _, r := range e.Records {
		g.active[r.Attributes["MessageGroupId"]] = false
	}
}

// A batch may hold several groups; order inside each is kept and no two batches
// hold one group at once.
func TestFIFOGroups(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders.fifo", sqstest.QueueConfig{})
		want := make(map[string][]string)
		for i := range 12 {
			for _, group := range []string{"a", "b", "c"} {
				body := fmt.Sprint(group, i)
				q.SendGroup(group, body)
				want[group] = append(want[group], body)
			}
		}
		log := newGroupLog()
		h := handling(func(_ context.Context, e events.SQSEvent) ([]string, error) {
			log.enter(e)
			time.Sleep(time.Second)
			log.leave(e)
			return nil, nil
		})
		m := mapTo(t, s, q, sqstest.EventSourceConfig{Concurrency: 10, BatchSize: 4, Handler: h})
		m.drain()
		if diff := cmp.Diff(want, log.order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if len(log.overlaps) > 0 {
			t.Errorf("in two batches at once: %v", log.overlaps)
		}
		if log.parallel != 3 {
			t.Errorf("%d batches at once, want 3: one for each group", log.parallel)
		}
	})
}

func TestFIFOBatchOfSeveralGroups(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders.fifo", sqstest.QueueConfig{})
		q.SendGroup("a", "a1", "a2")
		q.SendGroup("b", "b1")
		var batches [][]string
		m := mapTo(t, s, q, sqstest.EventSourceConfig{Handler: handling(func(_ context.Context, e events.SQSEvent) ([]string, error) {
			batches = append(batches, recordBodies(e))
			return nil, nil
		})})
		m.drain()
		if diff := cmp.Diff([][]string{{"a1", "a2", "b1"}}, batches); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
	})
}

// The recorded course of a partial failure: 1 succeeds, 2 and 3 the second time,
// 4 never, and ends in the dead-letter queue.
func TestFIFOPartialFailure(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		dead := makeQueue(t, s, "dead.fifo", sqstest.QueueConfig{})
		q := makeQueue(t, s, "orders.fifo", sqstest.QueueConfig{DeadLetter: dead, MaxReceives: 2, Visibility: 30 * time.Second})
		q.SendGroup("1", "1:0", "2:1", "3:1", "4:2")
		var batches [][]string
		m := mapTo(t, s, q, sqstest.EventSourceConfig{Handler: handling(func(_ context.Context, e events.SQSEvent) ([]string, error) {
			batches = append(batches, recordBodies(e))
			var failed []string
			for _, r := range e.Records {
				if _, failures, _ := strings.Cut(r.Body, ":"); r.Attributes["ApproximateReceiveCount"] <= failures {
					failed = append(failed, r.MessageId)
				}
			}
			return failed, nil
		})})
		m.drain()
		want := [][]string{{"1:0", "2:1", "3:1", "4:2"}, {"2:1", "3:1", "4:2"}}
		if diff := cmp.Diff(want, batches); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
		if parked := dead.Messages(); len(parked) != 1 || parked[0].Body != "4:2" {
			t.Errorf("dead-letter queue has %v, want 4:2", parked)
		}
	})
}

// Work that outruns the visibility cannot be acknowledged on a FIFO queue.
func TestFIFODeleteAfterVisibility(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders.fifo", sqstest.QueueConfig{})
		id := q.SendGroup("a", "a1")[0]
		q2 := q // the handles expire while the function runs, as if its time had passed
		h := handling(func(context.Context, events.SQSEvent) ([]string, error) {
			q2.ExpireHandles(id)
			return nil, nil
		})
		v := invokeOnce(t, s, q, sqstest.EventSourceConfig{Handler: h})
		if err := v.DeleteErrors[id]; err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("DeleteErrors[%s] is %v, want an expired handle", id, err)
		}
		if diff := cmp.Diff([]string{id}, v.Kept); diff != "" || v.Failure != "" {
			t.Errorf("failure %q, kept (-want +got):\n%s", v.Failure, diff)
		}
	})
}

// What did not fit into the event is not invoked ahead of what failed.
func TestFIFOCutBatchKeepsOrder(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders.fifo", sqstest.QueueConfig{})
		q.SendGroup("a", "a1", "a2")
		q.SendGroup("b", "b1", "b2")
		var seen []string
		h := handling(func(_ context.Context, e events.SQSEvent) ([]string, error) {
			seen = append(seen, recordBodies(e)...)
			if len(seen) == 1 {
				return nil, errBoom
			}
			return nil, nil
		})
		m := mapTo(t, s, q, sqstest.EventSourceConfig{PayloadLimit: 1, Handler: h})
		m.drain()
		if diff := cmp.Diff([]string{"a1", "b1", "b2", "a1", "a2"}, seen); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}
