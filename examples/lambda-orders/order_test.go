package main

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// What becomes of a good order, of one that the bank refuses for three minutes,
// and of two that can never succeed: the function's own pipeline, the real SQS
// client, Lambda's event source mapping, and no AWS. The minutes pass at once.
func TestOrders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := sqstest.NewServer(sqstest.Config{})
		defer server.Close()
		dead := createQueue(t, server, "orders-dlq", sqstest.QueueConfig{})
		orders := createQueue(t, server, "orders", sqstest.QueueConfig{DeadLetter: dead, MaxReceives: 10})

		var mu sync.Mutex // handlers run at the same time
		start, charged := time.Now(), make(map[string]int)
		adapter, err := newAdapter(server.Client(), dead.URL(), func(_ context.Context, o Order) error {
			if o.ID == "A-2" && time.Since(start) < 3*time.Minute {
				return errBank
			}
			mu.Lock()
			defer mu.Unlock()
			charged[o.ID] += o.Amount
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		orders.Send(`{"id":"A-1","customer":"ann","amount":1250}`)
		orders.Send(`{"id":"A-2","customer":"bob","amount":990}`)
		orders.Send(`{"id":"A-3","customer":"eve","amount":-500}`)
		orders.Send(`{"id":"A-4","customer"`)

		drain(t, server, orders, adapter)

		if diff := cmp.Diff(map[string]int{"A-1": 1250, "A-2": 990}, charged); diff != "" {
			t.Errorf("charged (-want +got):\n%s", diff)
		}
		parked := make(map[string]bool)
		for _, m := range dead.Messages() {
			parked[m.Body] = true
		}
		if diff := cmp.Diff(map[string]bool{
			`{"id":"A-3","customer":"eve","amount":-500}`: true,
			`{"id":"A-4","customer"`:                      true,
		}, parked); diff != "" {
			t.Errorf("dead-letter queue (-want +got):\n%s", diff)
		}
	})
}

func createQueue(t *testing.T, s *sqstest.Server, name string, cfg sqstest.QueueConfig) *sqstest.Queue {
	t.Helper()
	q, err := s.CreateQueue(name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// drain lets Lambda's event source mapping work until the queue is empty.
func drain(t *testing.T, s *sqstest.Server, q *sqstest.Queue, h sqstest.Handler) {
	t.Helper()
	source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{Client: s.Client(), QueueURL: q.URL(), Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}
