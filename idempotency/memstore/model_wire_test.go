package memstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

var errTimeout = errors.New("no answer")

// wire is the store as one worker sees it: from afar, with a clock that is off,
// and with calls that get lost on the way there, on the way back, or arrive when
// nobody waits for them any more.
type wire struct {
	w    *world
	rng  *rand.Rand
	skew time.Duration
}

var _ idempotency.Store = (*wire)(nil)

// do carries out one call. Apply does not block.
func (s *wire) do(apply func() (idempotency.Record, error)) (idempotency.Record, error) {
	none := idempotency.Record{}
	s.travel()
	switch fate := s.rng.Float64(); {
	case fate < 0.04:
		s.w.saw("request lost")
		s.travel()
		return none, errTimeout
	case fate < 0.08:
		s.w.saw("request late")
		late := s.between(0, 20*time.Second)
		go func() {
			time.Sleep(late)
			_, _ = apply()
		}()
		s.travel()
		return none, errTimeout
	case fate < 0.14:
		s.w.saw("response lost")
		_, _ = apply()
		s.travel()
		return none, errTimeout
	case fate < 0.20:
		s.w.saw("response lost, sent again")
		_, _ = apply()
		s.travel()
		s.travel()
		return apply()
	default:
		rec, err := apply()
		s.travel()
		return rec, err
	}
}

// travel takes as long as a message on the wire: most often little, and now and
// then so long that a lease ends meanwhile.
func (s *wire) travel() {
	if s.rng.Float64() < 0.03 {
		time.Sleep(s.between(0, 2*modelLease))
		return
	}
	time.Sleep(s.between(0, 50*time.Millisecond))
}

func (s *wire) between(a, b time.Duration) time.Duration {
	return a + time.Duration(s.rng.Int64N(int64(b-a)))
}

func (s *wire) Claim(ctx context.Context, r idempotency.Request) (idempotency.Record, error) {
	r.Now, r.Lease = r.Now.Add(s.skew), r.Lease.Add(s.skew)
	rec, err := s.do(func() (idempotency.Record, error) {
		s.w.mu.Lock()
		defer s.w.mu.Unlock()
		rec, err := s.w.store.Claim(ctx, r)
		if err == nil {
			s.w.claimed(r)
		}
		return rec, err
	})
	if errors.Is(err, errTimeout) && s.rng.Float64() < 0.5 {
		// What may have been claimed is given back, once, as well as can be.
		_ = s.Release(ctx, r.Key, r.Owner, idempotency.Failure{Status: idempotency.Failed, Refund: true, Expires: r.Expires})
	}
	return rec, err
}

func (s *wire) Renew(ctx context.Context, key, owner string, lease, expires time.Time) error {
	return s.write(
		func() error { return s.w.store.Renew(ctx, key, owner, lease.Add(s.skew), expires) },
		func() { s.w.fenced("renewal", owner, expires) })
}

func (s *wire) Complete(ctx context.Context, key, owner string, expires time.Time) error {
	return s.write(
		func() error { return s.w.store.Complete(ctx, key, owner, expires) },
		func() { s.w.completed(owner, expires) })
}

func (s *wire) Release(ctx context.Context, key, owner string, f idempotency.Failure) error {
	return s.write(
		func() error { return s.w.store.Release(ctx, key, owner, f) },
		func() { s.w.released(owner, f) })
}

// write carries out a write after the claim, and checks it if it was accepted.
func (s *wire) write(write func() error, accepted func()) error {
	_, err := s.do(func() (idempotency.Record, error) {
		s.w.mu.Lock()
		defer s.w.mu.Unlock()
		err := write()
		if err == nil {
			accepted()
		}
		return idempotency.Record{}, err
	})
	return err
}
