package main

import (
	"strings"
	"testing"
	"time"
)

// With a store the order that is delivered twice runs once, and what cannot
// succeed is parked by the library when its attempts are used up.
func TestSampleWithStore(t *testing.T) {
	t.Parallel()
	r := program(t, "", 0, "-store", "memory")
	r.want(t, exitOK,
		"maxReceiveCount 50",
		"An idempotency store in memory",
		"messages 60 sent", "done 53", "parked 7", "moved 0", "left 0", "lost 0",
		"verdict deliveries tries\ndone 53 64\nduplicate 1 0\nretry 18 50\ndeferred 1 0\nrejected 7 13\n",
		"library 1 1 the address does not exist",
		"library 5 15 all attempts were used (5): the article cannot be found",
		"library 5 15 all attempts were used (5): the handler panicked: order without a customer",
		"SendMessage 7",
		"A-1015 was delivered twice on purpose, as SQS may do: it was received 3 times, and done once.",
		"Nothing was lost: 60 sent = 53 done + 7 in the dead-letter queue.",
	)
	if r.took > 15*time.Second {
		t.Errorf("the sample takes %v", r.took)
	}
	if r.stderr != "" {
		t.Errorf("standard error: %s", r.stderr)
	}
}

// Nothing is parked, and still no attempt is made beyond the budget: what was
// rejected waits for SQS without another run.
func TestSampleWithStoreRedrivenBySQS(t *testing.T) {
	t.Parallel()
	r := program(t, "", 0, "-store", "memory", "-dlq", "sqs")
	r.want(t, exitOK, "maxReceiveCount 5)", "done 53", "parked 0", "moved 7", "lost 0", "done once.",
		"SQS 5 1 the address does not exist", "SQS 5 15 the article cannot be found")
	if strings.Contains(r.stdout, "SendMessage") {
		t.Error("something was parked")
	}
}

// The second delivery comes while the first one runs, so it is held off; it runs
// no more when that one is done.
func TestStoreHoldsOffWhatRuns(t *testing.T) {
	t.Parallel()
	r := program(t, `{"body":{"id":"A-1","simulate":"slow:10s"},"twice":true}`, 0, "-f", "-", "-v", "-store", "memory")
	r.want(t, exitOK, "A-1 receive 1 done 1 try\n", "A-1 receive 2 deferred 0 tries, back in ", "A-1 receive 3 duplicate 0 tries\n",
		"done 1 the handler returned nil")
}
