package poller_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
)

// stub is an SQS that is always full and costs next to nothing: it has no socket,
// no queue and no parser.
type stub struct {
	next    atomic.Int64
	deleted atomic.Int64
	all     int64
	done    chan struct{} // closed when all have been deleted
}

func (s *stub) RoundTrip(r *http.Request) (*http.Response, error) {
	in, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var out []byte
	switch action := r.Header.Get("X-Amz-Target"); {
	case strings.HasSuffix(action, "ReceiveMessage"):
		last := s.next.Add(10)
		if last > s.all {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		out = receiveAnswer(last)
	case strings.HasSuffix(action, "DeleteMessageBatch"):
		n := bytes.Count(in, []byte(`"Id"`))
		out = deleteAnswer(n)
		if s.deleted.Add(int64(n)) == s.all {
			close(s.done)
		}
	default:
		out = []byte(`{"Attributes":{"QueueArn":"arn:aws:sqs:us-east-1:000000000000:orders","VisibilityTimeout":"30"}}`)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader(out)), ContentLength: int64(len(out)), Request: r,
	}, nil
}

func receiveAnswer(last int64) []byte {
	out := append(make([]byte, 0, 6<<10), `{"Messages":[`...)
	for i := last - 10; i < last; i++ {
		if i > last-10 {
			out = append(out, ',')
		}
		id := strconv.FormatInt(1_000_000_000_000+i, 10)
		out = append(out, `{"Body":"{\"id\":\"order-1\",\"amount\":42}","MD5OfBody":"23dba367c02b0312b16cf55185ed9536",`...)
		out = append(out, `"MessageId":"7d0f6a52-1c3e-4a57-9a0e-`...)
		out = append(out, id[1:]...)
		out = append(out, `","ReceiptHandle":"AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a`...)
		out = append(out, id...)
		out = append(out, `","Attributes":{"SenderId":"AIDAIENQZJOLO23YVJ4VO","ApproximateFirstReceiveTimestamp":"1545082649185",`...)
		out = append(out, `"ApproximateReceiveCount":"1","SentTimestamp":"1545082649183"}}`...)
	}
	return append(out, `]}`...)
}

func deleteAnswer(n int) []byte {
	out := append(make([]byte, 0, 512), `{"Failed":[],"Successful":[`...)
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(strconv.AppendInt(append(out, `{"Id":"`...), int64(i), 10), `"}`...)
	}
	return append(out, `]}`...)
}

func (s *stub) client() *sqs.Client {
	return sqs.New(sqs.Options{
		Region: "us-east-1", HTTPClient: &http.Client{Transport: s},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	}, func(o *sqs.Options) { o.DisableMessageChecksumValidation = true })
}

const (
	stubURL     = "https://sqs.us-east-1.amazonaws.com/000000000000/orders"
	stubWorkers = 10
)

// BenchmarkAgainstLoop compares the poller with a loop that uses the SDK and
// nothing else, on the same stub, by the message. Compare rows, not days.
func BenchmarkAgainstLoop(b *testing.B) {
	b.Run("loop", func(b *testing.B) { benchmark(b, loop) })
	b.Run("poller", func(b *testing.B) { benchmark(b, polls) })
}

func benchmark(b *testing.B, run func(context.Context, *testing.B, *sqs.Client)) {
	b.Helper()
	s := &stub{all: int64((b.N + 9) / 10 * 10), done: make(chan struct{})}
	client := s.client()
	ctx, stop := context.WithCancel(b.Context())
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	var over sync.WaitGroup
	over.Go(func() { run(ctx, b, client) })
	<-s.done
	b.StopTimer()
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
	stop()
	over.Wait()
}

// cpu is how much the process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func polls(ctx context.Context, b *testing.B, client *sqs.Client) {
	b.Helper()
	c, err := consumer.New(consumer.HandlerFunc(func(context.Context, *consumer.Message) error { return nil }), consumer.Config{
		Concurrency: stubWorkers, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Error(err)
		return
	}
	p, err := poller.New(c, poller.Config{SQS: client, QueueURL: stubURL, Prefetch: 90})
	if err != nil {
		b.Error(err)
		return
	}
	go func() {
		<-ctx.Done()
		p.Abort()
	}()
	if err := p.Run(ctx); err != nil {
		b.Error(err)
	}
}

// loop is what a program without a library does: each worker receives ten, works
// them off, and deletes them in one call.
func loop(ctx context.Context, b *testing.B, client *sqs.Client) {
	b.Helper()
	var workers sync.WaitGroup
	for range stubWorkers {
		workers.Go(func() {
			for ctx.Err() == nil {
				in := &sqs.ReceiveMessageInput{
					QueueUrl: aws.String(stubURL), MaxNumberOfMessages: 10, WaitTimeSeconds: 20, VisibilityTimeout: 30,
					MessageAttributeNames:       []string{"All"},
					MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
				}
				out, err := client.ReceiveMessage(ctx, in)
				if err != nil {
					continue
				}
				del := &sqs.DeleteMessageBatchInput{QueueUrl: aws.String(stubURL)}
				for i, m := range out.Messages {
					del.Entries = append(del.Entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle})
				}
				if _, err := client.DeleteMessageBatch(ctx, del); err != nil {
					b.Error(err)
				}
			}
		})
	}
	workers.Wait()
}
