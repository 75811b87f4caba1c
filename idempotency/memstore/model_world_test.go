package memstore_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

// The model check: a few workers, one key, and everything that can go wrong, in
// virtual time. The world keeps the truth, without looking at records; workers
// do what a consumer does (model_worker_test.go), each with a clock of its own
// and a wire that loses things (model_wire_test.go). What must never happen is
// checked the moment it would.

const (
	modelBudget = 3
	modelLease  = 5 * time.Second
	modelBeat   = 2 * time.Second
)

// delivered is a message that carries the work: the first one, one redriven, or
// the same work sent again.
type delivered struct {
	life   int64
	acked  bool
	parked bool
}

// world is what is true, by a clock that nobody has. The lock is never held
// while anything waits: the stores under it do not block.
type world struct {
	mu         sync.Mutex
	store      idempotency.Store
	violations []string
	seen       map[string]int

	messages []*delivered
	effects  int // how often the work was done

	// Who works, and until when each believes to be alone.
	holding map[*worker]time.Time

	// What the key is, after all writes that were accepted.
	owner   string    // who claimed last
	held    bool      // and has neither completed nor released
	exists  bool      // a claim was ever accepted
	expires time.Time // as last written
	done    bool      // completed
	life    int64
	runs    int             // handlers entered in this life, refunds taken off
	entered map[string]bool // owners that did
	atOnce  map[string]bool // owners whose completion is the work: a transaction
}

func newWorld(s idempotency.Store) *world {
	return &world{
		store: s, seen: make(map[string]int), messages: []*delivered{{life: 2}},
		holding: make(map[*worker]time.Time), entered: make(map[string]bool), atOnce: make(map[string]bool),
	}
}

func (w *world) saw(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[what]++
}

// brokenf takes note of what must not happen. The lock is held.
func (w *world) brokenf(format string, args ...any) {
	w.violations = append(w.violations, fmt.Sprintf("%v: ", time.Since(modelEpoch))+fmt.Sprintf(format, args...))
}

// claimed checks a claim that the store accepted. The lock is held. Its clock is
// the claimer's.
func (w *world) claimed(r idempotency.Request) {
	if w.held && r.Owner == w.owner {
		w.seen["own token recognised"]++
		return
	}
	expired := w.exists && !w.expires.After(r.Now)
	switch {
	case expired && w.done:
		w.seen["claimed after a completed record expired"]++
	case expired:
		w.seen["claimed after a failed record expired"]++
	case w.done:
		w.brokenf("completed work was claimed again while its record lives, until %v", w.expires)
	case w.held:
		w.seen["taken over"]++
	}
	if !w.exists || expired || r.Life > w.life {
		if w.exists && !expired {
			w.seen["new life"]++
		}
		w.life, w.runs = r.Life, 0
	}
	w.exists, w.done, w.held, w.owner, w.expires = true, false, true, r.Owner, r.Expires
}

// fenced checks a write after a claim that the store accepted. The lock is held.
func (w *world) fenced(op, owner string, expires time.Time) {
	if !w.held || owner != w.owner {
		w.brokenf("%s was accepted from a worker that does not hold the key", op)
	}
	w.expires = expires
}

// completed takes note of a completion that the store accepted. The lock is held.
func (w *world) completed(owner string, expires time.Time) {
	if w.done && owner == w.owner {
		w.seen["completion recognised"]++
		return
	}
	w.fenced("completion", owner, expires)
	w.done, w.held = true, false
	if w.atOnce[owner] {
		w.effects++
	}
}

// released takes note of a release that the store accepted. The lock is held.
func (w *world) released(owner string, f idempotency.Failure) {
	if !w.held && !w.done && owner == w.owner {
		w.seen["release recognised"]++
		return
	}
	w.fenced("release", owner, f.Expires)
	if f.Refund && w.entered[owner] {
		w.runs--
		w.seen["refunded"]++
	}
	w.held = false
}

// enter begins the work of k. Nobody else may still believe to be alone, and the
// budget must not be used up.
func (w *world) enter(k *worker, c *idempotency.Claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alone(k)
	w.holding[k] = c.Until()
	w.entered[c.Owner()] = true
	w.runs++
	w.seen["run"]++
	if w.runs > modelBudget || c.Attempt() > modelBudget {
		w.brokenf("run %d in life %d, counted as attempt %d, of a budget of %d", w.runs, w.life, c.Attempt(), modelBudget)
	}
	if w.runs > c.Attempt() {
		w.brokenf("run %d in life %d is counted as attempt %d", w.runs, w.life, c.Attempt())
	}
}

// renewed extends what k believes, if the answer did not take longer than that.
func (w *world) renewed(k *worker, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holding[k] = until
	if !time.Now().Before(until) {
		w.seen["renewed too late"]++
		return
	}
	w.alone(k)
	w.seen["renewed"]++
}

func (w *world) leave(k *worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.holding, k)
}

// alone checks mutual exclusion, by the time that is true. The lock is held.
func (w *world) alone(k *worker) {
	now := time.Now()
	for other, until := range w.holding {
		if other != k && now.Before(until) {
			w.brokenf("two workers hold the key at once, with clocks off by %v and %v; the first for %v yet", other.skew, k.skew, until.Sub(now))
		}
	}
}

// effect is the work done.
func (w *world) effect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.effects++
}

// ack deletes a message. It must not be lost by that.
func (w *world) ack(m *delivered, parked bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m.acked, m.parked = true, parked
	if !parked && w.effects == 0 {
		w.brokenf("a message was acknowledged and its work was never done")
	}
}

// until is when the one who works now stops to believe; zero if nobody works.
func (w *world) until() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	var last time.Time
	for _, until := range w.holding {
		if until.After(last) {
			last = until
		}
	}
	return last
}
