package main

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

var hosts = []string{hostLambda, hostPoller}

// What becomes of the sample does not depend on the host.
func TestHostsAgree(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "-speed 1", "-speed 100", "-dlq sqs"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			var seen []agreed
			for _, h := range hosts {
				r := program(t, "", 0, append(strings.Fields(args), "-v", "-host", h)...)
				r.want(t, exitOK, "messages 60 sent", "done 53", "left 0", "lost 0")
				if r.stderr != "" {
					t.Errorf("%s: standard error: %s", h, r.stderr)
				}
				seen = append(seen, r.agreed(t))
			}
			if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
				t.Errorf("the hosts differ (-%s +%s):\n%s", hosts[0], hosts[1], diff)
			}
		})
	}
}

// agreed is the part of the output that is the same on all hosts. The tries in
// deliveries are not: a handler that hangs is cut off by its function's deadline
// in Lambda, and tried again by a poller.
type agreed struct {
	// Messages is how many were done, parked and moved.
	Messages []string
	// Deliveries is how many there were of each verdict.
	Deliveries map[string]string
	// Verdicts are those of each message, in their order.
	Verdicts map[string][]string
	// Dead is what the dead-letter queue holds, without the ids of the messages.
	Dead []string
}

var (
	messagesRow = regexp.MustCompile(`^  (messages|done|parked|moved|left|lost) +\d+`)
	verdictRow  = regexp.MustCompile(`^  ([a-z]+) +(\d+) +\d+$`)
	outcomeLine = regexp.MustCompile(`^ *[0-9.]+s  (.+?) +receive (\d+)  ([a-z]+)`)
	deadRow     = regexp.MustCompile(`^  [0-9a-f]{8}  (.*)$`)
)

func (r result) agreed(t *testing.T) agreed {
	t.Helper()
	a := agreed{Deliveries: make(map[string]string), Verdicts: make(map[string][]string)}
	for line := range strings.Lines(r.stdout) {
		line = strings.TrimRight(line, "\n")
		if m := outcomeLine.FindStringSubmatch(line); m != nil {
			a.Verdicts[m[1]] = append(a.Verdicts[m[1]], m[3])
		} else if m := verdictRow.FindStringSubmatch(line); m != nil {
			a.Deliveries[m[1]] = m[2]
		} else if m := deadRow.FindStringSubmatch(line); m != nil {
			a.Dead = append(a.Dead, m[1])
		} else if messagesRow.MatchString(line) {
			a.Messages = append(a.Messages, line)
		}
	}
	slices.Sort(a.Dead)
	if len(a.Verdicts) != 60 || len(a.Deliveries) != 3 || len(a.Dead) != 7 || len(a.Messages) != 6 {
		t.Errorf("the output has %d messages, %d verdicts, %d dead messages and %d rows of messages:\n%s",
			len(a.Verdicts), len(a.Deliveries), len(a.Dead), len(a.Messages), r.stdout)
	}
	return a
}

// The table of calls is the server's count, receives and deletes included.
func TestPollerCountsItsCalls(t *testing.T) {
	t.Parallel()
	r := program(t, strings.Repeat("1\n", 20), 0, "-f", "-", "-host", "poller")
	r.want(t, exitOK, "1/20 of a real set-up's (try\ntimeout 1.5s for 30s, ", "done 20 20\n",
		"by the library DeleteMessageBatch 2, GetQueueAttributes 1, ReceiveMessage ")
	if strings.Contains(r.stdout, "event source") || strings.Contains(r.stdout, "invocation") {
		t.Errorf("the output speaks of Lambda:\n%s", r.stdout)
	}
	if r.took > 500*time.Millisecond {
		t.Errorf("it took %v: the last receive was waited for", r.took)
	}
}

// A handler that hangs is tried as often as one that fails.
func TestPollerStall(t *testing.T) {
	t.Parallel()
	r := program(t, `{"id":"A-1","simulate":"stall"}`, 0, "-f", "-", "-v", "-host", "poller", "-speed", "1")
	r.want(t, exitOK, "A-1 receive 1 retry 3 tries, back in ", "A-1 receive 2 done 1 try\n", "A poller runs them")
	if strings.Contains(r.stdout, "Speed") || r.took < 90*time.Second || r.took > 130*time.Second {
		t.Errorf("took %v:\n%s", r.took, r.stdout)
	}
}

// The second delivery joins the first, with a store and without: the handler runs
// once, and its try is counted once.
func TestPollerJoins(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"", storeMemory} {
		r := program(t, `{"body":{"id":"A-1","simulate":"slow:10s"},"twice":true}`, 0, "-f", "-", "-host", "poller", "-store", store)
		r.want(t, exitOK, "\nverdict deliveries tries\ndone 2 1\n", "A-1 was delivered twice on purpose, as SQS may do: "+
			"it was received 2 times, and done once.")
	}
}

