package main

import (
	"strings"
	"testing"
	"time"
)

// What README promises of the first command.
func TestSample(t *testing.T) {
	t.Parallel()
	r := program(t, "", 0)
	r.want(t, exitOK,
		"messages 60 sent", "done 53", "parked 4", "moved 3", "left 0", "lost 0",
		"rejected 4 4",
		"after receive messages delay\n1 8 1s\n2 4 1s\n3 3 2s\n",
		"library 1 1 the address does not exist",
		"library 1 1 body does not decode as main.order: it is not valid JSON",
		"SQS 5 15 the article cannot be found",
		"SQS 5 15 the handler panicked: order without a customer",
		"SendMessage 4",
		"was delivered twice on purpose, as SQS may do: it was received 2 times, and done 2 times.",
		"Nothing was lost: 60 sent = 53 done + 7 in the dead-letter queue.",
	)
	if r.took > 25*time.Second {
		t.Errorf("the sample takes %v", r.took)
	}
	if r.stderr != "" {
		t.Errorf("standard error: %s", r.stderr)
	}
}

// Without parking the same messages end in the dead-letter queue, by SQS.
func TestSampleRedrivenBySQS(t *testing.T) {
	t.Parallel()
	r := program(t, "", 0, "-dlq", "sqs")
	if r.took < 124*time.Second { // 4, 8, 16, 32 and 64 s, as the program says
		t.Errorf("took %v", r.took)
	}
	r.want(t, exitOK, "done 53", "parked 0", "moved 7", "lost 0", "SQS 5 5 the address does not exist")
	if strings.Contains(r.stdout, "SendMessage") {
		t.Error("something was parked")
	}
}

// How long it takes follows from the backoffs of the poison messages: at least
// 5, 10, 20, 40 and 80 s, by the speed, and whole seconds.
func TestSpeed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		speed   string
		atLeast time.Duration
	}{
		{"1", 155 * time.Second},
		{"10", 16 * time.Second},
		{"100", 5 * time.Second},
	} {
		t.Run(c.speed, func(t *testing.T) {
			t.Parallel()
			for _, host := range hosts {
				r := program(t, "", 0, "-speed", c.speed, "-host", host)
				r.want(t, exitOK, "done 53", "parked 4", "moved 3")
				if r.took < c.atLeast || r.took > 3*c.atLeast {
					t.Errorf("%s: took %v, want %v to three times that", host, r.took, c.atLeast)
				}
			}
		})
	}
}

func TestVerboseShowsEachOutcome(t *testing.T) {
	t.Parallel()
	r := program(t, `{"id":"A-1","simulate":"flaky:4"}`, 0, "-f", "-", "-v")
	r.want(t, exitOK,
		"A-1 receive 1 retry 3 tries, back in 1s: the bank does not answer\n",
		"A-1 receive 2 done 2 tries\n")
}

func TestOwnLinesAreGoodOrders(t *testing.T) {
	t.Parallel()
	const lines = `
{"orderId": 7, "simulate": true}
[1, 2]
"\"a text in JSON\""
12.50

{"body": {"id": 9}, "group": "g", "attributes": {"n": 1, "s": "x"}, "delay": 30}
`
	r := program(t, lines, 0, "-f", "-")
	r.want(t, exitOK, "5 messages from standard input", "done 5", "lost 0")
}

func TestTimeRunsOut(t *testing.T) {
	t.Parallel()
	for host, left := range map[string]string{hostLambda: "3", hostPoller: "4"} {
		r := program(t, "", 0, "-timeout", "3s", "-host", host)
		r.want(t, exitUnfinished, "left "+left+" still in the queue: A-", "lost 0", "Nothing was lost: 60 sent =", "+ "+left+" still in the queue.")
		if !strings.Contains(r.stderr, "time ran out after 3s") {
			t.Errorf("%s: standard error: %q", host, r.stderr)
		}
	}
}
