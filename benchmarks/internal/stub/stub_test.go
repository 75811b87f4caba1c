package stub_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ackwise/ackwise/benchmarks/internal/stub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inProcess answers a client's requests without a socket.
type inProcess struct{ h http.Handler }

func (p inProcess) Do(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.h.ServeHTTP(w, r)
	return w.Result(), nil
}

func newClient(s *stub.Server) *sqs.Client {
	return sqs.New(sqs.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String("http://stub.test"),
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient:   inProcess{s},
	})
}

// load loads n messages and returns the URL of their queue.
func load(s *stub.Server, n int) *string { return aws.String("http://stub.test" + s.Load(n)) }

func receive(t *testing.T, c *sqs.Client, url *string, n int32, all bool) []types.Message {
	t.Helper()
	in := &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: n}
	if all {
		in.MessageSystemAttributeNames = []types.MessageSystemAttributeName{"All"}
	}
	out, err := c.ReceiveMessage(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out.Messages
}

// The SDK checks every MD5, so a wrong one fails here.
func TestReceive(t *testing.T) {
	t.Parallel()
	s := stub.New(0)
	url := load(s, 23)
	c := newClient(s)
	var sizes []int
	seen := make(map[string]bool)
	for range 4 {
		messages := receive(t, c, url, 10, true)
		sizes = append(sizes, len(messages))
		for _, m := range messages {
			if got, want := aws.ToString(m.Body), stub.Body(len(seen)); got != want {
				t.Errorf("body %d is %q, want %q", len(seen), got, want)
			}
			if got := m.Attributes["ApproximateReceiveCount"]; got != "1" {
				t.Errorf("ApproximateReceiveCount is %q, want 1", got)
			}
			seen[aws.ToString(m.MessageId)] = true
		}
	}
	if diff := cmp.Diff([]int{10, 10, 3, 0}, sizes); diff != "" {
		t.Errorf("messages by receive (-want +got):\n%s", diff)
	}
	if len(seen) != 23 {
		t.Errorf("%d ids for 23 messages", len(seen))
	}
	want := stub.Stats{Calls: map[string]int{"ReceiveMessage": 4}, Received: 23, InHand: 23}
	if diff := cmp.Diff(want, s.Stats()); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

func TestAttributesOnlyOnDemand(t *testing.T) {
	t.Parallel()
	s := stub.New(0)
	url := load(s, 1)
	if got := receive(t, newClient(s), url, 1, false)[0].Attributes; len(got) != 0 {
		t.Errorf("attributes %v came unasked", got)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := stub.New(0)
	url := load(s, 1)
	c := newClient(s)
	old := receive(t, c, url, 10, false)[0].ReceiptHandle
	url = load(s, 3)
	messages := receive(t, c, url, 10, false)
	remove := func(h *string) error {
		_, err := c.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: h})
		return err
	}
	done := func() bool {
		select {
		case <-s.Done():
			return true
		default:
			return false
		}
	}

	for i, h := range []*string{messages[0].ReceiptHandle, messages[1].ReceiptHandle, messages[0].ReceiptHandle} {
		if err := remove(h); err != nil {
			t.Errorf("delete %d: %v", i, err)
		}
	}
	var api smithy.APIError
	if err := remove(old); !errors.As(err, &api) || api.ErrorCode() != "ReceiptHandleIsInvalid" {
		t.Errorf("deleting by an older load's handle: %v, want ReceiptHandleIsInvalid", err)
	}
	if done() {
		t.Error("done with one message left")
	}
	if err := remove(messages[2].ReceiptHandle); err != nil {
		t.Fatal(err)
	}
	if !done() {
		t.Error("not done although all are deleted")
	}
	// All three were handed out before the first was deleted.
	want := stub.Stats{
		Calls:    map[string]int{"ReceiveMessage": 1, "DeleteMessage": 5},
		Received: 3, Deleted: 3, InHand: 3,
	}
	if diff := cmp.Diff(want, s.Stats()); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

func TestDeleteBatch(t *testing.T) {
	t.Parallel()
	s := stub.New(0)
	url := load(s, 2)
	c := newClient(s)
	messages := receive(t, c, url, 10, false)
	in := &sqs.DeleteMessageBatchInput{QueueUrl: url}
	handles := []*string{messages[0].ReceiptHandle, aws.String("1.x."), messages[1].ReceiptHandle}
	for i, h := range handles {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), ReceiptHandle: h,
		})
	}
	out, err := c.DeleteMessageBatch(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range out.Successful {
		got = append(got, aws.ToString(e.Id))
	}
	for _, e := range out.Failed {
		got = append(got, aws.ToString(e.Id)+" "+aws.ToString(e.Code))
	}
	if diff := cmp.Diff([]string{"0", "2", "1 ReceiptHandleIsInvalid"}, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := stub.New(10 * time.Millisecond)
		c := newClient(s)
		url := load(s, 0)
		poll := func(ctx context.Context) (time.Duration, error) {
			began := time.Now()
			_, err := c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 20})
			return time.Since(began), err
		}
		if got, err := poll(t.Context()); err != nil || got != 20*time.Second+10*time.Millisecond {
			t.Errorf("an empty long poll took %v (%v), want 20.01s", got, err)
		}
		time.AfterFunc(3*time.Second, func() { load(s, 1) })
		if got, err := poll(t.Context()); err != nil || got != 3*time.Second {
			t.Errorf("a long poll ended by the next load took %v (%v), want 3s", got, err)
		}
		url = load(s, 1)
		if got, err := poll(t.Context()); err != nil || got != 10*time.Millisecond {
			t.Errorf("a receive of a message took %v (%v), want 10ms", got, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got, _ := poll(ctx); got != time.Second {
			t.Errorf("a long poll whose caller left took %v, want 1s", got)
		}
	})
}

