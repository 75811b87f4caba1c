package sqstest_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// mapped is a queue with an event source, in a synctest bubble.
type mapped struct {
	t      *testing.T
	server *sqstest.Server
	queue  *sqstest.Queue
	source *sqstest.EventSource
	start  time.Time

	mu   sync.Mutex
	seen []sqstest.Invocation
}

// bubble is virtual time and a server in it.
type bubble struct {
	t      *testing.T
	server *sqstest.Server
}

// mappingBubble runs f with virtual time. The server is closed, and everything
// joined, when it returns.
func mappingBubble(t *testing.T, f func(b bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := sqstest.NewServer(sqstest.Config{})
		defer s.Close()
		f(bubble{t: t, server: s})
	})
}

func makeQueue(t *testing.T, s *sqstest.Server, name string, cfg sqstest.QueueConfig) *sqstest.Queue {
	t.Helper()
	q, err := s.CreateQueue(name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// mapTo makes the event source of a queue that is there. Client, QueueURL and
// Observe are filled in.
func mapTo(t *testing.T, s *sqstest.Server, q *sqstest.Queue, cfg sqstest.EventSourceConfig) *mapped {
	t.Helper()
	m := &mapped{t: t, server: s, queue: q, start: time.Now()}
	cfg.Client, cfg.QueueURL = s.Client(), q.URL()
	cfg.Observe = func(v sqstest.Invocation) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.seen = append(m.seen, v)
	}
	var err error
	if m.source, err = sqstest.NewEventSource(cfg); err != nil {
		t.Fatal(err)
	}
	return m
}

// drain drains within three virtual weeks, which is longer than any retention.
func (m *mapped) drain() {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 21*24*time.Hour)
	defer cancel()
	if err := m.source.Drain(ctx); err != nil {
		m.t.Fatalf("Drain: %v", err)
	}
}

// invocations returns what Observe saw.
func (m *mapped) invocations() []sqstest.Invocation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]sqstest.Invocation(nil), m.seen...)
}

// elapsed is the virtual time since the source was made.
func (m *mapped) elapsed() time.Duration { return time.Since(m.start) }

// answering is a function that always returns the same bytes.
func answering(response string) sqstest.Handler {
	return sqstest.HandlerFunc(func(context.Context, []byte) ([]byte, error) { return []byte(response), nil })
}

// handling is a function of a decoded event: it returns the ids that failed, or an
// error.
func handling(f func(ctx context.Context, e events.SQSEvent) ([]string, error)) sqstest.Handler {
	return sqstest.HandlerFunc(func(ctx context.Context, payload []byte) ([]byte, error) {
		var e events.SQSEvent
		if err := json.Unmarshal(payload, &e); err != nil {
			return nil, err
		}
		failed, err := f(ctx, e)
		if err != nil {
			return nil, err
		}
		return listing(failed...), nil
	})
}

// listing makes the answer that lists ids.
func listing(ids ...string) []byte {
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, id := range ids {
		answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
	}
	out, _ := json.Marshal(answer)
	return out
}

// recordBodies lists the bodies of an event's records.
func recordBodies(e events.SQSEvent) []string {
	var out []string
	for _, r := range e.Records {
		out = append(out, r.Body)
	}
	return out
}
