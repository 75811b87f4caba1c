package consumer

import (
	"context"
	"time"
)

// Room is a part of a session's capacity that is set aside for deliveries to
// come, so that a host receives no more than it can take. It is used once, by
// Submit, and by one goroutine.
type Room struct {
	s    *Session
	size int
}

// Room waits until there is capacity for atLeast deliveries and sets it aside,
// with as much more as there is, up to atMost. It returns the cause of the end if
// ctx ends, or the session stops starting work, before that. In a session without
// a Capacity there is always room for atMost.
//
// More than the Capacity is never asked of it: atLeast and atMost are cut to that.
func (s *Session) Room(ctx context.Context, atLeast, atMost int) (*Room, error) {
	if s.room == nil {
		return &Room{s, atMost}, nil
	}
	atLeast, atMost = min(max(atLeast, 1), s.capacity), min(atMost, s.capacity)
	if err := s.acquire(ctx, atLeast); err != nil {
		return nil, err
	}
	for atLeast < atMost && s.room.TryAcquire(1) {
		atLeast++
	}
	return &Room{s, atLeast}, nil
}

// roomWork is a delivery on its way, in a piece of memory of its own: one that takes
// long keeps none of those that it was received with.
type roomWork struct {
	work work
	hold hold
}

// Size is how many deliveries there is room for.
func (r *Room) Size() int { return r.size }

// Submit hands over what was received in one call, as [Session.Submit] does, but
// never waits. It gives back what is left of the room; without deliveries, all.
func (r *Room) Submit(ds ...*Delivery) error {
	ws, now := make([]*roomWork, len(ds)), time.Now()
	for i, d := range ds {
		ws[i] = &roomWork{work: work{d: d, newest: d, roomless: i >= r.size}}
		ws[i].work.hold = &ws[i].hold
		r.s.limitHiding(d, now)
	}
	taken := min(r.size, len(ds))
	r.s.makeRoom(r.size - taken)
	r.size = 0
	if len(ds) == 0 {
		return nil
	}
	err := r.s.admit(len(ws), func(i int) *work { return &ws[i].work }, nil)
	if err != nil {
		r.s.makeRoom(taken)
	}
	return err
}
