package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

// scenario is a random batch with everything that can happen to it.
type scenario struct {
	fifo, atOnce bool
	ids          []string // repeated ones are duplicates
	acts         map[string]act
	unconfirmed  string // the message whose acknowledgement fails
	hangs        bool   // and not before an hour has passed
	parking      string // of the dead-letter queue; "" for none
	concurrency  int
	tryTimeout   time.Duration
	deadline     time.Duration // 0: none, and Close cuts after grace
	grace        time.Duration
	capacity     int
}

// act is what the handler does with a message.
type act struct {
	kind  string
	takes time.Duration
	fails int // tries before it does that
}

var actKinds = []string{"ok", "ok", "ok", "err", "permanent", "panic", "goexit", "deaf", "heeds", "invalid"}

func anyScenario(rt *rapid.T) scenario {
	s := scenario{
		fifo: rapid.Bool().Draw(rt, "fifo"), atOnce: rapid.Bool().Draw(rt, "atOnce"),
		acts:        make(map[string]act),
		parking:     rapid.SampledFrom([]string{"", "ok", "fails", "hangs", "panics"}).Draw(rt, "parking"),
		concurrency: rapid.IntRange(1, 5).Draw(rt, "concurrency"),
		tryTimeout:  time.Duration(rapid.SampledFrom([]int{0, 0, 3}).Draw(rt, "tryTimeout")) * time.Second,
		deadline:    time.Duration(rapid.IntRange(0, 40).Draw(rt, "deadline")) * time.Second,
		grace:       time.Duration(rapid.IntRange(0, 40).Draw(rt, "grace")) * time.Second,
		capacity:    rapid.IntRange(0, 6).Draw(rt, "capacity"),
	}
	for i := range rapid.IntRange(1, 25).Draw(rt, "messages") {
		if i > 0 && rapid.IntRange(0, 6).Draw(rt, "duplicate") == 0 {
			s.ids = append(s.ids, rapid.SampledFrom(s.ids).Draw(rt, "of"))
			continue
		}
		id := fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "group"), i)
		s.ids = append(s.ids, id)
		s.acts[id] = act{
			kind:  rapid.SampledFrom(actKinds).Draw(rt, "act"),
			takes: time.Duration(rapid.IntRange(0, 7_000).Draw(rt, "ms")) * time.Millisecond,
			fails: rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(rt, "fails"),
		}
	}
	if rapid.IntRange(0, 3).Draw(rt, "unconfirmed") == 0 {
		s.unconfirmed = rapid.SampledFrom(s.ids).Draw(rt, "which")
		s.hangs = s.deadline > 0 && rapid.Bool().Draw(rt, "hangs")
	}
	return s
}

// witness is what was seen of a scenario.
type witness struct {
	mu        sync.Mutex
	tries     map[string]int
	succeeded map[string]bool
	parked    map[string]bool
	running   map[string]int // by message, and by group
	order     map[string][]string
	now, most int
	outcomes  []consumer.Outcome
	faults    []string
}

func (w *witness) faultf(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *witness) enter(m *consumer.Message, fifo bool) (try int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tries[m.ID]++
	if w.tries[m.ID] == 1 {
		w.order[m.GroupID] = append(w.order[m.GroupID], m.ID)
	}
	w.now++
	w.most = max(w.most, w.now)
	if w.running[m.ID]++; w.running[m.ID] > 1 {
		w.faultf("%s runs twice at the same time", m.ID)
	}
	if w.running["group "+m.GroupID]++; fifo && w.running["group "+m.GroupID] > 1 {
		w.faultf("group %s runs twice at the same time", m.GroupID)
	}
	return w.tries[m.ID]
}

func (w *witness) leave(m *consumer.Message, ok *bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now--
	w.running[m.ID]--
	w.running["group "+m.GroupID]--
	w.succeeded[m.ID] = w.succeeded[m.ID] || *ok
}

func (w *witness) observe(e consumer.Event) {
	if e.Kind == consumer.EventOutcome {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.outcomes = append(w.outcomes, e.Outcome)
	}
}

