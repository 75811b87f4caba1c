package poller

import (
	"crypto/rand"
	"log/slog"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
)

// maxReceive is how many messages SQS gives in one receive.
const maxReceive = sqsqueue.MaxBatch

// hire starts one more receiver, if there may be one.
func (r *run) hire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n >= r.most || r.open.Err() != nil {
		return
	}
	r.n++
	r.receivers.Go(func() { deeply(r.receive) })
}

// dismiss reports whether the calling receiver is one too many, which no longer
// counts as one then.
func (r *run) dismiss() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == 1 {
		return false
	}
	r.n--
	return true
}

// receive is the life of a receiver. There is always one, which waits when
// receives fail; the others end when they find nothing, or fail.
func (r *run) receive() {
	last := ""
	for failures := 0; ; {
		room, err := r.session.Room(r.open, r.least(), maxReceive)
		if err != nil {
			return // draining
		}
		if last == "" {
			last = r.attempt()
		}
		ds, err := r.poll(room.Size(), last)
		size := room.Size()
		for _, d := range ds {
			d.QueueARN = r.src.about.ARN
		}
		if len(ds) > 0 && r.p.guard != nil {
			r.p.guard.Busy()
		}
		_ = room.Submit(ds...) // it is not closed before the receivers have ended
		switch {
		case err != nil && r.polls.Err() != nil:
			return
		case err != nil:
			failures++
			if !r.failing(err, failures, last) {
				return
			}
			continue
		case len(ds) == size:
			r.hire()
		case len(ds) == 0 && r.dismiss():
			return
		}
		failures, last = 0, ""
	}
}

// attempt is the id of a receive from a FIFO queue: one whose answer was lost and
// that nobody has made again, so that its messages come now, or a new one.
func (r *run) attempt() string {
	if !r.src.about.FIFO {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.lost); n > 0 {
		id := r.lost[n-1]
		r.lost = r.lost[:n-1]
		return id
	}
	return rand.Text()
}

// least is the room that a receive waits for: ten, so that no call is made for
// less. Where Prefetch is less, it is that, so that no slot stays empty for it.
func (r *run) least() int { return min(max(r.p.prefetch(), 1), maxReceive) }

// poll makes one receive.
func (r *run) poll(n int, id string) ([]*consumer.Delivery, error) {
	began := time.Now()
	r.p.pulse.polling(began)
	defer r.p.pulse.polled(began)
	ds, err := r.p.queue.Receive(r.polls, n, r.timing.visibility, id)
	if err == nil {
		r.mu.Lock()
		r.received, r.noise = true, noise{}
		r.mu.Unlock()
	}
	return ds, err
}

// failing takes note of a receive that has failed, and waits before the next. It
// returns false if the receiver is to end.
func (r *run) failing(err error, n int, id string) bool {
	r.mu.Lock()
	first, loud := !r.received, r.noise.due()
	r.mu.Unlock()
	if first && final(err) {
		select {
		case r.failed <- err:
		default:
		}
		return false
	}
	if loud {
		r.p.warn("receiving fails; it is tried again, after growing waits",
			slog.String("error", err.Error()), slog.Int("times", n))
	}
	if r.dismiss() {
		if id != "" {
			r.mu.Lock()
			r.lost = append(r.lost, id)
			r.mu.Unlock()
		}
		return false
	}
	return wait(r.open, waits(n)) == nil
}

// polling and polled keep the pulse of the receives in flight.
func (p *pulse) polling(began time.Time) { p.poll.CompareAndSwap(0, began.UnixNano()) }

func (p *pulse) polled(began time.Time) { p.poll.CompareAndSwap(began.UnixNano(), 0) }
