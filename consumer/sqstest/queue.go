package sqstest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// QueueConfig configures a queue made by [Server.CreateQueue]. Zero fields mean
// the defaults of SQS. A name that ends in .fifo makes a FIFO queue.
type QueueConfig struct {
	// Visibility is the default visibility timeout, whole seconds up to 12 h.
	// Default: 30 s. Negative: 0.
	Visibility time.Duration
	// Delay hides new messages, whole seconds up to 15 min. Default: 0.
	Delay time.Duration
	// Retention is how long messages are kept, 60 s to 14 days. Default: 4 days.
	Retention time.Duration
	// ReceiveWait is how long a receive waits that does not say, up to 20 s.
	// Default: 0, a short poll.
	ReceiveWait time.Duration
	// MaxMessageSize in bytes, 1 KiB to 1 MiB. Default: 1 MiB.
	MaxMessageSize int
	// DeadLetter, if set, gets the messages that were received MaxReceives
	// times. It must be of the same kind.
	DeadLetter *Queue
	// MaxReceives is the maxReceiveCount of the redrive policy, 1 to 1000.
	// Default: 10. It is ignored without DeadLetter.
	MaxReceives int
	// ContentBasedDeduplication is for FIFO queues.
	ContentBasedDeduplication bool
	// Attributes are any others, by their SQS names and as texts. They win over
	// the fields above.
	Attributes map[string]string
}

// attributes spells the configuration as CreateQueue takes it.
func (c QueueConfig) attributes(fifo bool) map[string]string {
	out := make(map[string]string)
	for name, d := range map[string]time.Duration{
		"VisibilityTimeout": c.Visibility, "DelaySeconds": c.Delay,
		"MessageRetentionPeriod": c.Retention, "ReceiveMessageWaitTimeSeconds": c.ReceiveWait,
	} {
		if d != 0 {
			out[name] = strconv.FormatInt(int64(max(d, 0)/time.Second), 10)
		}
	}
	if c.MaxMessageSize != 0 {
		out["MaximumMessageSize"] = strconv.Itoa(c.MaxMessageSize)
	}
	if c.DeadLetter != nil {
		receives := c.MaxReceives
		if receives == 0 {
			receives = defaultMaxReceives
		}
		policy, _ := json.Marshal(map[string]any{
			"deadLetterTargetArn": c.DeadLetter.ARN(), "maxReceiveCount": receives,
		})
		out["RedrivePolicy"] = string(policy)
	}
	if fifo {
		out["FifoQueue"] = "true"
	}
	if c.ContentBasedDeduplication {
		out["ContentBasedDeduplication"] = "true"
	}
	maps.Copy(out, c.Attributes)
	return out
}

// CreateQueue makes a queue, without an API call, or returns the one of that
// name if the configuration agrees. The error is what SQS would answer, an
// [*Error].
func (s *Server) CreateQueue(name string, q QueueConfig) (*Queue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	made, err := s.create(name, q.attributes(isFIFO(name)), nil, time.Now())
	if err != nil {
		return nil, fmt.Errorf("sqstest: queue %s: %w", name, err)
	}
	return &Queue{s: s, q: made}, nil
}

// Queue returns the queue of that name, nil if there is none: for queues that
// the program under test created.
func (s *Server) Queue(name string) *Queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[name]; q != nil {
		return &Queue{s: s, q: q}
	}
	return nil
}

func isFIFO(name string) bool { return len(name) > 5 && name[len(name)-5:] == ".fifo" }

// Queue is a test's own access to a queue, beside the API: nothing it does is a
// call that [Server.Calls] counts, and no fault touches it. It is safe for
// concurrent use.
type Queue struct {
	s *Server
	q *queue
}

// Name returns the queue's name.
func (q *Queue) Name() string { return q.q.name }

// ARN returns the queue's ARN.
func (q *Queue) ARN() string { return q.q.arn }

// URL returns the queue's URL, as clients from [Server.Client] know it, or under
// the address of the first [Server.Listen]. The server takes either.
func (q *Queue) URL() string {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	return q.s.url(q.s.baseURL, q.q.name)
}

// State says where a message is.
type State string

// The states of a message.
const (
	Visible  State = "visible"   // waiting to be received
	InFlight State = "in flight" // hidden by a receive or a visibility change
	Delayed  State = "delayed"   // sent with a delay that has not passed
)

// MessageState is what a queue holds of one message.
type MessageState struct {
	ID, Body, GroupID, DeduplicationID, SequenceNumber string
	// Attributes are the message attributes; shared, do not change them.
	Attributes map[string]types.MessageAttributeValue
	// System are the system attributes as a receive would return them.
	System map[string]string
	// ReceiveCount is how often the message was received.
	ReceiveCount int
	State        State
	// VisibleAt is when a message that is in flight or delayed becomes visible;
	// zero for a visible one. A visible message of a FIFO queue may still have
	// to wait for an earlier one of its group.
	VisibleAt time.Time
	// SentAt is when it was sent, to the original queue if it was moved here
	// from a standard one.
	SentAt time.Time
	// FirstReceivedAt is zero if it never was.
	FirstReceivedAt time.Time
	// SourceARN is the queue that a redrive policy moved it from, "" if none.
	SourceARN string
}

// Messages returns what is in the queue now, in the order of arrival.
func (q *Queue) Messages() []MessageState {
	var out []MessageState
	q.view(func(now time.Time) {
		held := slices.SortedFunc(maps.Values(q.q.byKey), func(a, b *message) int {
			return int(int64(a.pos) - int64(b.pos)) //nolint:gosec // positions are far below 2^63
		})
		for _, m := range held {
			out = append(out, m.snapshot())
		}
	})
	return out
}

func (m *message) snapshot() MessageState {
	out := MessageState{
		ID: m.id, Body: m.body, GroupID: m.group, DeduplicationID: m.dedup, SequenceNumber: m.sequence,
		Attributes: m.attrs, System: make(map[string]string), ReceiveCount: m.receives, State: Visible,
		SentAt: m.sentAt, FirstReceivedAt: m.firstReceivedAt, SourceARN: m.source,
	}
	switch m.state {
	case stateInFlight:
		out.State, out.VisibleAt = InFlight, m.visibleAt
	case stateDelayed:
		out.State, out.VisibleAt = Delayed, m.visibleAt
	default: // a message in a queue is visible otherwise
	}
	for _, name := range systemAttributes {
		if v := m.system(name); v != "" {
			out.System[name] = v
		}
	}
	return out
}

// view runs f on the queue as it is now, with the server locked.
func (q *Queue) view(f func(now time.Time)) {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	now := time.Now()
	q.q.advance(now)
	f(now)
	q.q.notify()
}

// Visible counts the messages waiting to be received.
func (q *Queue) Visible() (n int) {
	q.view(func(time.Time) { n = q.q.visible() })
	return n
}

// InFlight counts the messages hidden by a receive or a visibility change.
func (q *Queue) InFlight() (n int) {
	q.view(func(time.Time) { n = q.q.inFlight })
	return n
}

// Delayed counts the messages whose delay has not passed.
func (q *Queue) Delayed() (n int) {
	q.view(func(time.Time) { n = q.q.delayed })
	return n
}

// Len counts all messages.
func (q *Queue) Len() (n int) {
	q.view(func(time.Time) { n = len(q.q.byKey) })
	return n
}
