package main

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// TestMain is also what the workers enter that a test starts.
func TestMain(m *testing.M) {
	if _, isWorker := os.LookupEnv(workerEnv); isWorker {
		os.Exit(start(context.Background()))
	}
	goleak.VerifyTestMain(m)
}

const output = `sam has 100. Order 4711, for 30, is in the queue.

worker 1: order 4711, receive 1: runs, attempt 1
worker 1: committed: the order, the account and the completion, in one transaction
worker 1 is dead (SIGKILL); the message is in flight, received 1 time.

worker 2: receive 2 is duplicate: its work is done already, so it is acknowledged without a run

The queue has 0 messages, the table 1 order, and sam has 70.
Received twice, booked once.
`

// The whole output, with real processes, of which one is really killed.
func TestBookedOnce(t *testing.T) {
	t.Parallel()
	var w bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := run(ctx, emulator(t), &w); err != nil {
		t.Error(err)
	}
	// How a loaded machine is seen: the message is visible again by the time that
	// we look.
	got := strings.Replace(w.String(), "the message is visible", "the message is in flight", 1)
	if diff := gocmp.Diff(strings.Split(output, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

// The account is what decides: an order that was booked twice, and one that was
// not booked, are errors.
func TestReportSeesWhatIsWrong(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, closeIdle, err := newClient(ctx, emulator(t))
	if err != nil {
		t.Fatal(err)
	}
	defer closeIdle()
	for name, c := range map[string]struct {
		balance, orders, queued int
		ok                      bool
	}{
		"once":             {70, 1, 0, true},
		"taken twice":      {40, 1, 0, false},
		"nothing":          {100, 0, 0, false},
		"without an order": {70, 0, 0, false},
		"left":             {70, 1, 1, false},
	} {
		s := &shop{client: client, table: "ackwise-example-" + strings.ReplaceAll(name, " ", "-") + time.Now().Format("150405.000000")}
		if err := s.open(ctx, "sam", c.balance); err != nil {
			t.Fatal(err)
		}
		for range c.orders {
			if err := s.put(ctx, item{"pk": text("order#1")}); err != nil {
				t.Fatal(err)
			}
		}
		var w bytes.Buffer
		if err := s.report(ctx, &w, c.queued); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		deleteTables(ctx, client, &w, s.table)
	}
}

func TestBadEndpoint(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"localhost", "127.0.0.1:8000", ":", "http://"} {
		if err := run(t.Context(), endpoint, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "use a whole URL") {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}

func emulator(t *testing.T) string {
	t.Helper()
	// moto has DynamoDB on the port of SQS; the other is of something better.
	endpoint := cmp.Or(os.Getenv("ACKWISE_DYNAMODB_ENDPOINT"), os.Getenv("ACKWISE_SQS_ENDPOINT"))
	if endpoint == "" {
		t.Skip("SKIPPED: neither ACKWISE_DYNAMODB_ENDPOINT nor ACKWISE_SQS_ENDPOINT is set; run make test, which starts a server")
	}
	return endpoint
}