// handler does what the scenario says.
func (s scenario) handler(w *witness) consumer.Handler {
	return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) (err error) {
		ok, try := false, w.enter(m, s.fifo)
		defer w.leave(m, &ok)
		a, known := s.acts[m.ID]
		if !known {
			time.Sleep(time.Second)
			return nil
		}
		if a.kind != "deaf" {
			select {
			case <-time.After(a.takes):
			case <-ctx.Done():
				if a.kind == "heeds" {
					return context.Cause(ctx)
				}
			}
		}
		if try <= a.fails {
			return errTest
		}
		switch a.kind {
		case "err":
			return errTest
		case "permanent":
			return fmt.Errorf("order: %w", retry.Permanent(errTest))
		case "panic":
			panic("boom")
		case "goexit":
			runtime.Goexit()
		case "deaf":
			time.Sleep(time.Hour)
		}
		ok = true
		return nil
	})
}

func (s scenario) deadLetter(w *witness) consumer.DeadLetter {
	if s.parking == "" {
		return nil
	}
	return parkFunc(func(ctx context.Context, o consumer.Outcome) error {
		switch s.parking {
		case "fails":
			return errors.New("full")
		case "hangs":
			<-ctx.Done()
			return context.Cause(ctx)
		case "panics":
			panic("park")
		}
		time.Sleep(500 * time.Millisecond)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.parked[o.Delivery.ID] = true
		return nil
	})
}

func (s scenario) deliveries() []*consumer.Delivery {
	ds := deliveries(s.ids...)
	for i, d := range ds {
		d.ReceiveCount = 1 + i%3
		if s.acts[d.ID].kind == "invalid" {
			d.Invalid = errors.New("undecodable")
		}
	}
	return ds
}

// run plays the scenario and returns the outcomes of a batch, nil where it was
// submitted piece by piece.
func (s scenario) run(t *testing.T, c *consumer.Consumer, w *witness) []consumer.Outcome {
	t.Helper()
	src, o := newSource(t), consumer.SessionOptions{SettlesAtOnce: s.atOnce}
	if s.fifo {
		src = newFIFO(t)
	}
	src.ack = func(_ context.Context, o consumer.Outcome) error {
		if !s.atOnce {
			time.Sleep(200 * time.Millisecond)
		}
		if o.Delivery.ID == s.unconfirmed {
			if s.hangs {
				time.Sleep(time.Hour)
			}
			return errors.New("expired")
		}
		return nil
	}
	if s.deadline > 0 {
		begin := time.Now()
		o.Context = timeout(t, s.deadline)
		outs := c.Open(src, o).Run(s.deliveries())
		if took := time.Since(begin); took > s.deadline-20*time.Millisecond {
			w.faultf("Run took %v of %v", took, s.deadline)
		}
		return outs
	}
	o.Capacity = s.capacity
	session := c.Open(src, o)
	for _, d := range s.deliveries() {
		if err := session.Submit(timeout2(t, 20*time.Second), d); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			w.faultf("Submit: %v", err)
		}
	}
	if err := session.Close(timeout2(t, s.grace)); err != nil {
		w.faultf("Close: %v", err)
	}
	return nil
}

func TestProperty_AnyBatchKeepsTheInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := anyScenario(rt)
		w := &witness{
			tries: make(map[string]int), succeeded: make(map[string]bool), parked: make(map[string]bool),
			running: make(map[string]int), order: make(map[string][]string),
		}
		synctest.Test(t, func(t *testing.T) {
			cfg := steady(3)
			cfg.Concurrency, cfg.TryTimeout, cfg.Observe, cfg.DeadLetter = s.concurrency, s.tryTimeout, w.observe, s.deadLetter(w)
			c := newConsumer(t, cfg, s.handler(w))
			outs := s.run(t, c, w)
			synctest.Wait()
			w.mu.Lock()
			w.check(s, outs)
			w.mu.Unlock()
			time.Sleep(200 * time.Hour) // the deaf ones return
			w.checkSlots(t, s, c)
		})
		for _, fault := range w.faults {
			rt.Error(fault)
		}
	})
}
