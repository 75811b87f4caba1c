package consumer_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
)

var errStore = errors.New("the table is throttled")

// scripted is a store that remembers what it was asked, and misbehaves where it
// is told to.
type scripted struct {
	mem   *memstore.Store
	began time.Time
	// before is called by operation (claim, renew, complete, release) ahead of
	// the write. An error is the answer, and nothing is written.
	before map[string]func(ctx context.Context, key string) error
	// after is called behind the write. An error is the answer instead of the
	// store's own: the response was lost.
	after map[string]func(ctx context.Context, key string) error
	// deaf is a store that writes although the context has ended.
	deaf bool

	mu  sync.Mutex
	ops []string        // "claim a", in the order of the calls
	at  []time.Duration // when each began
}

func newScripted() *scripted {
	return &scripted{
		mem: memstore.New(), began: time.Now(),
		before: make(map[string]func(context.Context, string) error),
		after:  make(map[string]func(context.Context, string) error),
	}
}

func (s *scripted) Claim(ctx context.Context, r idempotency.Request) (rec idempotency.Record, err error) {
	err = s.do(ctx, "claim", r.Key, func(ctx context.Context) error {
		rec, err = s.mem.Claim(ctx, r)
		return err
	})
	return rec, err
}

func (s *scripted) Renew(ctx context.Context, key, owner string, lease, expires time.Time) error {
	return s.do(ctx, "renew", key, func(ctx context.Context) error { return s.mem.Renew(ctx, key, owner, lease, expires) })
}

func (s *scripted) Complete(ctx context.Context, key, owner string, expires time.Time) error {
	return s.do(ctx, "complete", key, func(ctx context.Context) error { return s.mem.Complete(ctx, key, owner, expires) })
}

func (s *scripted) Release(ctx context.Context, key, owner string, f idempotency.Failure) error {
	return s.do(ctx, "release", key, func(ctx context.Context) error { return s.mem.Release(ctx, key, owner, f) })
}

func (s *scripted) do(ctx context.Context, op, key string, write func(context.Context) error) error {
	s.mu.Lock()
	s.ops = append(s.ops, op+" "+key[strings.LastIndex(key, ":")+1:])
	s.at = append(s.at, time.Since(s.began))
	s.mu.Unlock()
	if before := s.before[op]; before != nil {
		if err := before(ctx, key); err != nil {
			return err
		}
	}
	if s.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	err := write(ctx)
	if after := s.after[op]; after != nil && err == nil {
		return after(ctx, key)
	}
	return err
}

// asked returns the operations since the last call of it.
func (s *scripted) asked() (ops []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ops, s.ops = s.ops, nil
	return ops
}

// record returns what the store has under the key of a message on the standard
// queue; the zero value if there is nothing.
func (s *scripted) record(id string) idempotency.Record {
	rec, _ := s.mem.Get(standardARN + "#id:" + id)
	return rec
}

// answers returns a script for one operation: it always answers with err.
func answers(err error) func(context.Context, string) error {
	return func(context.Context, string) error { return err }
}

// blocks is an operation that is answered by the end of its context.
func blocks(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }

// delays returns an operation that takes d, whatever its context says.
func delays(d time.Duration) func(context.Context, string) error {
	return func(context.Context, string) error { time.Sleep(d); return nil }
}

// guarded adds a guard on st to a configuration.
func guarded(tb testing.TB, cfg consumer.Config, st idempotency.Store) consumer.Config {
	tb.Helper()
	return guardedBy(tb, cfg, st, idempotency.Config{})
}

func guardedBy(tb testing.TB, cfg consumer.Config, st idempotency.Store, g idempotency.Config) consumer.Config {
	tb.Helper()
	g.Logger = slog.New(slog.DiscardHandler)
	guard, err := idempotency.New(st, g)
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Idempotency = guard
	return cfg
}

// budgeted is a configuration of one try a delivery, with a store and a budget.
func budgeted(tb testing.TB, st idempotency.Store, attempts int) consumer.Config {
	tb.Helper()
	cfg := guarded(tb, steady(1), st)
	cfg.Redelivery.MaxAttempts = attempts
	return cfg
}

// outcome runs one delivery in a session without a deadline.
func outcome(t *testing.T, cfg consumer.Config, h consumer.Handler, d *consumer.Delivery) consumer.Outcome {
	t.Helper()
	return newConsumer(t, cfg, h).Process(t.Context(), newSource(t), []*consumer.Delivery{d})[0]
}

// elsewhere claims the key of a message of the standard queue for a worker of
// another process, until a second after deadline.
func elsewhere(t *testing.T, st idempotency.Store, id string, deadline time.Time) *idempotency.Claim {
	t.Helper()
	g, err := idempotency.New(st, idempotency.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.Claim(t.Context(), idempotency.Work{Namespace: standardARN, Kind: "id", Key: id, Deadline: deadline})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// never is a handler that must not be entered.
func never(t *testing.T) consumer.Handler {
	t.Helper()
	return consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
		t.Errorf("the handler was entered for %s", m.ID)
		return nil
	})
}

// state is what of a record most tests look at.
type state struct {
	Status   string
	Attempts int
	Err      string
}

func (s *scripted) wantRecord(tb testing.TB, id string, wanted state) {
	tb.Helper()
	rec := s.record(id)
	want(tb, "record of "+id, state{rec.Status.String(), rec.Attempts, rec.Err}, wanted)
}

// unrecorded collects the events of what could not be recorded.
type unrecorded struct {
	mu     sync.Mutex
	events []consumer.Event
}

func (u *unrecorded) observe(e consumer.Event) {
	if e.Kind == consumer.EventUnrecorded {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.events = append(u.events, e)
	}
}
