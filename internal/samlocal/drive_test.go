package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/retry"
)

type order struct {
	Amount, Fails int
}

func book(_ context.Context, o order, m *consumer.Message) error {
	if o.Amount <= 0 {
		return retry.Permanent(errors.New("amount"))
	}
	if n, _ := m.Attempt(); n <= o.Fails {
		return errors.New("not yet")
	}
	return nil
}

// address is one that was free.
func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// function is what the order function is, without waits between deliveries.
func function(t *testing.T, queueAPI string) *lambdasqs.Adapter {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	base := "http://" + queueAPI
	client := sqs.New(sqs.Options{
		Region: sqstest.DefaultRegion, BaseEndpoint: &base, HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "example", ""),
	})
	c, err := consumer.New(consumer.JSON(book), consumer.Config{
		Retry:      retry.Policy{Tries: 1},
		Logger:     slog.New(slog.DiscardHandler),
		Redelivery: consumer.Redelivery{Backoff: retry.Constant(0)},
		DeadLetter: dlq.New(client, base+"/"+sqstest.DefaultAccount+"/"+deadName),
	})
	if err != nil {
		t.Fatal(err)
	}
	adapter, err := lambdasqs.New(c, lambdasqs.Config{SQS: client})
	if err != nil {
		t.Fatal(err)
	}
	return adapter
}

// serve answers invocations as sam local start-lambda does.
func serve(t *testing.T, invoke func(payload []byte) ([]byte, error)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payload, err := io.ReadAll(r.Body)
		if err == nil && r.URL.Path != "/2015-03-31/functions/OrdersFunction/invocations" {
			err = errors.New("no function at " + r.URL.Path)
		}
		var answer []byte
		if err == nil {
			answer, err = invoke(payload)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestDrive(t *testing.T) {
	t.Parallel()
	listen := address(t)
	adapter := function(t, listen)
	endpoint := serve(t, func(payload []byte) ([]byte, error) { return adapter.Invoke(t.Context(), payload) })
	var out strings.Builder
	d := drive{listen: listen, endpoint: endpoint, function: "OrdersFunction", orders: 2 * round}
	if err := d.run(t.Context(), &out); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if want := "40 sent: 32 done, 8 parked, 0 still in the queue;"; !strings.Contains(out.String(), want) {
		t.Errorf("output %q does not say %q", out.String(), want)
	}
}

// A function that is not one of ours, or does not do what it should, does not pass.
func TestDrive_Fails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer string
		orders int
		says   string
	}{
		"acknowledges everything": {`{"batchItemFailures":[]}`, round, "dead letters: 0, want 4"},
		"answers nonsense":        {`{"batchItemFailures":[{"itemIdentifier":""}]}`, round, "orders that left the queue: 0, want 20"},
		"too few orders":          {"", 10, "use a multiple of 20"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			d := drive{listen: address(t), function: "OrdersFunction", orders: tt.orders}
			d.endpoint = serve(t, func([]byte) ([]byte, error) { return []byte(tt.answer), nil })
			if err := d.run(ctx, io.Discard); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v; want an error that says %q", err, tt.says)
			}
		})
	}
}
