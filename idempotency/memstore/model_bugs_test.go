package memstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
)

// The checker is worth something if it finds what is wrong. Each of these stores
// has one bug that somebody might write, in one method.

// unconditional completes whoever asks.
type unconditional struct{ *memstore.Store }

func (s unconditional) Complete(ctx context.Context, key, owner string, expires time.Time) error {
	err := s.Store.Complete(ctx, key, owner, expires)
	if rec, ok := s.Get(key); ok && errors.Is(err, idempotency.ErrLost) {
		rec.Status, rec.Owner, rec.Lease, rec.Expires = idempotency.Completed, owner, time.Time{}, expires
		s.Put(key, rec)
		return nil
	}
	return err
}

// unfenced takes back from whoever holds it.
type unfenced struct{ *memstore.Store }

func (s unfenced) Release(ctx context.Context, key, owner string, f idempotency.Failure) error {
	rec, ok := s.Get(key)
	if ok && rec.Status == idempotency.InProgress {
		owner = rec.Owner
	}
	return s.Store.Release(ctx, key, owner, f)
}

// hasty takes over as soon as a lease has ended, by its own clock.
type hasty struct{ *memstore.Store }

func (s hasty) Claim(ctx context.Context, r idempotency.Request) (idempotency.Record, error) {
	r.Now = r.Now.Add(idempotency.MaxSkew)
	return s.Store.Claim(ctx, r)
}

// coarse keeps the lease in seconds.
type coarse struct{ *memstore.Store }

func (s coarse) Claim(ctx context.Context, r idempotency.Request) (idempotency.Record, error) {
	r.Lease = r.Lease.Truncate(time.Second)
	return s.Store.Claim(ctx, r)
}

// forgetful does not count an attempt that takes over from a crash.
type forgetful struct{ *memstore.Store }

func (s forgetful) Claim(ctx context.Context, r idempotency.Request) (idempotency.Record, error) {
	before, _ := s.Get(r.Key)
	rec, err := s.Store.Claim(ctx, r)
	if err == nil && before.Status == idempotency.InProgress && before.Owner != r.Owner && rec.Attempts > 1 {
		rec.Attempts--
		s.Put(r.Key, rec)
	}
	return rec, err
}

// generous gives a refund each time it is asked, also when the answer to the
// first time was lost.
type generous struct{ *memstore.Store }

func (s generous) Release(ctx context.Context, key, owner string, f idempotency.Failure) error {
	rec, ok := s.Get(key)
	if ok && f.Refund && rec.Owner == owner && rec.Status == f.Status {
		rec.Attempts--
		s.Put(key, rec)
	}
	return s.Store.Release(ctx, key, owner, f)
}

// reborn begins a new life although the work is done.
type reborn struct{ *memstore.Store }

func (s reborn) Claim(ctx context.Context, r idempotency.Request) (idempotency.Record, error) {
	if rec, ok := s.Get(r.Key); ok && rec.Status == idempotency.Completed && r.Life > rec.Life {
		rec.Status = idempotency.Failed
		s.Put(r.Key, rec)
	}
	return s.Store.Claim(ctx, r)
}

// rash says of work that somebody has begun that it is done.
type rash struct{ *memstore.Store }

func (s rash) Claim(ctx context.Context, r idempotency.Request) (idempotency.Record, error) {
	rec, err := s.Store.Claim(ctx, r)
	if errors.Is(err, idempotency.ErrHeld) {
		return rec, idempotency.ErrCompleted
	}
	return rec, err
}

// sticky keeps the lease of a worker that crashed for ever.
type sticky struct{ *memstore.Store }

func (s sticky) Claim(ctx context.Context, r idempotency.Request) (idempotency.Record, error) {
	r.Lease = r.Lease.Add(30 * 24 * time.Hour)
	r.Expires = r.Lease.Add(time.Hour)
	return s.Store.Claim(ctx, r)
}

func TestModelFindsBugs(t *testing.T) {
	t.Parallel()
	const fencing, alone, counting = "does not hold the key", "hold the key at once", "counted as attempt"
	for _, bug := range []struct {
		name  string
		store func(*memstore.Store) idempotency.Store
		finds string
	}{
		{"unconditional completion", func(s *memstore.Store) idempotency.Store { return unconditional{s} }, fencing},
		{"unfenced release", func(s *memstore.Store) idempotency.Store { return unfenced{s} }, fencing},
		{"take-over without skew", func(s *memstore.Store) idempotency.Store { return hasty{s} }, alone},
		{"lease in seconds", func(s *memstore.Store) idempotency.Store { return coarse{s} }, alone},
		{"crashes not counted", func(s *memstore.Store) idempotency.Store { return forgetful{s} }, counting},
		{"refunded twice", func(s *memstore.Store) idempotency.Store { return generous{s} }, counting},
		{"completed work begun again", func(s *memstore.Store) idempotency.Store { return reborn{s} }, "claimed again"},
		{"held taken for completed", func(s *memstore.Store) idempotency.Store { return rash{s} }, "never done"},
		{"held for ever", func(s *memstore.Store) idempotency.Store { return sticky{s} }, "with nobody at work"},
	} {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(modelSeeds) {
				w := simulate(t, seed, bug.store(memstore.New()))
				if len(w.violations) == 0 {
					continue
				}
				t.Logf("seed %d: %s", seed, w.violations[0])
				for _, v := range w.violations {
					if strings.Contains(v, bug.finds) {
						return
					}
				}
			}
			t.Errorf("%d schedules, and none showed that %q", modelSeeds, bug.finds)
		})
	}
}
