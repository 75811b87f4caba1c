package sqstest_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

func TestCallsCountByCaller(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.q.Send("a") // no call
		b.mustReceive(1)
		b.mustReceive(0)
		source := b.s.Client(func(o *sqs.Options) { o.AppID = sqstest.EventSourceCaller })
		if _, err := source.ReceiveMessage(b.Context(), &sqs.ReceiveMessageInput{QueueUrl: &b.url}); err != nil {
			b.Fatal(err)
		}
		if diff := cmp.Diff(sqstest.Calls{"ReceiveMessage": 2}, b.s.Calls()); diff != "" {
			b.Error(diff)
		}
		if diff := cmp.Diff(sqstest.Calls{"ReceiveMessage": 1}, b.s.CallsBy(sqstest.EventSourceCaller)); diff != "" {
			b.Error(diff)
		}
		if got := b.s.CallsBy("nobody").Total(); got != 0 {
			b.Errorf("%d calls by nobody", got)
		}
		if got := len(b.s.Log()); got != 3 {
			b.Errorf("%d calls in the log, want 3", got)
		}
		b.s.ResetCalls()
		if b.s.Calls().Total() != 0 || len(b.s.Log()) != 0 {
			b.Error("calls are left after the reset")
		}
	})
}

func TestLogHoldsInputsAndEntries(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		ids := b.q.Send("a", "b")
		ms := b.mustReceive(2)
		began := time.Now()
		time.Sleep(time.Second)
		_, err := b.client.ChangeMessageVisibilityBatch(b.Context(), &sqs.ChangeMessageVisibilityBatchInput{
			QueueUrl: &b.url, Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
				{Id: aws.String("x"), ReceiptHandle: ms[0].ReceiptHandle, VisibilityTimeout: 40},
				{Id: aws.String("y"), ReceiptHandle: garbage.ReceiptHandle, VisibilityTimeout: 50},
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := b.delete(ms[1]); err != nil {
			b.Fatal(err)
		}
		log := b.s.Log()
		want := []sqstest.Call{
			{Time: began, Action: "ReceiveMessage", Entries: []sqstest.Entry{
				{MessageID: ids[0], Receipt: *ms[0].ReceiptHandle}, {MessageID: ids[1], Receipt: *ms[1].ReceiptHandle},
			}},
			{Time: began.Add(time.Second), Action: "ChangeMessageVisibilityBatch", Entries: []sqstest.Entry{
				{ID: "x", MessageID: ids[0], Receipt: *ms[0].ReceiptHandle, Visibility: 40 * time.Second},
				{ID: "y", Receipt: *garbage.ReceiptHandle, Visibility: 50 * time.Second, Code: "ReceiptHandleIsInvalid"},
			}},
			{Time: began.Add(time.Second), Action: "DeleteMessage", Entries: []sqstest.Entry{
				{MessageID: ids[1], Receipt: *ms[1].ReceiptHandle},
			}},
		}
		for i := range want {
			want[i].Queue, want[i].Done = b.q.Name(), true
		}
		if diff := cmp.Diff(want, log, cmpopts.IgnoreFields(sqstest.Call{}, "Input")); diff != "" {
			b.Error(diff)
		}
		in, ok := log[0].Input.(*sqs.ReceiveMessageInput)
		if !ok || in.MaxNumberOfMessages != 10 || *in.QueueUrl != b.url {
			b.Errorf("input of the receive: %+v", log[0].Input)
		}
	})
}

// TestLogShowsCallsInProgress: a long poll is in the log while it waits.
func TestLogShowsCallsInProgress(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = b.receive(20)
		}()
		b.settle()
		if log := b.s.Log(); len(log) != 1 || log[0].Done {
			b.Errorf("log while the poll waits: %+v", log)
		}
		<-done
		if log := b.s.Log(); !log[0].Done || log[0].Took != 20*time.Second {
			b.Errorf("log after the poll: %+v", log)
		}
	})
}

func TestLogLimit(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{-1: 0, 0: 5, 3: 3} {
		s := sqstest.NewServer(sqstest.Config{LogLimit: limit})
		b := newBench(t, s)
		for range 5 {
			b.mustReceive(0)
		}
		if got := len(s.Log()); got != want {
			t.Errorf("limit %d keeps %d calls, want %d", limit, got, want)
		}
		if got := s.Calls().Total(); got != 5 {
			t.Errorf("limit %d counts %d calls, want 5", limit, got)
		}
		s.Close()
	}
}
