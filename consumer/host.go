package consumer

import (
	"context"
	"time"
)

// Queue is what a host knows about the queue it receives from. Zero values
// mean unknown; only ARN and FIFO are needed.
type Queue struct {
	ARN, Name string
	// FIFO is decided by the .fifo suffix of the queue's name, never by the
	// presence of a message group.
	FIFO bool
	// Visibility is the queue's visibility timeout, or the one the host asks
	// for on each receive.
	Visibility time.Duration
	// Retention is how long the queue keeps a message.
	Retention time.Duration
	// MaxReceives is the maxReceiveCount of the queue's redrive policy.
	MaxReceives int
}

// Delivery is one receive of a message.
type Delivery struct {
	*Message
	// Receipt is the receipt handle of this receive.
	Receipt string
	// VisibleUntil is when the message becomes visible to others unless it is
	// extended; zero if the host does not know (Lambda does not). A session that
	// extends it keeps this up to date.
	VisibleUntil time.Time
	// Invalid is set by a host that could not decode the message. Such a
	// delivery never reaches the handler and is never parked, since it cannot
	// be copied faithfully: it is rejected with this error, and on a FIFO queue
	// it is a failed head of its group.
	Invalid error

	// hideLimit is when the 12 hours are over, less a margin, in Unix
	// nanoseconds.
	hideLimit int64
}

// Verdict is what became of a delivery.
type Verdict uint8

// The verdicts. The zero value is VerdictRetry, so an outcome that nobody
// filled in is reported to SQS as failed and never lost.
const (
	// VerdictRetry: the handler failed and the message comes back later.
	VerdictRetry Verdict = iota
	// VerdictDone: the handler returned nil; the message leaves the queue.
	VerdictDone
	// VerdictDuplicate: an earlier delivery completed the work; the message
	// leaves the queue without a run.
	VerdictDuplicate
	// VerdictDeferred: the handler was not given (or not left) its chance; the
	// message comes back and no attempt is counted.
	VerdictDeferred
	// VerdictRejected: trying again cannot help. The message leaves the queue
	// only if it was parked; otherwise SQS's own redrive policy takes it.
	VerdictRejected
)

var verdictNames = [...]string{"retry", "done", "duplicate", "deferred", "rejected"}

// String returns the verdict's name as docs, logs and metrics spell it.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return "unknown"
}

// Outcome is the result of one delivery.
type Outcome struct {
	Delivery *Delivery
	// Err says why, for every verdict but done and duplicate.
	Err error
	// Attempt is the number of the attempt; 0 if the handler was not entered.
	Attempt int
	// Tries is how often the handler was called in this delivery.
	Tries int
	// Delay is how long the message should stay invisible from now on, in
	// whole seconds, if it is not acknowledged. 0 makes it visible at once;
	// negative leaves its visibility as it is.
	Delay   time.Duration
	Verdict Verdict
	// Parked says that a rejected message was copied to a dead-letter queue,
	// and that the copy was confirmed.
	Parked bool
}

// Acknowledged reports whether the message leaves the queue: its work is done,
// or it is safely parked.
func (o *Outcome) Acknowledged() bool {
	switch o.Verdict {
	case VerdictDone, VerdictDuplicate:
		return true
	case VerdictRejected:
		return o.Parked
	default:
		return false
	}
}

// Source is a host's side of a queue: what the pipeline needs to keep and to
// settle the deliveries it was given.
//
// All methods are called from several goroutines at once. They return a slice
// that is positional to the argument, or nil if everything went well; they do
// not keep the argument slices after they return, but may keep the deliveries.
// They retry what is worth it themselves: the pipeline does not call again.
type Source interface {
	// Queue describes the queue. It is called once, when a session opens.
	Queue() Queue
	// Extend keeps deliveries invisible until d from now.
	Extend(ctx context.Context, ds []*Delivery, d time.Duration) []error
	// Settle tells SQS the verdicts. An acknowledgement (see
	// [Outcome.Acknowledged]) returns once it is confirmed, with an error if it
	// could not be. The rest is an extra: it is taken over at once and sent by
	// tens, and an error there changes nothing.
	Settle(ctx context.Context, os []Outcome) []error
	// Flush sends what Settle took over and has not sent. A session calls it
	// once, when it closes; nothing is settled afterwards.
	Flush(ctx context.Context) error
}

// DeadLetter parks messages that were rejected: it copies them durably to a
// place of its own.
type DeadLetter interface {
	// Park copies the message of a rejected outcome and returns nil only if
	// the copy is confirmed to be durable; the original is acknowledged then.
	// It is called from several goroutines, once per rejected delivery (a crash
	// between parking and acknowledging parks twice), and blocks until ctx ends
	// at the longest.
	Park(ctx context.Context, q Queue, o Outcome) error
}
