package idempotency

import (
	"context"
	"fmt"
	"time"
)

// shield keeps what a store does wrong from being more than a store that is
// unavailable: a panic, also of one that looks into its errors.
type shield struct{ store Store }

func shielded(op string, err *error) {
	if v := recover(); v != nil {
		*err = &UnavailableError{Op: op, Err: fmt.Errorf("the store panicked: %v", v)}
	}
}

func (s shield) Claim(ctx context.Context, r Request) (rec Record, err error) {
	defer shielded("claim", &err)
	if rec, err = s.store.Claim(ctx, r); err != nil {
		err = known("claim", err)
	}
	return rec, err
}

func (s shield) Renew(ctx context.Context, key, owner string, lease, expires time.Time) (err error) {
	defer shielded("renew", &err)
	return known("renew", s.store.Renew(ctx, key, owner, lease, expires))
}

func (s shield) Complete(ctx context.Context, key, owner string, expires time.Time) (err error) {
	defer shielded("complete", &err)
	return known("complete", s.store.Complete(ctx, key, owner, expires))
}

func (s shield) Release(ctx context.Context, key, owner string, f Failure) (err error) {
	defer shielded("release", &err)
	return known("release", s.store.Release(ctx, key, owner, f))
}
