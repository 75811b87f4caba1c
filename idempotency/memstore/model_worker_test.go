package memstore_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

var errWork = errors.New("it broke")

// worker is a consumer: it claims, works, records and settles. It may crash
// between any two steps; then it knows nothing any more.
type worker struct {
	w     *world
	rng   *rand.Rand
	skew  time.Duration
	wire  *wire
	guard *idempotency.Guard
}

func newWorker(t *testing.T, w *world, rng *rand.Rand) *worker {
	t.Helper()
	// Two clocks differ by MaxSkew at most, and as often as not by all of it.
	half := idempotency.MaxSkew / 2
	skew := time.Duration(rng.Int64N(int64(2*half))) - half
	switch rng.IntN(4) {
	case 0:
		skew = half
	case 1:
		skew = -half
	}
	skew = skew.Truncate(time.Millisecond)
	s := &wire{w: w, rng: rng, skew: skew}
	g, err := idempotency.New(s, idempotency.Config{Lease: modelLease, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return &worker{w: w, rng: rng, skew: skew, wire: s, guard: g}
}

func (k *worker) run(deliveries int) {
	for range deliveries {
		k.pause()
		k.deliver()
	}
}

// chance is true with probability p.
func (k *worker) chance(p float64) bool { return k.rng.Float64() < p }

// crashes is true now and then; what calls it stops at once.
func (k *worker) crashes() bool {
	if k.chance(0.05) {
		k.w.saw("crash")
		return true
	}
	return false
}

// pause waits for the next delivery: often for just about the moment at which a
// lease ends, and seldom for longer than records live.
func (k *worker) pause() {
	d := k.wire.between(0, 3*modelLease)
	until := k.w.until()
	switch {
	case k.chance(0.02):
		d = k.wire.between(0, 17*24*time.Hour)
	case k.chance(0.6) && !until.IsZero():
		d = time.Until(until) + k.wire.between(-1500*time.Millisecond, 1500*time.Millisecond)
	}
	time.Sleep(max(d, 0))
}

// message is the one that is delivered: any that is on the queue, or, SQS being
// what it is, one that was deleted. Now and then somebody redrives or sends
// again.
func (k *worker) message() *delivered {
	w := k.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.messages); n < 4 && (k.chance(0.05) || w.messages[n-1].parked && k.chance(0.5)) {
		w.messages = append(w.messages, &delivered{life: w.messages[n-1].life + 1})
		w.seen["redriven"]++
	}
	m := w.messages[k.rng.IntN(len(w.messages))]
	if m.acked && k.chance(0.7) {
		m = w.messages[len(w.messages)-1]
	}
	return m
}

func (k *worker) deliver() {
	ctx, m := context.Background(), k.message()
	work := idempotency.Work{Namespace: "orders", Kind: "id", Key: "7", Life: m.life, MaxAttempts: modelBudget}
	if k.chance(0.1) {
		work.Life = 0 // unknown
	}
	if k.chance(0.5) {
		work.Deadline = time.Now().Add(k.wire.between(time.Second, 2*modelLease))
	}
	c, err := k.guard.Claim(ctx, work)
	if k.crashes() {
		return
	}
	switch {
	case err == nil:
		k.work(ctx, m, c, work.Deadline)
	case errors.Is(err, idempotency.ErrCompleted):
		k.w.saw("duplicate")
		k.w.ack(m, false)
	case errors.Is(err, idempotency.ErrExhausted):
		k.w.saw("exhausted")
		k.park(m)
	case errors.Is(err, idempotency.ErrHeld):
		k.w.saw("held")
	case errors.Is(err, idempotency.ErrLease):
		k.w.saw("lease ended before the answer")
	case errors.Is(err, idempotency.ErrUnavailable):
		k.w.saw("unavailable")
	default:
		k.w.saw("unexpected: " + err.Error())
	}
}

func (k *worker) park(m *delivered) {
	if k.chance(0.8) {
		k.w.saw("parked")
		k.w.ack(m, true)
	}
}

// work is the handler, and what is recorded of it.
func (k *worker) work(ctx context.Context, m *delivered, c *idempotency.Claim, deadline time.Time) {
	k.w.enter(k, c)
	goesOn := k.hold(ctx, c, deadline)
	// From here on it does not work any more, whatever it believes.
	k.w.leave(k)
	if !goesOn || k.crashes() {
		return
	}
	switch fate := k.rng.Float64(); {
	case fate < 0.15:
		k.succeed(ctx, m, c)
	case fate < 0.25:
		k.transact(ctx, m, c)
	case fate < 0.7:
		k.giveBack(m, c.Release(ctx, errWork))
	case fate < 0.85:
		k.giveBack(m, c.Refund(ctx, errWork))
	default:
		err := c.Reject(ctx, errWork)
		if k.giveBack(m, err); !errors.Is(err, idempotency.ErrLost) && !errors.Is(err, idempotency.ErrCompleted) {
			k.park(m)
		}
	}
}

// hold is the time that the handler takes. False: it was abandoned, or crashed,
// or its lease was lost and it stopped; nothing is written then.
func (k *worker) hold(ctx context.Context, c *idempotency.Claim, deadline time.Time) bool {
	left := k.wire.between(0, 2*modelLease)
	if !deadline.IsZero() {
		if over := left - time.Until(deadline); over > 0 && k.chance(0.7) {
			left = time.Until(deadline) // it honours its context
		}
		time.Sleep(max(left, 0))
		return time.Now().Before(deadline.Add(idempotency.MaxSkew)) || k.chance(0.5)
	}
	stalled := k.chance(0.3) // the process stands still: no beat goes out
	for left > 0 {
		step := min(left, modelBeat)
		time.Sleep(step)
		left -= step
		if k.crashes() {
			return false
		}
		if stalled || left <= 0 {
			continue
		}
		err := c.Renew(ctx, time.Now().Add(modelLease))
		switch {
		case err == nil:
			k.w.renewed(k, c.Until())
		case errors.Is(err, idempotency.ErrLost):
			k.w.saw("lost")
			k.w.leave(k)
			return k.chance(0.5) // its nil counts all the same
		}
	}
	return true
}

// succeed is a handler that returned nil. The message is done, also if that
// could not be recorded.
func (k *worker) succeed(ctx context.Context, m *delivered, c *idempotency.Claim) {
	k.w.effect()
	if k.crashes() {
		return
	}
	if err := c.Complete(ctx); errors.Is(err, idempotency.ErrLost) {
		k.w.saw("completion refused")
	}
	if k.crashes() {
		return
	}
	k.w.ack(m, false)
}

// transact is a handler whose work and completion are one write. If the answer
// is lost it fails, and learns from the release whether it has.
func (k *worker) transact(ctx context.Context, m *delivered, c *idempotency.Claim) {
	k.w.mu.Lock()
	k.w.atOnce[c.Owner()] = true
	k.w.mu.Unlock()
	if err := k.wire.Complete(ctx, c.Key(), c.Owner(), c.Expiry()); err != nil {
		k.giveBack(m, c.Release(ctx, err))
		return
	}
	c.MarkCompleted()
	if k.crashes() {
		return
	}
	if err := c.Complete(ctx); err == nil {
		k.w.ack(m, false)
	}
}

// giveBack settles after a failure, given what the release said.
func (k *worker) giveBack(m *delivered, err error) {
	if errors.Is(err, idempotency.ErrCompleted) {
		k.w.saw("release found the work done")
		k.w.ack(m, false)
	}
}
