package sqstest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// What a function can return, and what becomes of a batch of three. ID0 stands
// for the first message's id, and so on.
var goodResponses = []struct {
	name     string
	response string
	kept     []int // positions of the messages that stay
}{
	{"empty list", `{"batchItemFailures":[]}`, nil},
	{"null list", `{"batchItemFailures":null}`, nil},
	{"empty object", `{}`, nil},
	{"other members", `{"processed":3}`, nil},
	{"empty answer", ``, nil},
	{"white space", " \n", nil},
	{"null", `null`, nil},
	{"one id", `{"batchItemFailures":[{"itemIdentifier":"ID1"}]}`, []int{1}},
	{"two ids", `{"batchItemFailures":[{"itemIdentifier":"ID2"},{"itemIdentifier":"ID0"}]}`, []int{0, 2}},
	{"all ids", `{"batchItemFailures":[{"itemIdentifier":"ID0"},{"itemIdentifier":"ID1"},{"itemIdentifier":"ID2"}]}`, []int{0, 1, 2}},
	{"the same id twice", `{"batchItemFailures":[{"itemIdentifier":"ID1"},{"itemIdentifier":"ID1"}]}`, []int{1}},
	{"id with other members", `{"batchItemFailures":[{"why":"x","itemIdentifier":"ID1"}],"n":1}`, []int{1}},
	{"list under another case", `{"BatchItemFailures":[{"itemIdentifier":"ID1"}]}`, nil},
}

// What fails the whole batch, with a part of the error.
var badResponses = []struct{ name, response, reason string }{
	{"wrong key", `{"batchItemFailures":[{"foo":"ID1"}]}`, "[0] has no itemIdentifier"},
	{"key of another case", `{"batchItemFailures":[{"ItemIdentifier":"ID1"}]}`, "no itemIdentifier"},
	{"one wrong key", `{"batchItemFailures":[{"itemIdentifier":"ID0"},{}]}`, "[1] has no itemIdentifier"},
	{"empty id", `{"batchItemFailures":[{"itemIdentifier":""}]}`, "empty itemIdentifier"},
	{"null id", `{"batchItemFailures":[{"itemIdentifier":null}]}`, "empty itemIdentifier"},
	{"null item", `{"batchItemFailures":[null]}`, "no itemIdentifier"},
	{"number as id", `{"batchItemFailures":[{"itemIdentifier":7}]}`, "not a string"},
	{"id not in the batch", `{"batchItemFailures":[{"itemIdentifier":"ID1"},{"itemIdentifier":"zzz"}]}`, `"zzz"`},
	{"plain texts as items", `{"batchItemFailures":["ID1"]}`, "not a list of objects"},
	{"no list", `{"batchItemFailures":"ID1"}`, "not a list of objects"},
	{"truncated JSON", `{"batchItemFailures":[`, "not JSON"},
	{"no JSON", `all fine`, "not JSON"},
	{"two JSON values", `{}{}`, "not JSON"},
	{"JSON text", `"ok"`, "not a JSON object"},
	{"JSON array", `[]`, "not a JSON object"},
}

func TestOutcomeOfResponse(t *testing.T) {
	t.Parallel()
	for _, c := range goodResponses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			checkResponse(t, c.response, c.kept, "", "")
		})
	}
	for _, c := range badResponses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			checkResponse(t, c.response, []int{0, 1, 2}, sqstest.FailureResponse, c.reason)
		})
	}
}

// checkResponse lets a function answer so to three messages.
func checkResponse(t *testing.T, response string, kept []int, failure sqstest.FailureKind, reason string) {
	t.Helper()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		ids := q.Send("a", "b", "c")
		for i, id := range ids {
			response = strings.ReplaceAll(response, fmt.Sprint("ID", i), id)
		}
		v := invokeOnce(t, s, q, sqstest.EventSourceConfig{Handler: answering(response)})
		checkOutcome(t, q, v, positions(ids, kept), failure, reason)
		if string(v.Response) != response {
			t.Errorf("Response is %q, want %q", v.Response, response)
		}
	})
}

// after is a handler that returns success after d, whatever its context says.
func after(d time.Duration) sqstest.HandlerFunc {
	return func(context.Context, []byte) ([]byte, error) {
		time.Sleep(d)
		return listing(), nil
	}
}

