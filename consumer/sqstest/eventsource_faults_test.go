package sqstest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

func TestRefusedAtStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		url  string
		want string
	}{
		{"no such queue", "https://sqs.us-east-1.amazonaws.com/000000000000/nobody", "NonExistentQueue"},
		{"visibility below the timeout", "", "visibility timeout is 29s, less than Timeout (30s)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mappingBubble(t, func(b bubble) {
				t, s := b.t, b.server
				q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: 29 * time.Second})
				url := c.url
				if url == "" {
					url = q.URL()
				}
				source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{Client: s.Client(), QueueURL: url, Handler: answering("")})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				for name, start := range map[string]func(context.Context) error{"Run": source.Run, "Drain": source.Drain} {
					if err := start(ctx); err == nil || !strings.Contains(err.Error(), c.want) {
						t.Errorf("%s: %v, want an error with %q", name, err, c.want)
					}
				}
			})
		})
	}
}

// What passes is waited out; what does not ends the run.
func TestReceiveErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		fault  sqstest.Fault
		want   string // in Drain's error, "" if none
		errors int    // receives that failed
	}{
		{"throttled", sqstest.Fault{Err: sqstest.Throttled(), Times: 6}, "", 2},
		{"over the limit", sqstest.Fault{Err: sqstest.OverLimit(), Times: 2}, "", 2},
		{"KMS throttled", sqstest.Fault{Err: sqstest.KMSThrottled(), Times: 1}, "", 1},
		{"server error", sqstest.Fault{Err: sqstest.InternalError(), Times: 3}, "", 1},
		{"damaged bodies", sqstest.Fault{CorruptMD5: true}, "", 1},
		{"lost responses", sqstest.Fault{LoseResponse: true, Times: 3}, "", 1},
		{"access denied", sqstest.Fault{Err: sqstest.AccessDenied()}, "AccessDenied", 1},
		{"throttled for ever", sqstest.Fault{Err: sqstest.Throttled(), Times: -1}, "10 receives in a row failed", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mappingBubble(t, func(b bubble) {
				t, s := b.t, b.server
				q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
				q.Send("a")
				c.fault.Action = "ReceiveMessage"
				s.Inject(c.fault)
				m := mapTo(t, s, q, sqstest.EventSourceConfig{Handler: answering("")})
				err := m.source.Drain(t.Context())
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("Drain: %v, want %q", err, c.want)
				}
				if got := m.source.Stats().ReceiveErrors; got != c.errors {
					t.Errorf("%d receive errors, want %d", got, c.errors)
				}
				if left := q.Len(); (left == 0) != (c.want == "") {
					t.Errorf("%d messages left", left)
				}
			})
		})
	}
}

func TestQueueOrServerGoesAway(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(s *sqstest.Server, q *sqstest.Queue){
		"server closed": func(s *sqstest.Server, _ *sqstest.Queue) { s.Close() },
		"queue deleted": func(s *sqstest.Server, q *sqstest.Queue) {
			_, _ = s.Client().DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: new(q.URL())})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, wrap := range []bool{false, true} {
				mappingBubble(t, func(b bubble) {
					t, s := b.t, b.server
					q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
					client := s.Client()
					if wrap {
						client = elsewhere(s)
					}
					source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{Client: client, QueueURL: q.URL(), Handler: answering("")})
					if err != nil {
						t.Fatal(err)
					}
					began := time.Now()
					time.AfterFunc(time.Minute, func() { away(s, q) })
					if err := source.Run(t.Context()); err == nil {
						t.Error("Run returned nil, want an error")
					}
					if took := time.Since(began); took > 90*time.Second {
						t.Errorf("Run returned after %v, want it at once after a minute", took)
					}
				})
			}
		})
	}
}

