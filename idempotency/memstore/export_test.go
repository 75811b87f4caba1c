package memstore

import "github.com/ackwise/ackwise/idempotency"

// Put writes a record, whatever is there, and whether there is room or not.
func (s *Store) Put(key string, rec idempotency.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, rec)
}

// Size is for how many records there is room.
func (s *Store) Size() int { return s.size }
