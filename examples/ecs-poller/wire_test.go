package main

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// The same on somebody else's SQS. A worker that has ended has left nothing
// hidden, and what it has not booked is on the queue.
func TestDrainUnderLoad_Wire(t *testing.T) {
	t.Parallel()
	endpoint := os.Getenv("ACKWISE_SQS_ENDPOINT")
	if endpoint == "" {
		t.Skip("SKIPPED: ACKWISE_SQS_ENDPOINT is not set; run make test, which starts a server")
	}
	q := newWireQueue(t, endpoint)
	booked, sent := map[string]bool{}, 0
	for range 1 + rounds()/5 {
		q.send(sent, 60)
		sent += 60
		p := start(t, "AWS_ENDPOINT_URL="+endpoint, "ORDERS_QUEUE_URL="+q.url, "ORDERS_GRACE="+grace.String())
		p.await("order booked", 1+mathrand.IntN(20))
		stopped := time.Now()
		p.terminate()
		code := p.exit()
		took := time.Since(stopped)
		if code != exitDrained || took > grace+5*time.Second { // the server may be slow
			t.Errorf("exit code %d after %v, want 0", code, took)
		}
		for _, id := range p.booked {
			if booked[id] {
				t.Errorf("%s was booked twice", id)
			}
			booked[id] = true
		}
		visible, hidden := q.counts()
		if visible+hidden+len(booked) != sent {
			t.Fatalf("%d orders were sent and %d booked; the queue has %d, and %d hidden", sent, len(booked), visible, hidden)
		}
		// A receive that has no answer within half the grace is cut off, and what it
		// would have brought stays hidden.
		if hidden > 0 && took < grace/2 {
			t.Errorf("%d orders are hidden", hidden)
		}
	}
	if len(booked) == sent {
		t.Error("all is booked: there was no load")
	}
}

// wireQueue is a queue behind the API.
type wireQueue struct {
	t      *testing.T
	client *sqs.Client
	url    string
}

func newWireQueue(t *testing.T, endpoint string) *wireQueue {
	t.Helper()
	transport := &http.Transport{} // no proxy: the server is on this machine
	t.Cleanup(transport.CloseIdleConnections)
	q := &wireQueue{t: t, client: sqs.New(sqs.Options{
		Region: sqstest.DefaultRegion, BaseEndpoint: &endpoint, HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "example", ""),
	})}
	out, err := q.client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("ackwise-orders-" + rand.Text())})
	if err != nil {
		t.Fatal(err)
	}
	q.url = *out.QueueUrl
	t.Cleanup(func() {
		if _, err := q.client.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: &q.url}); err != nil {
			t.Errorf("delete queue: %v", err)
		}
	})
	return q
}

// send sends n orders, the first of which has this number.
func (q *wireQueue) send(first, n int) {
	q.t.Helper()
	for i := first; i < first+n; i += 10 {
		in := &sqs.SendMessageBatchInput{QueueUrl: &q.url}
		for j := i; j < i+10; j++ {
			in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{
				Id:          aws.String(strconv.Itoa(j)),
				MessageBody: aws.String(fmt.Sprintf(`{"id":"A-%d","customer":"ann","amount":100,"work_ms":%d}`, j, 50+j*37%350)),
			})
		}
		out, err := q.client.SendMessageBatch(q.t.Context(), in)
		if err != nil || len(out.Failed) > 0 {
			q.t.Fatalf("send: %v, %+v", err, out)
		}
	}
}

func (q *wireQueue) counts() (visible, hidden int) {
	q.t.Helper()
	// The server counts the one after the other, and a message whose visibility
	// changes just then is in both.
	for range 10 {
		first, second := q.count()
		if visible, hidden = q.count(); visible == first && hidden == second {
			break
		}
	}
	return visible, hidden
}

func (q *wireQueue) count() (visible, hidden int) {
	q.t.Helper()
	const shown, inFlight = types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible
	out, err := q.client.GetQueueAttributes(q.t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &q.url, AttributeNames: []types.QueueAttributeName{shown, inFlight},
	})
	if err != nil {
		q.t.Fatal(err)
	}
	visible, err = strconv.Atoi(out.Attributes[string(shown)])
	if err != nil {
		q.t.Fatal(err)
	}
	hidden, err = strconv.Atoi(out.Attributes[string(inFlight)])
	if err != nil {
		q.t.Fatal(err)
	}
	return visible, hidden
}
