package main

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// samples are the events of this function: all that are there but the one for the
// dead-letter queue's.
var samples = []string{"fifo", "good", "partial-failure", "poison", "redriven", "sam-fake-handle", "sns-wrapped"}

func TestSamplesAreAll(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../events/answers/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".json"); name != "dead-letters" {
			got = append(got, name)
		}
	}
	if diff := cmp.Diff(samples, got); diff != "" {
		t.Errorf("events with an answer (-tested +there):\n%s", diff)
	}
}

// As in sam local invoke: no queue, no table, and no call.
func TestSampleEvents_Offline(t *testing.T) {
	t.Parallel()
	for _, name := range samples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				event, want := sample(t, name)
				server := sqstest.NewServer(sqstest.Config{})
				defer server.Close()
				h, _ := function(t, awsConfig(server), offline(t))
				if diff := cmp.Diff(string(want), invoke(t, h, event)); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
				if n := server.Calls().Total(); n != 0 {
					t.Errorf("%d calls, want none", n)
				}
			})
		})
	}
}

// With a dead-letter queue, what cannot succeed is parked there and not reported.
func TestSampleEvent_PoisonIsParked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		event, _ := sample(t, "poison")
		server := sqstest.NewServer(sqstest.Config{})
		defer server.Close()
		dead := createQueue(t, server, "orders-dead", sqstest.QueueConfig{})
		h, _ := function(t, awsConfig(server), env{"ORDERS_DEAD_LETTER_URL": dead.URL()})
		if got := invoke(t, h, event); got != `{"batchItemFailures":[]}` {
			t.Errorf("answer %s", got)
		}
		var bodies []string
		for _, m := range dead.Messages() {
			bodies = append(bodies, m.Body)
		}
		slices.Sort(bodies)
		want := []string{`{"customer":"ann","amount":100}`, `{"id":"order-22","customer":"ann","amount":-500}`, `{"id":"order-23","amount`}
		if diff := cmp.Diff(want, bodies); diff != "" {
			t.Errorf("dead-letter queue (-want +got):\n%s", diff)
		}
	})
}

// What looks like SNS's envelope is none where nothing says that there are any:
// whoever may send to the queue could write one.
func TestSampleEvent_WrappedIsOptIn(t *testing.T) {
	t.Parallel()
	event, _ := sample(t, "sns-wrapped")
	e := offline(t)
	delete(e, "ORDERS_SNS")
	h, log := function(t, awsConfig(nil), e)
	var answer struct{ BatchItemFailures []any }
	if err := json.Unmarshal([]byte(invoke(t, h, event)), &answer); err != nil {
		t.Fatal(err)
	}
	booked := strings.Count(log.String(), `"msg":"order booked"`)
	if len(answer.BatchItemFailures) == 0 || booked != 1 {
		t.Errorf("%d booked, want the one that came raw; reported: %v", booked, answer.BatchItemFailures)
	}
}

// VT-11: the handle that SAM makes up is none. The order is reported all the same,
// and nothing is asked of SQS twice.
func TestSampleEvent_FakeHandle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		event, want := sample(t, "sam-fake-handle")
		server := sqstest.NewServer(sqstest.Config{})
		defer server.Close()
		createQueue(t, server, "ackwise-orders-orders", sqstest.QueueConfig{})
		h, log := function(t, awsConfig(server), env{"AWS_SAM_LOCAL": "true", "AWS_ENDPOINT_URL": "http://127.0.0.1:9324"})
		if diff := cmp.Diff(string(want), invoke(t, h, event)); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(sqstest.Calls{"ChangeMessageVisibilityBatch": 1}, server.Calls()); diff != "" {
			t.Errorf("calls (-want +got):\n%s\n%s", diff, log)
		}
	})
}

// The whole way: an order that the bank refuses twice, one that cannot succeed.
func TestOrders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := sqstest.NewServer(sqstest.Config{})
		defer server.Close()
		dead := createQueue(t, server, "orders-dead", sqstest.QueueConfig{})
		orders := createQueue(t, server, "orders", sqstest.QueueConfig{DeadLetter: dead, MaxReceives: 50, Visibility: 4 * time.Minute})
		h, log := function(t, awsConfig(server), env{"ORDERS_DEAD_LETTER_URL": dead.URL()})
		orders.Send(`{"id":"A-1","amount":1250}`, `{"id":"A-2","amount":990,"fails":2}`, `{"id":"A-3","amount":0}`)
		source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{Client: server.Client(), QueueURL: orders.URL(), Handler: h})
		if err != nil {
			t.Fatal(err)
		}
		if err := source.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]int{"A-1": 1, "A-2": 1, "A-3": 0} {
			if got := strings.Count(log.String(), `"msg":"order booked","order":"`+id+`"`); got != want {
				t.Errorf("%s was booked %d times, want %d", id, got, want)
			}
		}
		if n := len(dead.Messages()); n != 1 {
			t.Errorf("%d dead letters, want 1", n)
		}
	})
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  env
		says string // "" is no mistake
	}{
		{env{}, ""},
		{env{"ORDERS_TABLE": "orders", "ORDERS_DEAD_LETTER_URL": "https://sqs.eu-central-1.amazonaws.com/111122223333/dead"}, ""},
		{env{"ORDERS_TABLE": "orders", "ORDERS_MAX_ATTEMPTS": "1"}, ""},
		{env{"ORDERS_SNS": "wrapped"}, ""},
		{env{"ORDERS_SNS": "true"}, "ORDERS_SNS is \"true\""},
		{env{"ORDERS_MAX_ATTEMPTS": "0"}, "ORDERS_MAX_ATTEMPTS is \"0\""},
		{env{"ORDERS_MAX_ATTEMPTS": "five"}, "ORDERS_MAX_ATTEMPTS is \"five\""},
		{env{"ORDERS_DEAD_LETTER_URL": "OrdersDeadLetterQueue"}, "the whole URL"},
		{env{"ORDERS_TABLE": "no table"}, "no table"},
	} {
		_, err := newAdapter(awsConfig(nil), tt.env.get, slog.New(slog.DiscardHandler))
		if (err == nil) != (tt.says == "") || (err != nil && !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%v: %v; want %q", tt.env, err, tt.says)
		}
	}
}

func createQueue(t *testing.T, s *sqstest.Server, name string, cfg sqstest.QueueConfig) *sqstest.Queue {
	t.Helper()
	q, err := s.CreateQueue(name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
