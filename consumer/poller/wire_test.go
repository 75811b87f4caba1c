package poller_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/retry"
)

// wire is another emulator's SQS, over a socket. Make test starts moto. What it
// does differently from AWS, and what these tests therefore do not show: a delete
// by an older receipt deletes, a FIFO delete after the timeout succeeds, any
// message of a group that is hidden blocks all of it. FIFO queues are not tried on
// it: its long polls spin while a group is blocked, and starve all other calls.
type wire struct {
	t      *testing.T
	client *sqs.Client
}

func newWire(t *testing.T) *wire {
	t.Helper()
	endpoint := os.Getenv("ACKWISE_SQS_ENDPOINT")
	if endpoint == "" {
		t.Skip("SKIPPED: ACKWISE_SQS_ENDPOINT is not set; run make test, which starts a server")
	}
	transport := &http.Transport{DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, MaxIdleConnsPerHost: 20}
	t.Cleanup(transport.CloseIdleConnections)
	return &wire{t, sqs.New(sqs.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, HTTPClient: &http.Client{Transport: transport},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	})}
}

func (w *wire) create(attributes map[string]string) (url string) {
	w.t.Helper()
	name := "poller-" + rand.Text()
	if attributes["FifoQueue"] == "true" {
		name += ".fifo"
	}
	out, err := w.client.CreateQueue(w.t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		w.t.Fatal(err)
	}
	return *out.QueueUrl
}

// left is how many messages there are on a queue, and how many of them are in
// flight. Both are asked for twice and the larger sum counts: between two counts of
// one answer, a message can become visible.
func (w *wire) left(url string) (all, inFlight int) {
	w.t.Helper()
	visible, hidden := types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible
	for range 2 {
		out, err := w.client.GetQueueAttributes(w.t.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl: &url, AttributeNames: []types.QueueAttributeName{visible, hidden},
		})
		if err != nil {
			w.t.Fatal(err)
		}
		v, _ := strconv.Atoi(out.Attributes[string(visible)])
		h, _ := strconv.Atoi(out.Attributes[string(hidden)])
		if v+h >= all {
			all, inFlight = v+h, h
		}
	}
	return all, inFlight
}

func (w *wire) send(url string, bodies ...string) {
	w.t.Helper()
	for _, body := range bodies {
		if _, err := w.client.SendMessage(w.t.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// poll runs h on a queue until its messages are gone, and sees to it that the
// poller ends well.
func (w *wire) poll(url string, h consumer.HandlerFunc, cfg consumer.Config, pc poller.Config, seen func(inFlight int)) {
	w.t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	c, err := consumer.New(h, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	pc.SQS, pc.QueueURL, pc.Grace = w.client, url, 2*time.Second
	p, err := poller.New(c, pc)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.t.Context())
	defer stop()
	done := make(chan error)
	go func() { done <- p.Run(ctx) }()
	for deadline := time.Now().Add(time.Minute); ; {
		all, inFlight := w.left(url)
		seen(inFlight)
		if all == 0 {
			break
		}
		if time.Now().After(deadline) {
			w.t.Errorf("%d messages are left after a minute", all)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	if err := <-done; err != nil {
		w.t.Errorf("Run: %v", err)
	}
}

// Good, failing and hopeless messages: each is done, done later, or parked.
func TestWire_VerdictsOnAnotherEmulator(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	dead := w.create(nil)
	url := w.create(map[string]string{"VisibilityTimeout": "30"})
	var list []string
	for i := range 100 {
		list = append(list, strconv.Itoa(i))
	}
	w.send(url, list...)
	var mu sync.Mutex
	done, failed := map[string]int{}, map[string]int{}
	w.poll(url, func(_ context.Context, m *consumer.Message) error {
		i, _ := strconv.Atoi(m.Body)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case i%10 == 3:
			return retry.Permanent(errors.New("out of stock"))
		case i%10 == 7 && m.ReceiveCount == 1:
			failed[m.Body]++
			return retry.After(time.Second, errors.New("busy"))
		}
		done[m.Body]++
		return nil
	}, consumer.Config{Retry: retry.Policy{Tries: 1}, DeadLetter: dlq.New(w.client, dead)}, poller.Config{}, func(int) {})
	want(t, "failed once", len(failed), 10)
	want(t, "done", len(done), 90)
	for body, n := range done {
		if n != 1 {
			t.Errorf("message %s was done %d times", body, n)
		}
	}
	parked, _ := w.left(dead)
	want(t, "parked", parked, 10)
}

// Messages that wait their turn for longer than their visibility are kept, and no
// more are taken than there is room for.
func TestWire_VT06_PO06_WaitingMessagesAreKept(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	url := w.create(map[string]string{"VisibilityTimeout": "30"})
	w.send(url, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11")
	var mu sync.Mutex
	receives := map[string][]int{}
	var most int
	w.poll(url, func(_ context.Context, m *consumer.Message) error {
		time.Sleep(500 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		receives[m.Body] = append(receives[m.Body], m.ReceiveCount)
		return nil
	}, consumer.Config{Concurrency: 1}, poller.Config{Visibility: 4 * time.Second, Prefetch: 9}, func(inFlight int) { most = max(most, inFlight) })
	for i := range 12 {
		want(t, fmt.Sprintf("receive counts of message %d", i), receives[strconv.Itoa(i)], []int{1})
	}
	if most > 10 {
		t.Errorf("%d messages were in flight, and there is room for ten", most)
	}
}
