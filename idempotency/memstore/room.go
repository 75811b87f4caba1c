package memstore

import (
	"container/heap"
	"errors"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

// ErrFull says that there is no room for another key. A Guard reports it as an
// [idempotency.UnavailableError], so the message is deferred.
var ErrFull = errors.New("memstore: the store is full")

// errUnchanged says that a record is as it is wanted already.
var errUnchanged = errors.New("unchanged")

// entry is a record and its place in the heap.
type entry struct {
	key   string
	rec   idempotency.Record
	index int
}

// put keeps rec under key, as stores do: milliseconds, and Expires in seconds.
func (s *Store) put(key string, rec idempotency.Record) idempotency.Record {
	rec.Lease, rec.Expires = whole(rec.Lease, time.Millisecond), whole(rec.Expires, time.Second)
	rec.Updated, rec.Created = whole(rec.Updated, time.Millisecond), whole(rec.Created, time.Millisecond)
	if e := s.records[key]; e != nil {
		e.rec = rec
		heap.Fix(&s.expiry, e.index)
		return rec
	}
	e := &entry{key: key, rec: rec}
	s.records[key] = e
	heap.Push(&s.expiry, e)
	return rec
}

// room reports whether a record can be added, and removes what no longer counts
// if there is need. A clock may be ahead of others by MaxSkew: what has expired
// by this one alone stays.
func (s *Store) room(now time.Time) bool {
	if len(s.records) < s.size {
		return true
	}
	now = now.Add(-idempotency.MaxSkew)
	for len(s.expiry) > 0 {
		first := s.expiry[0]
		if !first.expired(now) {
			break
		}
		heap.Pop(&s.expiry)
		delete(s.records, first.key)
	}
	return len(s.records) < s.size
}

// expired reports whether the record counts as absent, as in idempotency.Decide.
func (e *entry) expired(now time.Time) bool {
	return !e.rec.Expires.IsZero() && !e.rec.Expires.After(now)
}

// whole cuts t to a multiple of unit, and with it the monotonic clock: what is
// compared is what a store on disk would have.
func whole(t time.Time, unit time.Duration) time.Time { return t.Truncate(unit) }

// byExpiry is a heap of records, the one that expires first on top. One that
// never expires comes last.
type byExpiry []*entry

func (h *byExpiry) Len() int { return len(*h) }

func (h *byExpiry) Less(i, j int) bool {
	a, b := (*h)[i].rec.Expires, (*h)[j].rec.Expires
	if a.IsZero() || b.IsZero() {
		return !a.IsZero()
	}
	return a.Before(b)
}

func (h *byExpiry) Swap(i, j int) {
	s := *h
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

// Push is called by package heap.
func (h *byExpiry) Push(x any) {
	e, _ := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop is called by package heap.
func (h *byExpiry) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
