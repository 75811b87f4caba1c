package consumer_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
)

// process is one process after the other: each takes batches until the queue is
// empty, or until it dies, between what it has told the store and what it should
// have told the queue.
func (w *world) process(t *testing.T, name string) {
	t.Helper()
	cfg := guardedBy(t, steady(1+int(w.seed%2)), w.st, idempotency.Config{Namespace: "w"})
	cfg.Redelivery.MaxAttempts, cfg.Observe, cfg.DeadLetter, cfg.Concurrency = worldBudget, w.observe, w, 8
	cfg.Key = func(m *consumer.Message) (consumer.Key, error) { return consumer.Key{Kind: "id", Value: m.Body}, nil }
	c := newConsumer(t, cfg, w.handler())
	for w.left() && time.Since(w.st.began) < 12*time.Hour {
		ds := w.receive()
		if len(ds) == 0 {
			time.Sleep(time.Second)
			continue
		}
		outs := c.Process(timeout2(t, worldDeadline), newSource(t), ds)
		if w.draw("dies"+name) < 15 {
			w.count("deaths")
			c = newConsumer(t, cfg, w.handler())
			continue
		}
		for _, o := range outs {
			w.apply(o)
		}
	}
}

func (w *world) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats[what]++
}

// apply does what SQS does with an outcome, and checks that nothing leaves the
// queue without completion or parking.
func (w *world) apply(o consumer.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats[o.Verdict.String()]++
	id, key := o.Delivery.ID, "w#id:"+o.Delivery.Body
	// By the record: another process can see a completion before the one that
	// wrote it has taken note of it here.
	rec, _ := w.st.mem.Get(key)
	completed := w.completed[key] || rec.Status == idempotency.Completed
	if o.Acknowledged() && !completed && !w.parked[id] && !w.unrecorded[id] {
		w.faultf("%s is %s, but neither completed nor parked", id, short(o))
	}
	if o.Verdict == consumer.VerdictDuplicate && !completed {
		w.faultf("%s is a duplicate of nothing", id)
	}
	if !o.Acknowledged() && o.Attempt == 0 && o.Tries > 0 {
		w.faultf("%s: %d tries in no attempt", id, o.Tries)
	}
	for _, m := range w.messages {
		switch {
		case m.id != id:
		case o.Acknowledged():
			m.gone = true
		case o.Delay >= 0:
			m.hidden = time.Now().Add(o.Delay)
		}
	}
}

// Processes work on one queue and one store. They die, their handlers hang, the
// store fails and loses responses, messages come twice, parking fails, and what
// was parked is redriven. Whatever happens: what is completed never runs again,
// nothing runs twice at once, no message is acknowledged that is neither
// completed nor parked, and no life has more attempts than its budget. In the
// end the queue is empty.
func TestStore_PropertyAnyScheduleOfProcesses(t *testing.T) {
	t.Parallel()
	seeds := uint64(300)
	if testing.Short() {
		seeds = 50
	}
	total := make(map[string]int)
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(seed)
			var wg sync.WaitGroup
			for i := range 2 + int(seed%3) {
				wg.Go(func() { w.process(t, fmt.Sprint("p", i)) })
			}
			wg.Wait()
			time.Sleep(time.Hour) // the deaf ones return
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, fault := range w.faults {
				t.Errorf("seed %d: %s", seed, fault)
			}
			for _, m := range w.messages {
				if !m.gone {
					t.Errorf("seed %d: %s (%s) is still there after %d receives", seed, m.id, m.key, m.receives)
				}
			}
			for what, n := range w.stats {
				total[what] += n
			}
		})
	}
	// Everything that can happen has.
	for _, what := range []string{"runs", "deaths", "parked", "done", "duplicate", "retry", "deferred"} {
		if total[what] < int(seeds) {
			t.Errorf("%d seeds, but only %d %s", seeds, total[what], what)
		}
	}
}
