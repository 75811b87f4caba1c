package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/retry"
)

var errRefusedAddress = retry.Permanent(errAddress)

// foreign hides whose transport it is: the queue is one like any other.
type foreign struct{ http.RoundTripper }

// elsewhere is an SQS that is not this program's.
type elsewhere struct {
	server      *sqstest.Server
	queue, dead *sqstest.Queue
	args        []string
	stdin       string
}

// function parks what is invalid, fails with what is poison and does the rest.
func (e *elsewhere) function(t *testing.T) sqstest.Handler {
	t.Helper()
	c, err := consumer.New(consumer.JSON(func(_ context.Context, o order, m *consumer.Message) error {
		if o.simulate == "poison" {
			return errStock
		}
		return fails(o, m)
	}), consumer.Config{DeadLetter: dlq.New(e.server.Client(), e.dead.URL()), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	a, err := lambdasqs.New(c, lambdasqs.Config{SQS: e.server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// there runs the program on queues elsewhere, in virtual time. suffix is that of
// the queues' names.
func there(t *testing.T, suffix string, f func(*elsewhere)) (r result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := &elsewhere{server: sqstest.NewServer(sqstest.Config{})}
		defer e.server.Close()
		var err error
		if e.dead, err = e.server.CreateQueue("dead"+suffix, sqstest.QueueConfig{}); err != nil {
			t.Fatal(err)
		}
		e.queue, err = e.server.CreateQueue("orders"+suffix, sqstest.QueueConfig{Visibility: 3 * time.Minute, DeadLetter: e.dead, MaxReceives: 2})
		if err != nil {
			t.Fatal(err)
		}
		f(e)
		o, err := parseArgs(append([]string{"-invoke", someURL, "-endpoint", "http://sqs.test", "-queue", e.queue.URL()}, e.args...), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		in, err := read(o, strings.NewReader(e.stdin))
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		out, errs := &output{w: &stdout}, &output{w: &stderr}
		m, err := newRemote(t.Context(), o, network{
			function: &http.Client{Transport: standIn{e.function(t)}},
			sqs:      &http.Client{Transport: foreign{e.server.HTTPClient().Transport}},
		}, out, errs)
		if err != nil {
			r.code, r.stderr = exitUsage, err.Error()
			return
		}
		defer m.queues.close()
		r.code = m.run(t.Context(), o, in, out, errs)
		r.stdout, r.stderr = stdout.String(), stderr.String()
		for _, d := range e.dead.Messages() {
			if d.State != sqstest.Visible {
				t.Errorf("a look at the dead-letter queue has left %s %s", d.Body, d.State)
			}
		}
	})
	return r
}

// What is in the queue already is worked off, and nothing is sent. What was on
// the dead-letter queue before is not counted.
func TestExternal(t *testing.T) {
	t.Parallel()
	r := there(t, "", func(e *elsewhere) {
		e.dead.Send("of another day")
		for range 11 {
			e.queue.Send(`{"id":"B-1"}`)
		}
		e.queue.Send(`{"id":"B-2","simulate":"invalid"}`, `{"id":"B-3","simulate":"poison"}`, `no json`)
	})
	r.want(t, exitOK, "at http://sqs.test (visibility timeout 3m0s, maxReceiveCount 2) with dead-letter queue",
		"messages 14 sent, or received", "done 11", "parked 2", "moved 1", "left 0", "lost 0",
		"B-2 function 1 the address does not exist", "B-3 SQS 2 the function reported it",
		"by the function not known", "Nothing was lost: 14 sent = 11 done + 3 in the dead-letter queue.")
	if r.stderr != "" {
		t.Errorf("standard error: %s", r.stderr)
	}
}

// Messages of a file are sent there, with what a FIFO queue asks for.
func TestExternalSends(t *testing.T) {
	t.Parallel()
	for suffix, group := range map[string]string{"": "", ".fifo": `,"group":"g"`} {
		r := there(t, suffix, func(e *elsewhere) {
			e.args = []string{"-f", "-"}
			e.stdin = `{"body":{"id":"A-1"},"attributes":{"n":1}` + group + `}
{"body":{"id":"A-2","simulate":"invalid"}` + group + `}`
		})
		r.want(t, exitOK, "2 messages from standard input sent to the queue.", "done 1", "parked 1", "lost 0", "A-2 function 1")
	}
}

// A message that SQS does not take is named.
func TestExternalRefusesMessage(t *testing.T) {
	t.Parallel()
	r := there(t, "", func(e *elsewhere) {
		e.args = []string{"-f", "-"}
		e.stdin = "\n" + `{"body":"{}","attributes":{"AWS.x":"no name for us"}}`
	})
	r.want(t, exitUsage)
	if !strings.HasPrefix(r.stderr, "local: standard input:2: ") || !strings.Contains(r.stderr, "reserved") {
		t.Errorf("standard error: %q", r.stderr)
	}
}

// A FIFO queue takes no message without a group: none of the file is sent then.
func TestExternalWithoutGroup(t *testing.T) {
	t.Parallel()
	var queue *sqstest.Queue
	r := there(t, ".fifo", func(e *elsewhere) {
		e.args = []string{"-f", "-"}
		e.stdin = `{"body":{"id":"A-1"},"group":"g"}` + "\n" + `{"id":"A-2"}`
		queue = e.queue
	})
	r.want(t, exitUsage)
	wantLines(t, r.stderr, "local: standard input:2: the message has no group, and -queue is a FIFO queue; "+
		`write it as {"body": …, "group": "text"}`)
	if n := len(queue.Messages()); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
}

// A message that was parked and redriven is known by its first id; if SQS moves
// it, it is no parked copy.
func TestExternalRedriven(t *testing.T) {
	t.Parallel()
	redriven := map[string]types.MessageAttributeValue{dlq.AttributeName: text(`{"queue":"q","id":"first","attempts":1}`)}
	for simulate, want := range map[string]string{"": "done 1", "invalid": "parked 1", "poison": "moved 1"} {
		r := there(t, "", func(e *elsewhere) {
			if _, err := e.queue.SendMessage(sqstest.Message{Body: `{"simulate":"` + simulate + `"}`, Attributes: redriven}); err != nil {
				t.Error(err)
			}
		})
		r.want(t, exitOK, "messages 1 sent", want, "lost 0")
	}
}

// What is not seen to the end is left, not lost.
func TestExternalTimeRunsOut(t *testing.T) {
	t.Parallel()
	r := there(t, "", func(e *elsewhere) {
		e.args = []string{"-timeout", "3s", "-v"}
		e.queue.Send(`{"id":"B-1"}`, `{"id":"B-3","simulate":"poison"}`)
	})
	r.want(t, exitUnfinished, "done 1", "left 1 still in the queue: B-3", "lost 0", "2 known = 1 deleted + 1 not yet; 1 invocation",
		"B-3 receive 1 reported as failed\n")
	wantLines(t, r.stderr, "local: time ran out after 3s; -timeout gives more")
}

// What has left a queue that is quiet, by nobody's doing here, is lost.
func TestExternalLost(t *testing.T) {
	t.Parallel()
	r := there(t, "", func(e *elsewhere) {
		e.queue.Send(`{"id":"B-3","simulate":"poison"}`)
		time.AfterFunc(time.Second, func() { (&stage{server: e.server, queue: e.queue}).purge(t) })
	})
	r.want(t, exitUnfinished, "left 0", "lost 1 nowhere, and not deleted here: B-3", "This does not add up")
}

// A FIFO dead-letter queue may not show all that it has: that is said, and no
// success.
func TestExternalUnseen(t *testing.T) {
	t.Parallel()
	r := there(t, ".fifo", func(e *elsewhere) {
		e.args = []string{"-f", "-"}
		e.stdin = strings.Repeat(`{"body":{"id":"A-1","simulate":"invalid"},"group":"g"}`+"\n", 12)
	})
	r.want(t, exitUnfinished, "parked 10")
	wantLines(t, r.stderr, "local: not all of the dead-letter queue was seen")
}

// A queue that does not fit is bad input.
func TestExternalBadQueue(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]func(*elsewhere){
		"cannot look at the queue: ": func(e *elsewhere) { e.args = []string{"-queue", "http://sqs.test/000000000000/nosuch"} },
		"the queue's visibility timeout is 3m0s, shorter than -function-timeout (15m0s)": func(e *elsewhere) { e.args = []string{"-function-timeout", "15m"} },
	} {
		r := there(t, "", f)
		if r.code != exitUsage || !strings.HasPrefix(r.stderr, want) {
			t.Errorf("exit code %d, standard error %q, want %q", r.code, r.stderr, want)
		}
	}
}
