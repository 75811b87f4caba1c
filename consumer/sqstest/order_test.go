package sqstest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestStoreKeepsItsBooks does random things to a queue and compares counts,
// indexes and order with what a look at every single message says.
func TestStoreKeepsItsBooks(t *testing.T) {
	t.Parallel()
	for _, fifo := range []bool{false, true} {
		t.Run(fmt.Sprintf("fifo=%v", fifo), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) { storeScenario(rt, fifo) })
		})
	}
}

func storeScenario(rt *rapid.T, fifo bool) {
	now := time.Unix(1_000_000, 0)
	q := newQueue(1, "q", "arn", fifo, 1000, now)
	q.set.retention = time.Hour
	for step := range rapid.IntRange(1, 60).Draw(rt, "steps") {
		now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 5, 600}).Draw(rt, "seconds")) * time.Second)
		q.advance(now)
		held := slices.SortedFunc(values(q), func(a, b *message) int { return cmp.Compare(a.key, b.key) })
		what := rapid.SampledFrom([]string{"add", "add", "take", "hide", "show", "drop"}).Draw(rt, "what")
		seconds := time.Duration(rapid.IntRange(1, 30).Draw(rt, "for")) * time.Second
		switch {
		case what == "add":
			m := &message{key: uint64(step + 1), group: rapid.SampledFrom([]string{"g", "h"}).Draw(rt, "group"), sentAt: now}
			q.add(m, now, seconds-10*time.Second)
		case what == "take":
			checkPick(rt, q, fifo, rapid.IntRange(1, 5).Draw(rt, "max"), now.Add(seconds))
		case len(held) == 0:
		default:
			m := rapid.SampledFrom(held).Draw(rt, "message")
			switch what {
			case "hide":
				q.hide(m, now.Add(seconds))
			case "show":
				q.show(m)
			case "drop":
				q.drop(m)
			}
		}
		checkBooks(rt, q, now)
	}
}

func values(q *queue) func(yield func(*message) bool) {
	return func(yield func(*message) bool) {
		for _, m := range q.byKey {
			if !yield(m) {
				return
			}
		}
	}
}

// checkPick picks, compares with the rule, and hides what was picked.
func checkPick(rt *rapid.T, q *queue, fifo bool, n int, until time.Time) {
	picked, moved := q.order.pick(n, func(*message) bool { return false })
	free := 0
	blocked := map[string]bool{}
	for _, m := range slices.SortedFunc(values(q), func(a, b *message) int { return cmp.Compare(a.pos, b.pos) }) {
		switch {
		case m.state != stateVisible:
			blocked[m.group] = true
		case !fifo || !blocked[m.group]:
			free++
		}
	}
	if len(moved) != 0 || len(picked) != min(n, free) {
		rt.Fatalf("picked %d of %d free messages, want %d", len(picked), free, min(n, free))
	}
	last := map[string]uint64{}
	for _, m := range picked {
		if m.state != stateVisible {
			rt.Fatalf("picked message %d, which is not visible", m.key)
		}
		if fifo && last[m.group] > m.pos {
			rt.Fatalf("group %s out of order", m.group)
		}
		last[m.group] = m.pos
	}
	for _, m := range picked {
		q.hide(m, until)
	}
}

func checkBooks(rt *rapid.T, q *queue, now time.Time) {
	count := map[state]int{}
	for m := range values(q) {
		count[m.state]++
		hidden := m.state == stateInFlight || m.state == stateDelayed
		if hidden != (m.hiddenSlot >= 0) {
			rt.Fatalf("message %d in state %d has place %d among the hidden", m.key, m.state, m.hiddenSlot)
		}
		if hidden && q.hidden.items[m.hiddenSlot] != m || q.aged.items[m.ageSlot] != m {
			rt.Fatalf("message %d is not where it says", m.key)
		}
		if !m.sentAt.Add(q.set.retention).After(now) {
			rt.Fatalf("message %d is over its retention", m.key)
		}
	}
	if q.inFlight != count[stateInFlight] || q.delayed != count[stateDelayed] || q.visible() != count[stateVisible] {
		rt.Fatalf("counts %d %d %d, want %v", q.inFlight, q.delayed, q.visible(), count)
	}
	if len(q.aged.items) != len(q.byKey) || len(q.hidden.items) != q.inFlight+q.delayed {
		rt.Fatalf("%d aged, %d hidden of %d", len(q.aged.items), len(q.hidden.items), len(q.byKey))
	}
	for _, h := range []*messageHeap{&q.aged, &q.hidden} {
		for i := 1; i < len(h.items); i++ {
			if h.less(h.items[i], h.items[(i-1)/2]) {
				rt.Fatalf("a heap is out of order at %d", i)
			}
		}
	}
	free, _ := q.order.pick(len(q.byKey)+1, func(*message) bool { return false })
	if q.order.any() != (len(free) > 0) {
		rt.Fatalf("any says %v, pick finds %d", q.order.any(), len(free))
	}
	if f, ok := q.order.(*fifoOrder); ok && len(q.byKey) == 0 && len(f.lanes) != 0 {
		rt.Fatalf("%d groups are left of an empty queue", len(f.lanes))
	}
}

// TestDrain empties a large queue and checks that nothing is left of it, and
// that no message was looked at more often than its own delivery needs.
func TestDrain(t *testing.T) {
	t.Parallel()
	const n = 100_000
	for _, fifo := range []bool{false, true} {
		now := time.Unix(1_000_000, 0)
		q := newQueue(1, "q", "arn", fifo, n, now)
		for i := range n {
			q.add(&message{key: uint64(i + 1), group: fmt.Sprint(i % 1000), sentAt: now}, now, 0)
		}
		looks := 0
		for len(q.byKey) > 0 {
			picked, _ := q.order.pick(10, func(*message) bool { looks++; return false })
			for _, m := range picked {
				q.hide(m, now.Add(time.Minute))
			}
			for _, m := range picked {
				q.drop(m)
			}
		}
		if looks != n {
			t.Errorf("fifo=%v: %d looks for %d messages", fifo, looks, n)
		}
		if len(q.hidden.items)+len(q.aged.items) != 0 || q.order.any() {
			t.Errorf("fifo=%v: something is left", fifo)
		}
	}
}

func TestReceiptRoundTrip(t *testing.T) {
	t.Parallel()
	want := receipt{queue: 7, message: 1 << 40, receive: 3, at: time.Unix(1_700_000_000, 42)}
	got, ok := parseReceipt(want.String())
	if !ok || got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	handle := []byte(want.String())
	for i := range handle {
		broken := slices.Clone(handle)
		broken[i] ^= 1
		if got, ok := parseReceipt(string(broken)); ok && got == want {
			t.Errorf("a handle damaged at %d is taken for the whole one", i)
		}
	}
}
