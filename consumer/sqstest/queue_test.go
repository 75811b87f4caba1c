package sqstest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

func TestQueueConfig(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		dead, err := b.s.CreateQueue("dead.fifo", sqstest.QueueConfig{})
		if err != nil {
			b.Fatal(err)
		}
		q, err := b.s.CreateQueue("work.fifo", sqstest.QueueConfig{
			Visibility: time.Minute, Delay: 2 * time.Second, Retention: time.Hour, ReceiveWait: 3 * time.Second,
			MaxMessageSize: 2048, DeadLetter: dead, MaxReceives: 4, ContentBasedDeduplication: true,
			Attributes: map[string]string{"KmsMasterKeyId": "key"},
		})
		if err != nil {
			b.Fatal(err)
		}
		out, err := b.client.GetQueueAttributes(b.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl: aws.String(q.URL()), AttributeNames: []types.QueueAttributeName{"All"},
		})
		if err != nil {
			b.Fatal(err)
		}
		want := map[string]string{
			"ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesDelayed": "0",
			"ApproximateNumberOfMessagesNotVisible": "0", "ContentBasedDeduplication": "true",
			"CreatedTimestamp": "946684800", "DeduplicationScope": "queue", "DelaySeconds": "2", "FifoQueue": "true",
			"FifoThroughputLimit": "perQueue", "KmsMasterKeyId": "key", "LastModifiedTimestamp": "946684800",
			"MaximumMessageSize": "2048", "MessageRetentionPeriod": "3600",
			"QueueArn": "arn:aws:sqs:us-east-1:000000000000:work.fifo", "ReceiveMessageWaitTimeSeconds": "3",
			"RedrivePolicy":        `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":4}`,
			"SqsManagedSseEnabled": "false", "VisibilityTimeout": "60",
		}
		if diff := cmp.Diff(want, out.Attributes); diff != "" {
			b.Error(diff)
		}
	})
}

