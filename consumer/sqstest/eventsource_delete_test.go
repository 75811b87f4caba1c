package sqstest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

func TestDeletes(t *testing.T) {
	t.Parallel()
	retryable := []sqstest.EntryFault{{Index: 3}}
	for _, c := range []struct {
		name  string
		fault sqstest.Fault
		calls int
		errs  int
		left  int
	}{
		{"no fault", sqstest.Fault{Times: -1, Match: func(sqstest.Call) bool { return false }}, 3, 0, 0},
		{"entry fails once", sqstest.Fault{Entries: retryable}, 4, 0, 0},
		{"entry fails for ever", sqstest.Fault{Entries: []sqstest.EntryFault{{Index: sqstest.AllEntries}}, Times: 3}, 5, 10, 10},
		{"sender's fault", sqstest.Fault{Entries: []sqstest.EntryFault{{Index: 3, SenderFault: true, Code: "Nope"}}}, 3, 1, 1},
		{"call denied", sqstest.Fault{Err: sqstest.AccessDenied()}, 3, 10, 10},
		{"response lost", sqstest.Fault{LoseResponse: true}, 4, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mappingBubble(t, func(b bubble) {
				t, s := b.t, b.server
				q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: time.Hour})
				q.Send(make25()...)
				c.fault.Action = "DeleteMessageBatch"
				s.Inject(c.fault)
				v := invokeOnce(t, s, q, sqstest.EventSourceConfig{BatchSize: 25, Window: time.Second, Handler: answering("")})
				if got := s.CallsBy(sqstest.EventSourceCaller)["DeleteMessageBatch"]; got != c.calls {
					t.Errorf("%d delete calls, want %d", got, c.calls)
				}
				if len(v.DeleteErrors) != c.errs || len(v.Kept) != c.left || q.Len() != c.left {
					t.Errorf("%d errors, %d kept, %d left; want %d, %d, %d", len(v.DeleteErrors), len(v.Kept), q.Len(), c.errs, c.left, c.left)
				}
			})
		})
	}
}

// An entry that the answer leaves out was not deleted, as far as anybody knows.
func TestDeleteAnswerLeavesEntryOut(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: time.Hour})
		ids := q.Send("a", "b")
		inner := s.HTTPClient().Transport
		client := s.Client(func(o *sqs.Options) {
			o.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				resp, err := inner.RoundTrip(r)
				if r.Header.Get("X-Amz-Target") == "AmazonSQS.DeleteMessageBatch" && err == nil {
					resp.Body = io.NopCloser(strings.NewReader(`{"Successful":[{"Id":"1"}],"Failed":[]}`))
				}
				return resp, err
			})}
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var got sqstest.Invocation
		source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{
			Client: client, QueueURL: q.URL(), Handler: answering(""),
			Observe: func(v sqstest.Invocation) { got = v; cancel() },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := source.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ids[:1], got.Kept); diff != "" || got.DeleteErrors[ids[0]] == nil {
			t.Errorf("errors %v, kept (-want +got):\n%s", got.DeleteErrors, diff)
		}
	})
}

// A message that is in the batch twice is one message: listed once, both stay.
func TestSameMessageTwiceInBatch(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: time.Hour})
		id := q.Send("a")[0]
		s.Inject(sqstest.Fault{Action: "ReceiveMessage", Twice: true})
		h := handling(func(_ context.Context, e events.SQSEvent) ([]string, error) {
			return []string{e.Records[0].MessageId}, nil
		})
		v := invokeOnce(t, s, q, sqstest.EventSourceConfig{Window: time.Second, Handler: h})
		if diff := cmp.Diff([]string{id, id}, v.Kept); diff != "" || v.Failure != "" || q.Len() != 1 {
			t.Errorf("failure %q, %d left, kept (-want +got):\n%s", v.Failure, q.Len(), diff)
		}
	})
}
