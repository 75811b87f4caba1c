package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

// The same with claims in a DynamoDB table, on a queue that delivers some messages
// a second time while they are being worked on.
func TestDrainUnderLoad_Store(t *testing.T) {
	t.Parallel()
	// moto has DynamoDB on the port of SQS; the other is of something better.
	endpoint := cmp.Or(os.Getenv("ACKWISE_DYNAMODB_ENDPOINT"), os.Getenv("ACKWISE_SQS_ENDPOINT"))
	if endpoint == "" {
		t.Skip("SKIPPED: neither ACKWISE_DYNAMODB_ENDPOINT nor ACKWISE_SQS_ENDPOINT is set; run make test, which starts a server")
	}
	s := newShop(t)
	var receives atomic.Int64
	s.server.Inject(sqstest.Fault{Action: "ReceiveMessage", Queue: "orders", Times: -1, Twice: true, Match: func(sqstest.Call) bool {
		return receives.Add(1)%4 == 0
	}})
	db, table := newTable(t, endpoint)
	s.env = append(s.env, "AWS_ENDPOINT_URL_DYNAMODB="+s.oneAtATime(endpoint), "ORDERS_TABLE="+table)

	s.storm(rounds())

	completed := 0 // a completion that the store did not take is logged, and the order is done
	pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			if st, _ := it["st"].(*types.AttributeValueMemberS); st != nil && st.Value == "completed" {
				completed++
			}
		}
	}
	if completed > len(s.booked) || completed+s.unrecorded < len(s.booked) {
		t.Errorf("%d records are completed, %d could not be, and %d orders were booked", completed, s.unrecorded, len(s.booked))
	}
}

func newTable(t *testing.T, endpoint string) (*dynamodb.Client, string) {
	t.Helper()
	transport := &http.Transport{} // no proxy: the server is on this machine
	t.Cleanup(transport.CloseIdleConnections)
	db := dynamodb.New(dynamodb.Options{
		Region: sqstest.DefaultRegion, BaseEndpoint: &endpoint, HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "example", ""),
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	table := "ackwise-orders-" + rand.Text()
	if err := dynamostore.CreateTable(ctx, db, table); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
			t.Errorf("delete table %s: %v", table, err)
		}
	})
	return db, table
}

// oneAtATime serves the DynamoDB at target, one call after the other: moto 5.2.1
// checks a condition in one step and writes in another, without a lock. What was
// sent in full is carried out, whether or not its sender still waits for it.
func (s *shop) oneAtATime(target string) (url string) {
	s.t.Helper()
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	turn := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		time.Sleep(mathrand.N(40 * time.Millisecond)) // a network: calls on two connections overtake each other
		came := time.Now()
		turn <- struct{}{}
		defer func() {
			s.slowest.Store(max(s.slowest.Load(), int64(time.Since(came))))
			<-turn
		}()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 30*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		req.Header = r.Header.Clone()
		resp, err := transport.RoundTrip(req)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer resp.Body.Close()
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	s.t.Cleanup(server.Close)
	return server.URL
}