func TestCreateQueueRefuses(t *testing.T) {
	t.Parallel()
	s := sqstest.NewServer(sqstest.Config{})
	defer s.Close()
	plain, err := s.CreateQueue("plain", sqstest.QueueConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateQueue("none", sqstest.QueueConfig{Visibility: -time.Minute}); err != nil {
		t.Errorf("a negative visibility means 0: %v", err)
	}
	for name, c := range map[string]struct {
		queue string
		cfg   sqstest.QueueConfig
		code  string
	}{
		"name":        {"a b", sqstest.QueueConfig{}, "InvalidParameterValue"},
		"visibility":  {"q", sqstest.QueueConfig{Visibility: 13 * time.Hour}, "InvalidAttributeValue"},
		"retention":   {"q", sqstest.QueueConfig{Retention: time.Second}, "InvalidAttributeValue"},
		"kind":        {"q", sqstest.QueueConfig{ContentBasedDeduplication: true}, "InvalidAttributeName"},
		"dead letter": {"q.fifo", sqstest.QueueConfig{DeadLetter: plain}, "InvalidParameterValue"},
		"receives":    {"q", sqstest.QueueConfig{DeadLetter: plain, MaxReceives: 1001}, "InvalidParameterValue"},
		"another":     {"plain", sqstest.QueueConfig{Visibility: time.Minute}, "QueueAlreadyExists"},
	} {
		_, err := s.CreateQueue(c.queue, c.cfg)
		refused, ok := errors.AsType[*sqstest.Error](err)
		if !ok || refused.Code != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
		if c.queue != "plain" && s.Queue(c.queue) != nil {
			t.Errorf("%s: the queue was made all the same", name)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		began := time.Now()
		b.q.Send("first")
		b.mustReceive(1)
		b.q.SendGroup("tenant", "second")
		trace := "Root=1-6a1b2c3d-0123456789abcdef01234567"
		_, err := b.q.SendMessage(sqstest.Message{
			Body: "third", Delay: time.Minute, TraceHeader: trace,
			Attributes: map[string]types.MessageAttributeValue{
				"k": {DataType: aws.String("String"), StringValue: aws.String("v")},
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		want := []sqstest.MessageState{
			{
				Body: "first", State: sqstest.InFlight, VisibleAt: began.Add(30 * time.Second), ReceiveCount: 1,
				SentAt: began, FirstReceivedAt: began,
			},
			{Body: "second", State: sqstest.Visible, GroupID: "tenant", SentAt: began},
			{Body: "third", State: sqstest.Delayed, VisibleAt: began.Add(time.Minute), SentAt: began},
		}
		got := b.q.Messages()
		ignore := cmpopts.IgnoreFields(sqstest.MessageState{}, "ID", "System", "Attributes")
		if diff := cmp.Diff(want, got, ignore); diff != "" {
			b.Error(diff)
		}
		if got[2].System["AWSTraceHeader"] != trace || *got[2].Attributes["k"].StringValue != "v" {
			b.Errorf("third: %+v", got[2])
		}
		if b.q.Visible() != 1 || b.q.InFlight() != 1 || b.q.Delayed() != 1 || b.q.Len() != 3 {
			b.Errorf("counts %d %d %d %d", b.q.Visible(), b.q.InFlight(), b.q.Delayed(), b.q.Len())
		}
		time.Sleep(time.Minute)
		if b.q.Visible() != 3 {
			b.Errorf("%d visible after a minute, want 3", b.q.Visible())
		}
	})
}

// TestSendToFIFO: the same body may be sent again, as each message gets a
// deduplication id of its own unless the queue makes them from the content.
func TestSendToFIFO(t *testing.T) {
	t.Parallel()
	s := sqstest.NewServer(sqstest.Config{})
	defer s.Close()
	for content, want := range map[bool]int{false: 2, true: 1} {
		name := map[bool]string{false: "own.fifo", true: "content.fifo"}[content]
		q, err := s.CreateQueue(name, sqstest.QueueConfig{ContentBasedDeduplication: content})
		if err != nil {
			t.Fatal(err)
		}
		q.SendGroup("g", "a", "a")
		if q.Len() != want {
			t.Errorf("content-based %v: %d messages, want %d", content, q.Len(), want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a send that SQS would refuse must panic")
		}
	}()
	s.Queue("own.fifo").Send("no group")
}

// TestReceiveAttempt: a repeated ReceiveRequestAttemptId on a FIFO queue returns
// the same messages and handles while nobody touched them.
func TestReceiveAttempt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		q, err := b.s.CreateQueue("q.fifo", sqstest.QueueConfig{})
		if err != nil {
			b.Fatal(err)
		}
		q.SendGroup("g", "a", "b")
		receive := func(attempt string) []types.Message {
			out, err := b.client.ReceiveMessage(b.Context(), &sqs.ReceiveMessageInput{
				QueueUrl: aws.String(q.URL()), MaxNumberOfMessages: 10, ReceiveRequestAttemptId: &attempt,
				MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
			})
			if err != nil {
				b.Fatal(err)
			}
			return out.Messages
		}
		first := receive("one")
		if len(first) != 2 || len(receive("two")) != 0 {
			b.Fatal("want both messages, once")
		}
		time.Sleep(20 * time.Second)
		if diff := cmp.Diff(first, receive("one"), cmpopts.IgnoreUnexported(types.Message{})); diff != "" {
			b.Error(diff)
		}
		if at := q.Messages()[0].VisibleAt; !at.Equal(time.Now().Add(30 * time.Second)) {
			b.Errorf("visible at %v: the repeated attempt must start the timeout anew", at)
		}
		_, err = b.client.DeleteMessage(b.Context(), &sqs.DeleteMessageInput{
			QueueUrl: aws.String(q.URL()), ReceiptHandle: first[1].ReceiptHandle,
		})
		if err != nil {
			b.Fatal(err)
		}
		if len(receive("one")) != 0 {
			b.Error("an attempt whose messages were changed must not be repeated")
		}
	})
}
