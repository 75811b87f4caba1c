// Package memstore keeps idempotency records in memory, for tests and for a
// program that is the only consumer of its queue. It behaves like every other
// store, with two exceptions: its records end with the process, and there is
// room for so many only.
//
// The bound is safe, not convenient. A store that is full refuses new keys with
// [ErrFull], and messages come back later, rather than forget work that was done
// and let it run again. Only records whose time is up make room: completed ones
// after idempotency.Config.Retention, and those that are not completed after 15
// days, whatever Retention is. So it needs room for as many keys as are completed
// within Retention and fail for good within 15 days: give [NewSize] that number.
// A shorter Retention makes room only where work succeeds.
package memstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

// DefaultSize is for how many records a store made by [New] has room. Full, it
// takes about 35 MB with keys of 60 bytes (measured).
const DefaultSize = 100_000

// Store is an [idempotency.Store] in memory. It is safe for concurrent use.
type Store struct {
	size int

	// Nothing waits under the lock: not for a channel, not for a timer.
	mu      sync.Mutex
	records map[string]*entry
	expiry  byExpiry
}

var _ idempotency.Store = (*Store)(nil)

// New returns an empty store with room for [DefaultSize] records.
func New() *Store { return NewSize(DefaultSize) }

// NewSize returns an empty store with room for size records; [DefaultSize] if
// size is 0 or less.
func NewSize(size int) *Store {
	if size <= 0 {
		size = DefaultSize
	}
	return &Store{size: size, records: make(map[string]*entry)}
}

// Len returns how many records there are, those included whose time is up.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records)
}

// Get returns the record under a key as [idempotency.Guard] makes them
// ("namespace#kind:key"), also if its time is up; ok is false if there is none.
// It is for tests.
func (s *Store) Get(key string) (rec idempotency.Record, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.records[key]; ok {
		return e.rec, true
	}
	return idempotency.Record{}, false
}

// Claim is as [idempotency.Store] says. The error is [ErrFull] if there is no
// room for a new key. A context that has ended claims nothing.
func (s *Store) Claim(ctx context.Context, r idempotency.Request) (idempotency.Record, error) {
	if err := context.Cause(ctx); err != nil {
		return idempotency.Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found *idempotency.Record
	e := s.records[r.Key]
	if e != nil {
		found = &e.rec
	}
	d, err := idempotency.Decide(found, r)
	switch {
	case err != nil:
		return idempotency.Record{}, err
	case d.Action == idempotency.Ours:
		return d.Record, nil
	case d.Action != idempotency.Write:
		return idempotency.Record{}, fmt.Errorf("memstore: Decide answered %d without an error", d.Action)
	case e == nil && !s.room(r.Now):
		return idempotency.Record{}, fmt.Errorf("%w: all %d records still count; give NewSize more, or use a store that is not in memory; "+
			"a shorter idempotency.Config.Retention helps with completed ones only, all others stay 15 days", ErrFull, s.size)
	}
	return s.put(r.Key, d.Record), nil
}

// Renew is as [idempotency.Store] says.
func (s *Store) Renew(ctx context.Context, key, owner string, lease, expires time.Time) error {
	return s.update(ctx, key, owner, func(rec *idempotency.Record) error {
		switch rec.Status {
		case idempotency.InProgress:
			rec.Lease, rec.Expires = lease, expires
			return nil
		case idempotency.Completed:
			return idempotency.ErrCompleted
		default:
			return idempotency.ErrLost
		}
	})
}

// Complete is as [idempotency.Store] says.
func (s *Store) Complete(ctx context.Context, key, owner string, expires time.Time) error {
	return s.update(ctx, key, owner, func(rec *idempotency.Record) error {
		switch rec.Status {
		case idempotency.InProgress:
			rec.Status, rec.Lease, rec.Expires, rec.Err = idempotency.Completed, time.Time{}, expires, ""
			return nil
		case idempotency.Completed:
			return errUnchanged
		default:
			return idempotency.ErrLost
		}
	})
}

// Release is as [idempotency.Store] says.
func (s *Store) Release(ctx context.Context, key, owner string, f idempotency.Failure) error {
	return s.update(ctx, key, owner, func(rec *idempotency.Record) error {
		switch rec.Status {
		case idempotency.InProgress:
			rec.Status, rec.Lease, rec.Expires, rec.Err = f.Status, time.Time{}, f.Expires, idempotency.CutError(f.Err)
			if f.Refund {
				rec.Attempts--
			}
			return nil
		case f.Status:
			return errUnchanged // and no second refund
		case idempotency.Completed:
			return idempotency.ErrCompleted
		default:
			return idempotency.ErrLost
		}
	})
}

// update has change work on a copy of the record under key, if owner wrote it
// last, and keeps the copy if change returns nil.
func (s *Store) update(ctx context.Context, key, owner string, change func(*idempotency.Record) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.records[key]
	if e == nil || e.rec.Owner != owner {
		return idempotency.ErrLost
	}
	rec := e.rec
	switch err := change(&rec); {
	case err == nil:
		rec.Updated = time.Now()
		s.put(key, rec)
		return nil
	case errors.Is(err, errUnchanged):
		return nil
	default:
		return err
	}
}
