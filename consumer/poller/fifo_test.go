package poller_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/retry"
)

// groups watches the order in which messages, numbered within their groups, run.
type groups struct {
	t    *testing.T
	q    *sqstest.Queue
	rng  *rand.Rand
	fail int // percent of the calls

	mu      sync.Mutex
	running map[string]bool
	done    map[string]int // by group: how many are done
	calls   int
}

func (g *groups) Handle(_ context.Context, m *consumer.Message) error {
	n, _ := strconv.Atoi(m.Body)
	g.mu.Lock()
	if g.running[m.GroupID] {
		g.t.Errorf("two of group %s at once", m.GroupID)
	}
	g.running[m.GroupID] = true
	if n > g.done[m.GroupID] {
		g.t.Errorf("%s/%d before %d was done", m.GroupID, n, g.done[m.GroupID])
	}
	g.calls++
	takes, dice := time.Duration(g.rng.IntN(3000))*time.Millisecond, g.rng.IntN(100)
	g.mu.Unlock()
	for _, other := range g.q.Messages() { // deletes are confirmed before the next begins
		if before, _ := strconv.Atoi(other.Body); other.GroupID == m.GroupID && before < n {
			g.t.Errorf("%s/%d begins while %d is on the queue", m.GroupID, n, before)
		}
	}
	time.Sleep(takes)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running[m.GroupID] = false
	switch {
	case dice < g.fail/3:
		panic("boom")
	case dice < g.fail/2:
		return retry.After(time.Duration(dice)*time.Second, errNo)
	case dice < g.fail:
		return errNo
	}
	g.done[m.GroupID] = max(g.done[m.GroupID], n+1)
	return nil
}

// Order per group is never broken and no two handlers of a group overlap, across
// receives, failures, and deletes and extensions that fail.
func TestFIFO_OrderIsNeverBroken(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { fifoInOrder(t, seed) })
		})
	}
}

func fifoInOrder(t *testing.T, seed uint64) {
	t.Helper()
	const many, each = 20, 15
	rng := rand.New(rand.NewPCG(seed, 4))
	g := &groups{t: t, rng: rng, fail: 15, running: map[string]bool{}, done: map[string]int{}}
	cfg := consumer.Config{
		Concurrency: 1 + rng.IntN(30),
		Retry:       retry.Policy{Tries: 1 + rng.IntN(2)},
		Redelivery:  consumer.Redelivery{Backoff: retry.Constant(time.Duration(rng.IntN(40)) * time.Second)},
	}
	if seed%2 == 1 {
		cfg, _ = guarded(t, cfg, 0)
	}
	r := newRig(t, setup{
		queue: "orders.fifo", cfg: cfg, handler: g.Handle,
		poller: poller.Config{Visibility: 12 * time.Second, Prefetch: rng.IntN(40) - 1},
	})
	g.q = r.q
	for _, action := range []string{"DeleteMessageBatch", "ChangeMessageVisibilityBatch", "ReceiveMessage"} {
		r.srv.Inject(sqstest.Fault{Action: action, Times: 10, After: rng.IntN(100), LoseResponse: true})
		r.srv.Inject(sqstest.Fault{Action: action, Times: 10, After: rng.IntN(100), Err: sqstest.AccessDenied()})
	}
	r.srv.Inject(sqstest.Fault{Delay: 20 * time.Millisecond, Times: always})
	for n := range each {
		for group := range many {
			r.q.SendGroup(strconv.Itoa(group), strconv.Itoa(n))
		}
	}
	r.run()
	for r.q.Len() > 0 && time.Since(r.began) < 24*time.Hour {
		r.after(time.Second)
	}
	want(t, "left", r.q.Len(), 0)
	for group, n := range g.done {
		want(t, "done of group "+group, n, each)
	}
	want(t, "groups", len(g.done), many)
	if seed%2 == 1 && g.calls < many*each {
		t.Errorf("%d calls", g.calls)
	}
	r.drained()
}

// While one group backs off the others go on.
func TestFIFO_OtherGroupsGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		cfg := steady()
		cfg.Concurrency = 3
		cfg.Redelivery.Backoff = retry.Constant(time.Minute)
		r := newRig(t, setup{queue: "orders.fifo", cfg: cfg, handler: func(_ context.Context, m *consumer.Message) error {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, m.GroupID+m.Body)
			if m.GroupID == "a" && m.ReceiveCount < 3 && m.Body == "0" {
				return errNo
			}
			return nil
		}})
		r.q.SendGroup("a", bodies(12)...)
		for _, group := range []string{"b", "c", "d", "e"} {
			r.q.SendGroup(group, bodies(12)...)
		}
		r.run()
		r.after(5 * time.Second)
		want(t, "left", r.q.Len(), 12)
		r.after(56 * time.Second)
		want(t, "left", r.q.Len(), 12)
		r.after(2 * time.Minute)
		want(t, "left", r.q.Len(), 0)
		n := 0
		var ofA []string
		for _, s := range order {
			if s[0] == 'a' {
				ofA = append(ofA, s)
				n++
			}
		}
		want(t, "order of a", ofA, []string{"a0", "a0", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11"})
		r.drained()
	})
}

// A receive whose answer was lost brings the same messages again at once, by its
// attempt id, instead of blocking their groups for a visibility.
func TestFIFO_LostReceiveIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{queue: "orders.fifo"})
		r.srv.Inject(sqstest.Fault{Action: "ReceiveMessage", LoseResponse: true, Times: 5})
		r.q.SendGroup("a", bodies(5)...)
		r.run()
		r.after(10 * time.Second)
		want(t, "left", r.q.Len(), 0)
		r.drained()
	})
}

// A drain lets the handler of a group end, and nothing of its group begins.
func TestFIFO_Drain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{queue: "orders.fifo", cfg: steady(), handler: ignores(5 * time.Second)})
		r.q.SendGroup("a", bodies(5)...)
		r.q.SendGroup("b", "0")
		r.run()
		r.after(2 * time.Second)
		took := r.drained()
		want(t, "time", took < 4*time.Second || took == 12500*time.Millisecond, true)
		want(t, "done", counts(r.all())["done"], 2)
		want(t, "visible", r.q.Visible(), 4)
		for body, n := range r.receives() {
			if n > 2 { // the poll in flight may find what was just given back
				t.Errorf("message %s was received %d times", body, n)
			}
		}
		r.silent(time.Now())
	})
}