func TestOtherCalls(t *testing.T) {
	t.Parallel()
	s := stub.New(0)
	url, c := load(s, 0), newClient(s)
	out, err := c.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: url})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Attributes["VisibilityTimeout"]; got != "30" {
		t.Errorf("VisibilityTimeout is %q, want 30", got)
	}
	var policy struct{ MaxReceiveCount int }
	if err := json.Unmarshal([]byte(out.Attributes["RedrivePolicy"]), &policy); err != nil || policy.MaxReceiveCount != 100 {
		t.Errorf("maxReceiveCount is %d (%v), want 100", policy.MaxReceiveCount, err)
	}
	change, err := c.ChangeMessageVisibilityBatch(t.Context(), &sqs.ChangeMessageVisibilityBatchInput{
		QueueUrl: url,
		Entries:  []types.ChangeMessageVisibilityBatchRequestEntry{{Id: aws.String("a"), ReceiptHandle: aws.String("h")}},
	})
	if err != nil || len(change.Successful) != 1 {
		t.Errorf("visibility by batch: %+v, %v, want one success", change, err)
	}
	var api smithy.APIError
	_, err = c.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: url})
	if !errors.As(err, &api) || !strings.HasSuffix(api.ErrorCode(), "UnsupportedOperation") {
		t.Errorf("PurgeQueue: %v, want UnsupportedOperation", err)
	}
}

// A call that was on its way when the next load began must not take from it.
func TestLateCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := stub.New(time.Second)
		old := load(s, 0)
		time.AfterFunc(500*time.Millisecond, func() { load(s, 5) })
		c := newClient(s)
		if got := receive(t, c, old, 10, false); len(got) != 0 {
			t.Errorf("a receive begun before the load got %d of its messages", len(got))
		}
		var missing *types.QueueDoesNotExist
		if _, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: old}); !errors.As(err, &missing) {
			t.Errorf("a receive from the queue before: %v, want QueueDoesNotExist", err)
		}
		if got := s.Stats(); got.Received != 0 || len(got.Calls) != 0 {
			t.Errorf("late calls count for the new load: %+v", got)
		}
	})
}

func TestBodies(t *testing.T) {
	t.Parallel()
	const all = 1000
	slow, tens := 0, make(map[int]int) // tens: how many runs of ten have so many
	for i := 0; i < all; i += 10 {
		here := 0
		for j := i; j < i+10; j++ {
			body := stub.Body(j)
			if !json.Valid([]byte(body)) || len(body) != len(stub.Body(0)) {
				t.Fatalf("body %d is %q: not JSON, or of another length", j, body)
			}
			if stub.Slow(body) {
				here++
			}
		}
		slow += here
		tens[here]++
	}
	if slow != all/stub.SlowOneIn {
		t.Errorf("%d of %d are slow, want one in %d", slow, all, stub.SlowOneIn)
	}
	if tens[0] == 0 || tens[2] == 0 {
		t.Errorf("slow bodies per ten: %v, want them spread unevenly", tens)
	}
}