var failingHandlers = []struct {
	name    string
	handler sqstest.HandlerFunc
	failure sqstest.FailureKind
	reason  string
}{
	{"error", func(context.Context, []byte) ([]byte, error) { return nil, errBoom }, sqstest.FailureError, "boom"},
	{"error beside an answer", func(context.Context, []byte) ([]byte, error) { return listing(), errBoom }, sqstest.FailureError, "boom"},
	{"panic", func(context.Context, []byte) ([]byte, error) { panic("oh no") }, sqstest.FailurePanic, "oh no"},
	{"nil panic", func(context.Context, []byte) ([]byte, error) { panic(nil) }, sqstest.FailurePanic, "nil"},
	{"Goexit", func(context.Context, []byte) ([]byte, error) { runtime.Goexit(); return nil, nil }, sqstest.FailurePanic, "Goexit"},
	{"timeout", after(35 * time.Second), sqstest.FailureTimeout, "Task timed out after 30.00 seconds"},
	{"return at the deadline", after(30 * time.Second), sqstest.FailureTimeout, "Task timed out after 30.00 seconds"},
	{"context honoured too late", func(ctx context.Context, _ []byte) ([]byte, error) {
		<-ctx.Done()
		return listing(), nil
	}, sqstest.FailureTimeout, "Task timed out after 30.00 seconds"},
	{"answer of more than 6 MB", func(context.Context, []byte) ([]byte, error) {
		return make([]byte, 6<<20+1), nil
	}, sqstest.FailureError, "6291457 bytes"},
}

func TestOutcomeOfFailure(t *testing.T) {
	t.Parallel()
	for _, c := range failingHandlers {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mappingBubble(t, func(b bubble) {
				t, s := b.t, b.server
				q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: time.Hour})
				ids := q.Send("a", "b", "c")
				v := invokeOnce(t, s, q, sqstest.EventSourceConfig{Handler: c.handler})
				checkOutcome(t, q, v, ids, c.failure, c.reason)
				if v.Response != nil {
					t.Errorf("Response is %q, want none: Lambda drops it", v.Response)
				}
			})
		})
	}
}

// invokeOnce runs the event source until the first invocation is over.
func invokeOnce(t *testing.T, s *sqstest.Server, q *sqstest.Queue, cfg sqstest.EventSourceConfig) sqstest.Invocation {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []sqstest.Invocation
	cfg.Client, cfg.QueueURL, cfg.Concurrency = s.Client(), q.URL(), 1
	cfg.Observe = func(v sqstest.Invocation) { got = append(got, v); cancel() }
	source, err := sqstest.NewEventSource(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Run(ctx); err != nil {
		t.Fatalf("Run: %v", err)
	}
	if len(got) != 1 {
		t.Fatalf("%d invocations, want 1", len(got))
	}
	return got[0]
}

// checkOutcome compares what an invocation says with what is in the queue.
func checkOutcome(t *testing.T, q *sqstest.Queue, v sqstest.Invocation, kept []string, failure sqstest.FailureKind, reason string) {
	t.Helper()
	var left []string
	for _, m := range q.Messages() {
		left = append(left, m.ID)
		if m.ReceiveCount != 1 {
			t.Errorf("message %s was received %d times, want 1", m.ID, m.ReceiveCount)
		}
	}
	if diff := cmp.Diff(kept, left); diff != "" {
		t.Errorf("left in the queue (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(kept, v.Kept); diff != "" {
		t.Errorf("Kept (-want +got):\n%s", diff)
	}
	if got := len(v.Deleted) + len(v.Kept); got != len(v.IDs) {
		t.Errorf("%d deleted or kept, want %d", got, len(v.IDs))
	}
	if v.Failure != failure {
		t.Errorf("Failure is %q, want %q", v.Failure, failure)
	}
	switch {
	case failure == "" && v.Err != nil:
		t.Errorf("Err is %v, want none", v.Err)
	case failure != "" && (v.Err == nil || !strings.Contains(v.Err.Error(), reason)):
		t.Errorf("Err is %v, want one with %q", v.Err, reason)
	}
}

func positions(ids []string, positions []int) []string {
	var out []string
	for _, i := range positions {
		out = append(out, ids[i])
	}
	return out
}
