package sqstest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// TestManyAtOnce has senders, consumers and onlookers at work together, under
// faults, on real goroutines: every message must be processed, and deleted once.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const senders, batches, consumers = 4, 10, 6
	s := sqstest.NewServer(sqstest.Config{LogLimit: 100})
	defer s.Close()
	b := newBench(t, s)
	b.client = s.Client(func(o *sqs.Options) { o.RetryMaxAttempts = 1 })
	s.Inject(sqstest.Fault{Action: "ReceiveMessage", After: 5, Times: 3, Twice: true})
	s.Inject(sqstest.Fault{Action: "DeleteMessageBatch", Times: 3, Entries: []sqstest.EntryFault{{Index: 0}}})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var work, watch sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]int{}
	for i := range senders {
		work.Go(func() {
			for k := range batches {
				body := fmt.Sprintf("%d-%d", i, k)
				if _, err := b.client.SendMessageBatch(ctx, sendBatch(b.url, body+"-a", body+"-b", body+"-c")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range consumers {
		watch.Go(func() { b.consume(ctx, &mu, seen) })
	}
	watch.Go(func() {
		for ctx.Err() == nil {
			s.Log()
			s.Calls()
			b.q.Messages()
			time.Sleep(time.Millisecond)
		}
	})
	work.Wait()
	for b.q.Len() > 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	stop()
	watch.Wait()
	if len(seen) != senders*batches*3 {
		t.Errorf("%d messages processed, want %d", len(seen), senders*batches*3)
	}
}

// consume receives and deletes until ctx ends. What it could not delete it makes
// visible again.
func (b *bench) consume(ctx context.Context, mu *sync.Mutex, seen map[string]int) {
	for ctx.Err() == nil {
		out, err := b.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &b.url, MaxNumberOfMessages: 10, WaitTimeSeconds: 1,
		})
		if err != nil {
			continue
		}
		in := &sqs.DeleteMessageBatchInput{QueueUrl: &b.url}
		mu.Lock()
		for i, m := range out.Messages {
			seen[*m.Body]++
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{
				Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle,
			})
		}
		mu.Unlock()
		if len(in.Entries) == 0 {
			continue
		}
		deleted, err := b.client.DeleteMessageBatch(ctx, in)
		if err != nil {
			continue
		}
		for range deleted.Failed {
			_, _ = b.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
				QueueUrl: &b.url, ReceiptHandle: out.Messages[0].ReceiptHandle, VisibilityTimeout: 0,
			})
		}
	}
}

// BenchmarkRoundTrip is what ten messages cost in the server and the SDK: one
// batch sent, received and deleted.
func BenchmarkRoundTrip(b *testing.B) {
	for _, waiting := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			s := sqstest.NewServer(sqstest.Config{LogLimit: -1})
			defer s.Close()
			q, err := s.CreateQueue("q", sqstest.QueueConfig{})
			if err != nil {
				b.Fatal(err)
			}
			for range waiting {
				q.Send("x")
			}
			c, url := s.Client(), q.URL()
			b.ReportAllocs()
			for b.Loop() {
				sendReceiveDelete(b, c, url)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/10, "µs/message")
		})
	}
}

func sendReceiveDelete(b *testing.B, c *sqs.Client, url string) {
	b.Helper()
	if _, err := c.SendMessageBatch(b.Context(), sendBatch(url, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")); err != nil {
		b.Fatal(err)
	}
	out, err := c.ReceiveMessage(b.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10})
	if err != nil || len(out.Messages) != 10 {
		b.Fatalf("received %v, %v", out, err)
	}
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &url}
	for i, m := range out.Messages {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{
			Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle,
		})
	}
	if _, err := c.DeleteMessageBatch(b.Context(), in); err != nil {
		b.Fatal(err)
	}
}
