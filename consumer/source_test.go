package consumer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

const (
	standardARN = "arn:aws:sqs:eu-central-1:111122223333:orders"
	fifoARN     = "arn:aws:sqs:eu-central-1:111122223333:orders.fifo"
)

// told is one outcome that a source was told.
type told struct {
	consumer.Outcome

	At   time.Duration // since the source was made
	Call int           // number of the Settle call, from 1
}

// source is a consumer.Source that remembers what it is told. A call of Settle
// after Flush, or without outcomes, fails the test.
type source struct {
	tb    testing.TB
	queue consumer.Queue
	began time.Time
	// ack, if set, is called for each acknowledgement: it may block, and what it
	// returns is the entry's error.
	ack func(ctx context.Context, o consumer.Outcome) error
	// extend, if set, answers extensions. Without it there must be none.
	extend func(ctx context.Context, ds []*consumer.Delivery, d time.Duration) []error

	mu      sync.Mutex
	log     []told
	calls   int
	flushes int
	beats   []string // extensions: when they began, of which receipts, for how long
}

func newSource(tb testing.TB) *source {
	tb.Helper()
	return &source{tb: tb, queue: consumer.Queue{ARN: standardARN, Name: "orders"}, began: time.Now()}
}

func newFIFO(tb testing.TB) *source {
	tb.Helper()
	s := newSource(tb)
	s.queue = consumer.Queue{ARN: fifoARN, Name: "orders.fifo", FIFO: true}
	return s
}

func (s *source) Queue() consumer.Queue { return s.queue }

func (s *source) Extend(ctx context.Context, ds []*consumer.Delivery, d time.Duration) []error {
	if s.extend == nil {
		s.tb.Error("the pipeline called Extend")
		return nil
	}
	receipts := make([]string, len(ds))
	for i, dl := range ds {
		receipts[i] = dl.Receipt
	}
	slices.Sort(receipts)
	s.mu.Lock()
	s.beats = append(s.beats, fmt.Sprintf("%v %s +%v", time.Since(s.began), strings.Join(receipts, " "), d))
	flushed := s.flushes > 0
	s.mu.Unlock()
	if flushed || len(ds) == 0 {
		s.tb.Errorf("Extend was called with %d deliveries, after Flush: %t", len(ds), flushed)
	}
	return s.extend(ctx, ds, d)
}

// extensions returns the extensions so far.
func (s *source) extensions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.beats)
}

func (s *source) Settle(ctx context.Context, os []consumer.Outcome) []error {
	s.mu.Lock()
	s.calls++
	for _, o := range os {
		s.log = append(s.log, told{o, time.Since(s.began), s.calls})
	}
	flushed := s.flushes > 0
	s.mu.Unlock()
	if flushed || len(os) == 0 {
		s.tb.Errorf("Settle was called with %d outcomes, after Flush: %t", len(os), flushed)
	}
	var errs []error
	for i, o := range os {
		if s.ack == nil || !o.Acknowledged() {
			continue
		}
		if err := s.ack(ctx, o); err != nil {
			if errs == nil {
				errs = make([]error, len(os))
			}
			errs[i] = err
		}
	}
	return errs
}

func (s *source) Flush(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushes++
	return nil
}

// told returns what the source was told so far.
func (s *source) told() []told {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]told(nil), s.log...)
}

// receipts returns the receipt handles that were settled, in order.
func (s *source) receipts() (all []string) {
	for _, o := range s.told() {
		all = append(all, o.Delivery.Receipt)
	}
	return all
}

// short writes an outcome as id=verdict+delay, the delay only where the message
// stays; a dash in its place means that the visibility is left as it is.
func short(o consumer.Outcome) string {
	s := fmt.Sprintf("%s=%v", o.Delivery.ID, o.Verdict)
	switch {
	case o.Parked:
		return s + " parked"
	case o.Acknowledged():
		return s
	case o.Delay < 0:
		return s + "-"
	default:
		return s + "+" + o.Delay.String()
	}
}

func shorts(outs []consumer.Outcome) (all []string) {
	for _, o := range outs {
		all = append(all, short(o))
	}
	return all
}

// deliveries makes one delivery for each id, received for the first time. The
// first letter of the id is the message group.
func deliveries(ids ...string) []*consumer.Delivery {
	ds := make([]*consumer.Delivery, len(ids))
	for i, id := range ids {
		ds[i] = delivery(id, 1)
	}
	return ds
}

// delivery makes the nth delivery of a message.
func delivery(id string, n int) *consumer.Delivery {
	return &consumer.Delivery{
		Message: &consumer.Message{ID: id, Body: "body of " + id, GroupID: id[:1], ReceiveCount: n},
		Receipt: fmt.Sprintf("%s#%d", id, n),
	}
}
