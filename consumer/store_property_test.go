package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/retry"
)

const (
	worldBudget   = 3
	worldDeadline = 10 * time.Second // of an invocation
	worldHidden   = 15 * time.Second // the queue's visibility timeout
)

// world is one queue and one store, and several processes that work on them and
// die now and then.
type world struct {
	seed uint64
	st   *scripted

	mu         sync.Mutex
	messages   []*stay
	draws      map[string]int
	completed  map[string]bool // keys, as the store has recorded them
	unrecorded map[string]bool // messages whose outcome could not be written
	parked     map[string]bool // messages
	owners     map[string]map[string]bool
	busy       map[string]int // handlers by key, deaf ones left out
	faults     []string
	stats      map[string]int
}

// stay is a message in the queue.
type stay struct {
	id, key      string
	sent, hidden time.Time
	receives     int
	gone         bool
}

func (w *world) faultf(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// chance draws a number below 100 that depends on the seed, on what for, and on
// how often it was asked for that, but not on who comes first. w.mu is held.
func (w *world) chance(what string) int {
	w.draws[what]++
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, what, w.draws[what])
	return rand.New(rand.NewPCG(w.seed, h.Sum64())).IntN(100)
}

func (w *world) draw(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.chance(what)
}

func newWorld(seed uint64) *world {
	w := &world{
		seed: seed, st: newScripted(), draws: make(map[string]int),
		completed: make(map[string]bool), unrecorded: make(map[string]bool), parked: make(map[string]bool),
		owners: make(map[string]map[string]bool), busy: make(map[string]int), stats: make(map[string]int),
	}
	for i := range 12 {
		// Some of them are the same work, sent twice.
		w.send(fmt.Sprintf("m%d", i), fmt.Sprintf("k%d", i*w.chance("same")/100))
	}
	for _, op := range []string{"claim", "complete", "release"} {
		w.st.before[op] = func(_ context.Context, key string) error { return w.storeFails(op, key) }
		w.st.after[op] = func(_ context.Context, key string) error {
			if op == "complete" {
				w.noteCompleted(key)
			}
			return w.storeFails("lost "+op, key)
		}
	}
	return w
}

func (w *world) send(id, key string) {
	w.messages = append(w.messages, &stay{id: id, key: key, sent: time.Now(), hidden: time.Now()})
}

func (w *world) storeFails(op, key string) error {
	if w.draw(op+key) < 6 {
		return errStore
	}
	return nil
}

func (w *world) noteCompleted(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.completed[key] = true
}

// receive hands out up to five visible messages, some of them twice.
func (w *world) receive() (ds []*consumer.Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, i := range rand.New(rand.NewPCG(w.seed, uint64(time.Since(w.st.began)))).Perm(len(w.messages)) {
		m := w.messages[i]
		if m.gone || m.hidden.After(time.Now()) || len(ds) == 5 {
			continue
		}
		if m.hidden = time.Now().Add(worldHidden); w.chance("twice"+m.id) < 10 {
			m.hidden = time.Now()
		}
		m.receives++
		d := delivery(m.id, m.receives)
		d.Body, d.SentAt = m.key, m.sent
		ds = append(ds, d)
	}
	return ds
}

// left says whether there is anything in the queue.
func (w *world) left() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.messages {
		if !m.gone {
			return true
		}
	}
	return false
}

// handler does what the draw says.
func (w *world) handler() consumer.Handler {
	return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
		claim, _ := idempotency.FromContext(ctx)
		key := claim.Key()
		act := w.draw("act" + key)
		deaf := act >= 90
		w.enter(claim, deaf)
		defer w.leave(key, deaf)
		if deaf {
			time.Sleep(worldDeadline + time.Duration(act)*time.Second)
			return nil
		}
		if err := works(time.Duration(act) * 50 * time.Millisecond)(ctx); err != nil {
			return err
		}
		switch {
		case act < 25:
			return errTest
		case act < 33:
			return retry.Permanent(errTest)
		case act < 40:
			panic("boom")
		case act < 45:
			return works(time.Hour)(ctx) // until the deadline
		case act < 55:
			if transact(ctx, w.st) == nil {
				w.noteCompleted(key)
			}
			return errTest
		}
		return nil
	})
}

// enter checks what must hold when a handler is entered.
func (w *world) enter(c *idempotency.Claim, deaf bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := c.Key()
	if w.completed[key] {
		w.faultf("%s runs again although it is completed", key)
	}
	if w.busy[key] > 0 {
		w.faultf("%s runs twice at the same time", key)
	}
	if !deaf {
		w.busy[key]++
	}
	rec, _ := w.st.mem.Get(key)
	if rec.Owner != c.Owner() || rec.Attempts != c.Attempt() {
		w.faultf("%s runs as attempt %d of %s, and the record is %+v", key, c.Attempt(), c.Owner(), rec)
	}
	life := fmt.Sprint(key, " in life ", rec.Life)
	if w.owners[life] == nil {
		w.owners[life] = make(map[string]bool)
	}
	if w.owners[life][c.Owner()] = true; len(w.owners[life]) > worldBudget {
		w.faultf("%s has %d attempts", life, len(w.owners[life]))
	}
	w.stats["runs"]++
}

func (w *world) leave(key string, deaf bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !deaf {
		w.busy[key]--
	}
}

func (w *world) observe(e consumer.Event) {
	if e.Kind == consumer.EventUnrecorded {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.unrecorded[e.Message.ID] = true
	}
}

// Park fails now and then. The first copies are redriven: new messages with the
// same work.
func (w *world) Park(_ context.Context, _ consumer.Queue, o consumer.Outcome) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !errors.Is(o.Err, consumer.ErrAttempts) && !errors.Is(o.Err, idempotency.ErrExhausted) && !retry.IsPermanent(o.Err) {
		w.faultf("%s is parked because of %v", o.Delivery.ID, o.Err)
	}
	if rec, _ := w.st.mem.Get("w#id:" + o.Delivery.Body); errors.Is(o.Err, consumer.ErrAttempts) && rec.Attempts < worldBudget {
		w.faultf("%s is parked after %d attempts", o.Delivery.ID, rec.Attempts)
	}
	if w.chance("park"+o.Delivery.ID) < 20 {
		return errTest
	}
	if w.stats["parked"]++; len(w.messages) < 16 && !w.parked[o.Delivery.ID] {
		w.send(fmt.Sprintf("r%d", len(w.messages)), o.Delivery.Body)
	}
	w.parked[o.Delivery.ID] = true
	return nil
}
