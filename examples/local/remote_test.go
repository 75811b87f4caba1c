package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

const someURL = "http://127.0.0.1:3001/2015-03-31/functions/OrdersFunction/invocations"

// standIn is a function in another process, without the process.
type standIn struct{ h sqstest.Handler }

var errRefused = errors.New("connection refused")

// RoundTrip implements http.RoundTripper, as sam local start-lambda answers.
func (s standIn) RoundTrip(r *http.Request) (*http.Response, error) {
	payload, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), functionTimeout)
	defer cancel()
	answer, err := s.h.Invoke(ctx, payload)
	w := &http.Response{StatusCode: http.StatusOK, Header: make(http.Header)}
	switch {
	case errors.Is(err, errRefused):
		return nil, err
	case err != nil:
		w.Header.Set("X-Amz-Function-Error", "Unhandled")
		answer = []byte(`{"errorType":"errorString","errorMessage":"` + err.Error() + `"}`)
	}
	w.Body = io.NopCloser(bytes.NewReader(answer))
	return w, nil
}

// shopFunction is this program's own handler as a function: what it does is
// known.
func shopFunction(t *testing.T, e *embedded) sqstest.Handler {
	t.Helper()
	o := options{speed: 1, dlq: dlqPark, host: hostLambda}
	s := &stage{server: e.server, queue: e.queue, dead: e.dead, ledger: newLedger(io.Discard, false)}
	s.shop = newShop(o, nil)
	s.ledger.called = s.shop.called
	c, err := s.consumer(o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	adapter, err := lambdasqs.New(c, lambdasqs.Config{SQS: e.server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return adapter
}

// away runs the program in virtual time with the function that f makes.
func away(t *testing.T, lines string, f func(*embedded) sqstest.Handler, args ...string) (r result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o, err := parseArgs(append([]string{"-invoke", someURL}, args...), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if lines != "" {
			o.file = "-"
		}
		o.invoke.listen = "" // no sockets in a bubble
		in, err := read(o, strings.NewReader(lines))
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		function := &standIn{}
		out, errs := &output{w: &stdout}, &output{w: &stderr}
		m, err := newRemote(t.Context(), o, network{function: &http.Client{Transport: function}}, out, errs)
		if err != nil {
			t.Fatal(err)
		}
		defer m.queues.close()
		function.h = f(m.queues.(*embedded))
		start := time.Now()
		r.code = m.run(t.Context(), o, in, out, errs)
		r.stdout, r.stderr, r.took = stdout.String(), stderr.String(), time.Since(start)
	})
	return r
}

// From outside the account of the sample is the one that the handler itself has.
func TestInvokeSample(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []string{"1", "5"} {
		r := away(t, "", func(e *embedded) sqstest.Handler { return shopFunction(t, e) }, "-concurrency", concurrency)
		r.want(t, exitOK,
			"60 messages from sample.jsonl sent to the queue.",
			"messages 60 sent", "done 53", "parked 4", "moved 3", "left 0", "lost 0",
			"deleted 57", "reported as failed 21",
			"\nafter receive messages came back after\n1 8 ",
			"function 1 the address does not exist", "function 1 body does not decode",
			"SQS 5 the function reported it, and an answer has no reasons",
			"SendMessage 4", "0 of which failed as a whole",
			"Nothing was lost: 60 sent = 53 done + 7 in the dead-letter queue.")
		if r.stderr != "" {
			t.Errorf("standard error: %s", r.stderr)
		}
		if strings.Contains(r.stdout, "verdict") || strings.Contains(r.stdout, " tries") && !strings.Contains(r.stdout, "its tries in them are") {
			t.Errorf("it says what it cannot know:\n%s", r.stdout)
		}
	}
}

// answers is a function with an answer for each invocation; the last one stays.
func answers(list ...func([]byte) ([]byte, error)) func(*embedded) sqstest.Handler {
	n := 0
	return func(*embedded) sqstest.Handler {
		return sqstest.HandlerFunc(func(_ context.Context, payload []byte) ([]byte, error) {
			f := list[min(n, len(list)-1)]
			n++
			return f(payload)
		})
	}
}

func allGood([]byte) ([]byte, error) { return []byte(`{"batchItemFailures":[]}`), nil }
func throws([]byte) ([]byte, error)  { return nil, errors.New("no disk") }
func nonsense([]byte) ([]byte, error) {
	return []byte(`{"batchItemFailures":[{"itemIdentifier":"x"}]}`), nil
}
func unreached([]byte) ([]byte, error) { return nil, errRefused }

const two = `{"id":"A-1"}
{"id":"A-2","simulate":"fail"}`

// So many invocations run at once: one, unless more are asked for.
func TestInvokeConcurrency(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat(two+"\n", 20)
	for args, want := range map[string]time.Duration{"": 40 * time.Second, "-concurrency 4": 10 * time.Second} {
		r := away(t, lines, func(*embedded) sqstest.Handler {
			return sqstest.HandlerFunc(func(_ context.Context, payload []byte) ([]byte, error) {
				time.Sleep(10 * time.Second)
				return allGood(payload)
			})
		}, strings.Fields(args)...)
		r.want(t, exitOK, "done 40", "in 4 invocations")
		if r.took != want {
			t.Errorf("%q: it took %v, want %v", args, r.took, want)
		}
	}
}

// A message that has been deleted a moment ago, and is not noted yet, is no lost
// one in a line of progress.
func TestInvokeProgress(t *testing.T) {
	t.Parallel()
	e, err := newEmbedded(invocation{receives: 1, timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	tr := newTrace(target{}, io.Discard, io.Discard, false)
	tr.add("deleted", line{})
	if got, want := e.progress(tr).String(), "1 sent = 0 done + 1 in the queue + 0 in the dead-letter queue; 0 invocations"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An interrupt lets the invocation finish that is under way, and begins no other.
func TestInvokeInterrupt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o := options{speed: 1, timeout: time.Hour, invoke: invocation{
			url: someURL, to: target{base: "http://h", function: "f"}, concurrency: 1, receives: 5, timeout: 30 * time.Second,
		}}
		in, err := read(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		out, errs := &output{w: &stdout}, &output{w: &stderr}
		function := &http.Client{Transport: standIn{sqstest.HandlerFunc(func(_ context.Context, payload []byte) ([]byte, error) {
			cancel()
			time.Sleep(5 * time.Second)
			return allGood(payload)
		})}}
		m, err := newRemote(ctx, o, network{function: function}, out, errs)
		if err != nil {
			t.Fatal(err)
		}
		defer m.queues.close()
		r := result{code: m.run(ctx, o, in, out, errs)}
		r.stdout, r.stderr = stdout.String(), stderr.String()
		r.want(t, exitInterrupted, "done 10", "lost 0", "60 sent = 10 done + 0 in the dead-letter queue + 50 still in the queue.")
		if r.stderr != finishing {
			t.Errorf("standard error: %q", r.stderr)
		}
	})
}

func wantLines(t *testing.T, text string, beginnings ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != len(beginnings) {
		t.Errorf("standard error has %d lines, want %d: %q", len(lines), len(beginnings), text)
		return
	}
	for i, b := range beginnings {
		if !strings.HasPrefix(lines[i], b) {
			t.Errorf("line %d is %q, want it to begin with %q", i+1, lines[i], b)
		}
	}
}

// Messages that vanish, or that others send, are noticed.
func TestInvokeStrangeMessages(t *testing.T) {
	t.Parallel()
	r := away(t, two, func(e *embedded) sqstest.Handler {
		e.queue.Send(`{"id":"B-1"}`)
		return sqstest.HandlerFunc(func(_ context.Context, payload []byte) ([]byte, error) {
			if strings.Contains(string(payload), "B-1") {
				e.dead.Send("who?")
			}
			return allGood(payload)
		})
	})
	r.want(t, exitUnfinished, "messages 3 sent", "done 3", "nobody sent\n",
		"This does not add up: 3 sent = 3 done + 0 in the dead-letter queue, and 1 that nobody sent.")
}