// A receive that succeeds makes the ones before it forgotten.
func TestReceiveErrorsInARow(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		q.Send("a", "b")
		s.Inject(sqstest.Fault{Action: "ReceiveMessage", Err: sqstest.OverLimit(), Times: 9})
		s.Inject(sqstest.Fault{Action: "ReceiveMessage", Err: sqstest.OverLimit(), Times: 9, After: 1})
		m := mapTo(t, s, q, sqstest.EventSourceConfig{BatchSize: 1, Handler: answering("")})
		m.drain()
		if got := m.source.Stats(); got.ReceiveErrors != 18 || got.Deleted != 2 {
			t.Errorf("stats are %+v, want 18 receive errors and 2 deleted", got)
		}
	})
}

// elsewhere is a client whose transport does not show that it leads to s, like
// one of an endpoint in another process.
func elsewhere(s *sqstest.Server) *sqs.Client {
	inner := s.HTTPClient().Transport
	return s.Client(func(o *sqs.Options) {
		o.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) { return inner.RoundTrip(r) })}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The context ends while an error is waited out: Run is done, Drain is not.
func TestContextEndsDuringPause(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		q.Send("a")
		s.Inject(sqstest.Fault{Action: "ReceiveMessage", Err: sqstest.Throttled(), Times: -1})
		m := mapTo(t, s, q, sqstest.EventSourceConfig{Handler: answering("")})
		for _, c := range []struct {
			name  string
			start func(context.Context) error
			want  error
		}{{"Run", m.source.Run, nil}, {"Drain", m.source.Drain, context.DeadlineExceeded}} {
			ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
			defer cancel()
			began := time.Now()
			if err := c.start(ctx); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
			if took := time.Since(began); took != 40*time.Second {
				t.Errorf("%s took %v, want 40s", c.name, took)
			}
		}
	})
}

// Elsewhere, the counts may fail to come for a while.
func TestDrainElsewhereWithoutCounts(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		q.Send("a")
		source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{Client: elsewhere(s), QueueURL: q.URL(), Handler: answering("")})
		if err != nil {
			t.Fatal(err)
		}
		s.Inject(sqstest.Fault{Action: "GetQueueAttributes", After: 1, Err: sqstest.KMSThrottled()})
		if err := source.Drain(t.Context()); err != nil || q.Len() != 0 {
			t.Errorf("Drain: %v, with %d messages left", err, q.Len())
		}
		s.Inject(sqstest.Fault{Action: "GetQueueAttributes", Err: sqstest.AccessDenied()})
		if err := source.Drain(t.Context()); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("Drain: %v, want AccessDenied", err)
		}
	})
}

// Against any other endpoint the same is done with long polls and the counts of
// GetQueueAttributes.
func TestDrainElsewhere(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: 5 * time.Minute})
		q.Send("a")
		var at []time.Duration
		start := time.Now()
		source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{Client: elsewhere(s), QueueURL: q.URL(), Handler: failTimes(1, &at)})
		if err != nil {
			t.Fatal(err)
		}
		if err := source.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]time.Duration{0, 5 * time.Minute}, at); diff != "" {
			t.Errorf("deliveries (-want +got):\n%s", diff)
		}
		if took := time.Since(start); took > 5*time.Minute+time.Second {
			t.Errorf("quiet after %v, want no more than a second after 5m0s", took)
		}
		if got := s.CallsBy(sqstest.EventSourceCaller)["ReceiveMessage"]; got < 15 || got > 19 {
			t.Errorf("%d receives, want one for about 20 s", got)
		}
		if got := s.Calls().Total(); got != 0 {
			t.Errorf("%d calls counted as the program's own, want 0: %v", got, s.Calls())
		}
	})
}

// The error of a receive that ends a run is the SDK's, for errors.As.
func TestReceiveErrorIsTyped(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		q.Send("a")
		s.Inject(sqstest.Fault{Action: "ReceiveMessage", Err: sqstest.AccessDenied()})
		m := mapTo(t, s, q, sqstest.EventSourceConfig{Handler: answering("")})
		err := m.source.Drain(t.Context())
		if answered, ok := errors.AsType[smithy.APIError](err); !ok || answered.ErrorCode() != "AccessDenied" {
			t.Errorf("Drain: %v, want AccessDenied", err)
		}
	})
}
