package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

// order is what the handler wants of a body. It takes any JSON, so that messages
// of your own are good orders whatever they look like.
type order struct{ id, simulate string }

// UnmarshalJSON implements json.Unmarshaler. Of valid JSON it takes everything.
func (o *order) UnmarshalJSON(b []byte) error {
	var value any
	if err := json.Unmarshal(b, &value); err != nil {
		return err
	}
	fields, _ := value.(map[string]any) // reading from a nil map is fine
	switch id := fields["id"].(type) {
	case string:
		o.id = id
	case float64:
		text, _ := json.Marshal(id)
		o.id = string(text)
	}
	o.simulate, _ = fields["simulate"].(string)
	return nil
}

var (
	errBank    = errors.New("the bank does not answer")
	errBusy    = errors.New("the bank is busy and says when to try again")
	errStock   = errors.New("the article cannot be found")
	errAddress = errors.New("the address does not exist")
)

const (
	workTime  = 500 * time.Millisecond
	stallTime = 2 * functionTimeout
)

// shop handles orders and keeps a record of its own of what it has done. Its
// methods are safe for concurrent use.
type shop struct {
	o options
	// redeliver makes SQS deliver a message again that is in flight.
	redeliver func(id string)

	mu    sync.Mutex // guards what follows; held for short sections only
	tries map[string]int
	runs  int             // calls of the handler under way
	calls map[string]int  // calls of the handler, bodies that do not decode included
	done  map[string]int  // how often the handler returned nil, by message id
	twice map[string]bool // messages still to be delivered twice
}

func newShop(o options, redeliver func(id string)) *shop {
	return &shop{
		o: o, redeliver: redeliver,
		calls: make(map[string]int), tries: make(map[string]int), done: make(map[string]int), twice: make(map[string]bool),
	}
}

// handle is the work on one order: what a real one would do, and what goes wrong
// with it.
func (s *shop) handle(ctx context.Context, o order, m *consumer.Message) error {
	sim, _ := parseSimulation(o.simulate) // what is no simulation is a good order
	try := s.count(m.ID)
	d := workTime
	switch {
	case sim.kind == "slow":
		d = sim.d
	case sim.kind == "stall" && m.ReceiveCount == 1:
		d = stallTime
	}
	if err := s.work(ctx, d); err != nil {
		return err
	}
	switch {
	case sim.kind == "flaky" && try <= sim.tries:
		return errBank
	case sim.kind == "after" && try == 1:
		return retry.After(s.o.scale(sim.d), errBusy)
	case sim.kind == "poison":
		return errStock
	case sim.kind == "invalid":
		return retry.Permanent(errAddress)
	case sim.kind == "panic":
		panic("order without a customer")
	}
	return nil
}

// work takes its time, and less if ctx ends.
func (s *shop) work(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(s.o.scale(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// count returns which try of the message this is, over all deliveries.
func (s *shop) count(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries[id]++
	return s.tries[id]
}

// record is middleware: it notes which messages the handler has done, and has
// SQS deliver those twice that are to be.
func (s *shop) record(next consumer.Handler) consumer.Handler {
	return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
		again := s.begin(m.ID)
		defer s.end()
		if again {
			s.redeliver(m.ID)
		}
		err := next.Handle(ctx, m)
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.done[m.ID]++
		}
		return err
	})
}

// begin notes a call of the handler, and says whether SQS is to deliver the
// message again.
func (s *shop) begin(id string) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs++
	s.calls[id]++
	again = s.twice[id]
	delete(s.twice, id)
	return again
}

func (s *shop) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs--
}

// busy reports whether the handler runs.
func (s *shop) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs > 0
}

// called returns how often the handler was called for a message.
func (s *shop) called(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[id]
}

// successes returns how often the handler returned nil for each message.
func (s *shop) successes() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.done)
}
