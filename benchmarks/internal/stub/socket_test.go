package stub_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/ackwise/ackwise/benchmarks/internal/stub"
)

// serve serves s at a socket until the test ends.
func serve(t *testing.T, s *stub.Server) (address string) {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), <-done); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// What the SDK says over a socket is understood, calls on one connection after
// another included.
func TestServe(t *testing.T) {
	t.Parallel()
	s := stub.New(0)
	transport := &http.Transport{MaxConnsPerHost: 1}
	defer transport.CloseIdleConnections()
	c := sqs.New(sqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://" + serve(t, s)), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient:  &http.Client{Transport: transport},
	})
	url := load(s, 20)
	for range 2 {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: url}
		for _, m := range receive(t, c, url, 10, true) {
			if m.Attributes["ApproximateReceiveCount"] != "1" {
				t.Errorf("attributes %v", m.Attributes)
			}
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: m.MessageId, ReceiptHandle: m.ReceiptHandle})
		}
		out, err := c.DeleteMessageBatch(t.Context(), in)
		if err != nil || len(out.Successful) != 10 || len(out.Failed) != 0 {
			t.Errorf("deleted %+v (%v), want ten", out, err)
		}
	}
	select {
	case <-s.Done():
	default:
		t.Error("not done although all are deleted")
	}
	var api smithy.APIError
	if _, err := c.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: url}); !errors.As(err, &api) || api.ErrorCode() != "UnsupportedOperation" {
		t.Errorf("PurgeQueue: %v, want UnsupportedOperation", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 20}); err == nil {
		t.Error("a long poll for nothing has returned")
	}
}

// Anything else ends its connection.
func TestServe_NoSDK(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no length": "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "too long": "POST / HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n",
	} {
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", serve(t, stub.New(0)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, text); err != nil {
			t.Error(err)
		}
		if answer, err := io.ReadAll(c); err != nil || len(answer) != 0 {
			t.Errorf("%s: answered %q (%v), want the end of the connection", name, answer, err)
		}
		_ = c.Close()
	}
}
