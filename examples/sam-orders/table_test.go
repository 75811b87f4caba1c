package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

// recorder remembers which actions of which services are called.
type recorder struct {
	next http.RoundTripper
	mu   sync.Mutex
	seen map[string]bool
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.seen[req.Header.Get("X-Amz-Target")] = true
	r.mu.Unlock()
	return r.next.RoundTrip(req)
}

// twice is the sample event of wrapped orders, and the same orders sent once more,
// order-41 in place of order-43.
func twice(t *testing.T) (event, again []byte) {
	t.Helper()
	event, _ = sample(t, "sns-wrapped")
	again = bytes.ReplaceAll(event, []byte("-5a3c-"), []byte("-6b4d-")) // other message ids
	again = bytes.ReplaceAll(again, []byte("order-43"), []byte("order-41"))
	if !bytes.Contains(again, []byte("00000041-6b4d-")) || bytes.Contains(again, []byte("order-43")) {
		t.Fatal("the sample event is not what this test makes another one of")
	}
	return event, again
}

// With a table an order is known by its own id, in whatever it came: the raw body,
// SNS's envelope, a second send. And the function calls what its role in
// template.yaml allows, and nothing else.
func TestTable_Wire(t *testing.T) {
	t.Parallel()
	endpoint := os.Getenv("ACKWISE_SQS_ENDPOINT") // moto has DynamoDB there as well
	if endpoint == "" {
		t.Skip("SKIPPED: ACKWISE_SQS_ENDPOINT is not set; run make test, which starts a server")
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	calls := &recorder{next: transport, seen: map[string]bool{}}
	setup, cfg := awsConfig(nil), awsConfig(nil)
	setup.BaseEndpoint, setup.HTTPClient = &endpoint, &http.Client{Transport: transport}
	cfg.BaseEndpoint, cfg.HTTPClient = &endpoint, &http.Client{Transport: calls}
	table := "orders-" + rand.Text()
	if err := dynamostore.CreateTable(t.Context(), dynamodb.NewFromConfig(setup), table); err != nil {
		t.Fatal(err)
	}
	// The queue of the sample events' region and account is another one to this
	// server, so no visibility changes; only that it is asked for matters here.
	dead, err := sqs.NewFromConfig(setup).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(table)})
	if err != nil {
		t.Fatal(err)
	}
	h, log := function(t, cfg, env{"ORDERS_TABLE": table, "ORDERS_DEAD_LETTER_URL": *dead.QueueUrl, "ORDERS_SNS": "wrapped"})

	event, again := twice(t)
	// An order that fails once; its second attempt is under another message id.
	if got := invoke(t, h, event); !strings.Contains(got, "00000042-5a3c-") {
		t.Errorf("answer %s does not report order-42", got)
	}
	if got := invoke(t, h, again); got != `{"batchItemFailures":[]}` {
		t.Errorf("again: answer %s", got)
	}
	poison, _ := sample(t, "poison")
	if got := invoke(t, h, poison); got != `{"batchItemFailures":[]}` {
		t.Errorf("poison: answer %s", got)
	}

	for id, want := range map[string]int{"order-41": 1, "order-43": 1, "order-42": 1, "order-21": 1} {
		if got := strings.Count(log.String(), fmt.Sprintf(`"msg":"order booked","order":%q`, id)); got != want {
			t.Errorf("%s was booked %d times, want %d", id, got, want)
		}
	}
	calls.mu.Lock()
	defer calls.mu.Unlock()
	want := []string{"AmazonSQS.ChangeMessageVisibilityBatch", "AmazonSQS.SendMessage", "DynamoDB_20120810.UpdateItem"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(calls.seen))); diff != "" {
		t.Errorf("actions called (-allowed +called):\n%s", diff)
	}
}
