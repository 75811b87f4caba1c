package sqstest_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// bench is a server with one standard queue, in a bubble.
//
// It stands for the test inside the bubble: the test outside of it, and its
// context, must not be used there.
type bench struct {
	*testing.T

	s      *sqstest.Server
	q      *sqstest.Queue
	client *sqs.Client
	url    string
}

// inBubble runs f with a fresh bench in virtual time.
func inBubble(t *testing.T, f func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := sqstest.NewServer(sqstest.Config{})
		defer s.Close()
		f(newBench(t, s))
	})
}

func newBench(t *testing.T, s *sqstest.Server) *bench {
	t.Helper()
	q, err := s.CreateQueue("orders", sqstest.QueueConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{T: t, s: s, q: q, client: s.Client(), url: q.URL()}
}

func (b *bench) receive(wait int32) ([]types.Message, error) {
	out, err := b.client.ReceiveMessage(b.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: &b.url, MaxNumberOfMessages: 10, WaitTimeSeconds: wait,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

func (b *bench) mustReceive(want int) []types.Message {
	b.Helper()
	ms, err := b.receive(0)
	if err != nil {
		b.Fatal(err)
	}
	if len(ms) != want {
		b.Fatalf("received %d messages, want %d", len(ms), want)
	}
	return ms
}

func (b *bench) delete(m types.Message) error {
	_, err := b.client.DeleteMessage(b.Context(), &sqs.DeleteMessageInput{QueueUrl: &b.url, ReceiptHandle: m.ReceiptHandle})
	return err
}

func (b *bench) deleteBatch(ms []types.Message) (*sqs.DeleteMessageBatchOutput, error) {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &b.url}
	for i, m := range ms {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{
			Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle,
		})
	}
	return b.client.DeleteMessageBatch(b.Context(), in)
}

// as reports whether err holds an error of type E.
func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
