package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

const (
	lease  = 30 * time.Second
	life   = int64(2_000)
	budget = 3
	ms     = time.Millisecond
)

// env is what a rule is checked with: a key of its own, and a time that is a
// whole second, so that a rule can place things on either side of it.
type env struct {
	*testing.T
	h   Harness
	ctx context.Context
	now time.Time
	key string
}

func newEnv(t *testing.T, h Harness) *env {
	t.Helper()
	return &env{
		T: t, h: h, ctx: t.Context(), now: time.Now().Truncate(time.Second),
		key: "storetest#" + t.Name() + ":" + rand.Text(),
	}
}

// request is a claim by owner at e.now.
func (e *env) request(owner string) idempotency.Request {
	return e.requestAt(owner, e.now)
}

// requestAt is a claim by an owner whose clock says now.
func (e *env) requestAt(owner string, now time.Time) idempotency.Request {
	return idempotency.Request{
		Key: e.key, Owner: owner, Now: now, Lease: now.Add(lease),
		Expires: now.Truncate(time.Second).Add(idempotency.DefaultRetention), Life: life, MaxAttempts: budget,
	}
}

// record is one that owner wrote a minute ago, with an attempt in it. It is in
// nobody's way: its lease, if it has one, ended long enough ago.
func (e *env) record(st idempotency.Status, owner string) idempotency.Record {
	before := e.now.Add(-time.Minute)
	rec := idempotency.Record{
		Status: st, Owner: owner, Expires: e.now.Add(24 * time.Hour), Life: life, Attempts: 1,
		Err: "it broke", Updated: before, Created: before.Add(-time.Minute),
	}
	switch st {
	case idempotency.InProgress:
		rec.Lease = before.Add(lease)
	case idempotency.Completed:
		rec.Err = ""
	default:
	}
	return rec
}

// put seeds the record under e.key.
func (e *env) put(rec idempotency.Record) {
	e.Helper()
	if err := e.h.Put(e.ctx, e.key, rec); err != nil {
		e.Fatalf("Harness.Put: %v", err)
	}
}

// get reads the record under e.key, and fails if there is none.
func (e *env) get() idempotency.Record {
	e.Helper()
	rec, ok, err := e.h.Get(e.ctx, e.key)
	if err != nil || !ok {
		e.Fatalf("Harness.Get(%q) = %v, %v; want a record", e.key, ok, err)
	}
	return rec
}

// claim makes a claim that must succeed, and be in the record as returned.
func (e *env) claim(r idempotency.Request) idempotency.Record {
	e.Helper()
	rec, err := e.h.Store.Claim(e.ctx, r)
	if err != nil {
		e.Fatalf("Claim by %q: %v; want the key", r.Owner, err)
	}
	e.same("the record that Claim returned", rec, e.get())
	return rec
}

// taken makes a claim that must succeed as the attempt-th in its life.
func (e *env) taken(r idempotency.Request, attempt int) idempotency.Record {
	e.Helper()
	rec := e.claim(r)
	if rec.Status != idempotency.InProgress || rec.Owner != r.Owner || !rec.Lease.Equal(r.Lease) || !rec.Expires.Equal(r.Expires) {
		e.Errorf("Claim by %q wrote %s; want it in progress as asked for", r.Owner, show(rec))
	}
	if rec.Attempts != attempt {
		e.Errorf("Claim by %q: attempt %d, want %d", r.Owner, rec.Attempts, attempt)
	}
	return rec
}

// refused makes a claim that must be refused for want and change nothing.
func (e *env) refused(r idempotency.Request, want error) {
	e.Helper()
	_ = e.refusal(r, want)
}

// refusal is refused, with all that the error says.
func (e *env) refusal(r idempotency.Request, want error) error {
	e.Helper()
	before := e.get()
	rec, err := e.h.Store.Claim(e.ctx, r)
	if !errors.Is(err, want) {
		e.Fatalf("Claim by %q of %s\n = %s, %v; want %v", r.Owner, show(before), show(rec), err, want)
	}
	e.same("after a refused claim, the record", e.get(), before)
	return err
}

// unchanged calls op, which must return want (nil for success), and must leave
// the record as it is.
func (e *env) unchanged(what string, want error, op func() error) {
	e.Helper()
	before := e.get()
	e.fails(what, want, op())
	e.same("after "+what+", the record", e.get(), before)
}

// fails checks the error of an operation; want is nil for success.
func (e *env) fails(what string, want, got error) {
	e.Helper()
	if !errors.Is(got, want) {
		e.Errorf("%s: %v, want %v", what, got, want)
	}
}

// renew, complete and release call the store for owner, with times as a Guard
// would send them.
func (e *env) renew(owner string, until time.Time) error {
	return e.h.Store.Renew(e.ctx, e.key, owner, until, e.expires())
}

func (e *env) complete(owner string) error {
	return e.h.Store.Complete(e.ctx, e.key, owner, e.expires())
}

func (e *env) release(owner string, f idempotency.Failure) error {
	f.Expires = e.expires()
	if f.Status == 0 {
		f.Status = idempotency.Failed
	}
	return e.h.Store.Release(e.ctx, e.key, owner, f)
}

func (e *env) expires() time.Time { return e.now.Add(72 * time.Hour) }

// same compares records, but for Updated if want has none: Renew, Complete and
// Release go by the store's own clock.
func (e *env) same(what string, got, want idempotency.Record) {
	e.Helper()
	if want.Updated.IsZero() {
		got.Updated = want.Updated
	}
	if g, w := show(got), show(want); g != w {
		e.Errorf("%s is\n  %s\nwant\n  %s", what, g, w)
	}
}

// show writes all of a record, in one time zone.
func show(r idempotency.Record) string {
	at := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	return strings.Join([]string{
		r.Status.String(), "owner=" + r.Owner, "lease=" + at(r.Lease), "expires=" + at(r.Expires),
		fmt.Sprintf("life=%d attempts=%d hash=%q err=%q", r.Life, r.Attempts, r.Hash, r.Err),
		"updated=" + at(r.Updated), "created=" + at(r.Created),
	}, " ")
}
