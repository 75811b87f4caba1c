package idempotency_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

// script is a store that does as a test says, and keeps what it was asked.
type script struct {
	mu    sync.Mutex
	calls []call

	claim                    func(ctx context.Context, r idempotency.Request) (idempotency.Record, error)
	renew, complete, release func(ctx context.Context) error
}

// call is one call of the store.
type call struct {
	op, key, owner string
	request        idempotency.Request
	until, expires time.Time
	failure        idempotency.Failure
}

func (s *script) note(c call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
}

// ops are the operations so far, as "claim complete".
func (s *script) ops() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, c := range s.calls {
		names = append(names, c.op)
	}
	return strings.Join(names, " ")
}

// last is the last call.
func (s *script) last(t *testing.T) call {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) == 0 {
		t.Fatal("the store was not asked")
	}
	return s.calls[len(s.calls)-1]
}

func (s *script) Claim(ctx context.Context, r idempotency.Request) (idempotency.Record, error) {
	s.note(call{op: "claim", key: r.Key, owner: r.Owner, request: r})
	if s.claim != nil {
		return s.claim(ctx, r)
	}
	d, err := idempotency.Decide(nil, r)
	return d.Record, err
}

func (s *script) Renew(ctx context.Context, key, owner string, lease, expires time.Time) error {
	s.note(call{op: "renew", key: key, owner: owner, until: lease, expires: expires})
	return run(ctx, s.renew)
}

func (s *script) Complete(ctx context.Context, key, owner string, expires time.Time) error {
	s.note(call{op: "complete", key: key, owner: owner, expires: expires})
	return run(ctx, s.complete)
}

func (s *script) Release(ctx context.Context, key, owner string, f idempotency.Failure) error {
	s.note(call{op: "release", key: key, owner: owner, failure: f})
	return run(ctx, s.release)
}

func run(ctx context.Context, f func(context.Context) error) error {
	if f == nil {
		return nil
	}
	return f(ctx)
}

// fails answers err to whatever is asked.
func fails(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// guard makes a Guard that logs nowhere.
func guard(t *testing.T, s idempotency.Store, cfg idempotency.Config) *idempotency.Guard {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	g, err := idempotency.New(s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// claim makes a claim that must succeed.
func claim(t *testing.T, g *idempotency.Guard, w idempotency.Work) *idempotency.Claim {
	t.Helper()
	c, err := g.Claim(t.Context(), w)
	if err != nil {
		t.Fatalf("Claim: %v", err)
	}
	return c
}

var work = idempotency.Work{Namespace: "orders", Kind: "id", Key: "7", Life: 10, MaxAttempts: 3}

var errDown = errors.New("connection refused")