func TestPollerWithStore(t *testing.T) {
	t.Parallel()
	for _, speed := range []string{"1", "20", "100"} {
		t.Run(speed, func(t *testing.T) {
			t.Parallel()
			r := program(t, "", 0, "-host", "poller", "-store", "memory", "-speed", speed)
			r.want(t, exitOK,
				"maxReceiveCount 50", "messages 60 sent", "done 53", "parked 7", "moved 0", "left 0", "lost 0",
				"retry 18 52\n", "rejected 7 13\n",
				"library 5 15 all attempts were used (5): the article cannot be found",
				"and done once.", "Nothing was lost: 60 sent = 53 done + 7 in the dead-letter queue.")
			if strings.Contains(r.stdout, "deferred") {
				t.Errorf("a claim was not renewed or not given back:\n%s", r.stdout)
			}
			if r.stderr != "" {
				t.Errorf("standard error: %s", r.stderr)
			}
		})
	}
}

// The poller says what of the queue does not fit the store.
func TestPollerWithStoreRedrivenBySQS(t *testing.T) {
	t.Parallel()
	r := program(t, "", 0, "-host", "poller", "-store", "memory", "-dlq", "sqs")
	r.want(t, exitOK, "maxReceiveCount 5)", "done 53", "parked 0", "moved 7", "lost 0", "SQS 5 15 the article cannot be found")
	if strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "level=WARN") || !strings.Contains(r.stderr, "make it a backstop") {
		t.Errorf("standard error: %s", r.stderr)
	}
}

// Timings of the poller and of the store have limits that hang together, and
// some are rounded. They fit each other at any speed.
func TestTimingsAtAnySpeed(t *testing.T) {
	t.Parallel()
	for speed := 1; speed <= maxSpeed; speed++ {
		for _, h := range hosts {
			o, err := parseArgs([]string{"-host", h, "-store", "memory", "-speed", strconv.Itoa(speed)}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			s, err := newStage(o, io.Discard, io.Discard)
			if err != nil {
				t.Errorf("%s at speed %d: %v", h, speed, err)
				continue
			}
			s.server.Close()
		}
	}
}

// A claim's lease is as long as all other times: two minutes by the speed.
func TestLeaseIsScaled(t *testing.T) {
	t.Parallel()
	for speed, want := range map[int]time.Duration{1: 2 * time.Minute, 20: 6 * time.Second, 100: 2 * time.Second} {
		c, err := new(stage).consumer(options{speed: speed, store: storeMemory, host: hostPoller}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Config().Idempotency.Lease(); got != want {
			t.Errorf("at speed %d the lease is %v, want %v", speed, got, want)
		}
	}
}

// A host that cannot work is an error, and no message is missing.
func TestHostFails(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		hostLambda: "local: sqstest: event source: ",
		hostPoller: "local: poller: cannot look at the queue https://sqs.us-east-1.amazonaws.com/000000000000/orders " +
			`in region "us-east-1" (sqs:GetQueueAttributes): `,
	} {
		r := staged(t, host, "", func(s *stage) {
			s.server.Inject(sqstest.Fault{Action: "GetQueueAttributes", Err: sqstest.AccessDenied()})
		})
		r.want(t, exitUnfinished, "left 60 still in the queue: ", "Nothing was lost: 60 sent = 0 done + 0 in the dead-letter queue + 60 still")
		if !strings.HasPrefix(r.stderr, want) {
			t.Errorf("%s: standard error: %q", host, r.stderr)
		}
	}
}

// A queue that is empty is not quiet while a handler runs, whatever has become of
// its message.
func TestPollerWaitsForWhatRuns(t *testing.T) {
	t.Parallel()
	r := staged(t, hostPoller, `{"simulate":"slow:10s"}`, func(s *stage) { time.AfterFunc(200*time.Millisecond, func() { s.purge(t) }) })
	r.want(t, exitOK, "done 1 ", "lost 0")
}

// Messages that vanish behind the library's back are noticed.
func TestLostMessagesAreReported(t *testing.T) {
	t.Parallel()
	// When only what cannot succeed is left.
	for host, when := range map[string]time.Duration{hostLambda: 3500 * time.Millisecond, hostPoller: 8 * time.Second} {
		r := staged(t, host, "", func(s *stage) { time.AfterFunc(when, func() { s.purge(t) }) })
		r.want(t, exitUnfinished,
			"lost 3 nowhere, and not done: A-", "This does not add up: 60 sent = 53 done + 4 in the dead-letter queue + 3 LOST.")
	}
}

func (s *stage) purge(t *testing.T) {
	t.Helper()
	if _, err := s.server.Client().PurgeQueue(context.Background(), &sqs.PurgeQueueInput{QueueUrl: aws.String(s.queue.URL())}); err != nil {
		t.Error(err)
	}
}

// staged plays lines, or the sample, on a stage that f has done something to.
func staged(t *testing.T, host, lines string, f func(*stage)) (r result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o, err := parseArgs([]string{"-host", host}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if lines != "" {
			o.file = "-"
		}
		in, err := read(o, strings.NewReader(lines))
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		s, err := newStage(o, &stdout, &stderr)
		if err != nil {
			t.Fatal(err)
		}
		defer s.server.Close()
		if err := s.send(o, in); err != nil {
			t.Fatal(err)
		}
		f(s)
		r.code = s.play(t.Context(), o, &stdout, &stderr)
		r.stdout, r.stderr = stdout.String(), stderr.String()
	})
	return r
}
