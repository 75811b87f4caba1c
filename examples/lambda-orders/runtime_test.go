package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// The function as it is deployed: a process under AWS's runtime interface
// emulator, invoked over HTTP with the events that Lambda's event source mapping
// makes of messages received from a queue, calling SQS over the network.
//
// One process serves all cases, one after the other, as a warm instance does.
//
//nolint:paralleltest // the emulator takes one invocation at a time
func TestLambdaRuntime(t *testing.T) {
	server := sqstest.NewServer(sqstest.Config{})
	t.Cleanup(server.Close)
	base, err := server.Listen("")
	if err != nil {
		t.Fatal(err)
	}
	f := &function{server: server, rt: startRuntime(t, base)}
	t.Run("all good", f.testAllGood)
	t.Run("partial failure", f.testPartialFailure)
	t.Run("panic", f.testPanic)
	t.Run("event of another service", f.testForeignEvent)
	t.Run("5 MB event", f.testLargeEvent)
	t.Run("timeout guard", f.testTimeoutGuard)
}

func (f *function) testAllGood(t *testing.T) {
	i := f.invoke(t, "all-good", order("A-1", ""), order("A-2", ""), order("A-3", ""))
	if i.Failure != "" || string(i.Response) != `{"batchItemFailures":[]}` {
		t.Errorf("answer %q, failure %q (%v)", i.Response, i.Failure, i.Err)
	}
	if calls := f.server.Calls(); calls.Total() != 0 {
		t.Errorf("a batch that went well has cost SQS calls: %v", calls)
	}
}

func (f *function) testPartialFailure(t *testing.T) {
	i := f.invoke(t, "partial", order("A-1", ""), order("A-2", "fail"), order("A-3", ""), order("A-4", "fail"))
	i.wantFailed(t, 1, 3)
	f.wantVisibility(t, i, 1, 3)
}

func (f *function) testPanic(t *testing.T) {
	i := f.invoke(t, "panic", order("A-1", ""), order("A-2", "panic"), order("A-3", ""))
	i.wantFailed(t, 1)
	f.wantVisibility(t, i, 1)
	if out := f.rt.output.String(); !strings.Contains(out, "no such account") || !strings.Contains(out, "simulate.go") {
		t.Error("the log does not say what panicked where")
	}
	again := f.invoke(t, "after-panic", order("A-4", ""))
	again.wantFailed(t)
	f.wantOneProcess(t)
}

func (f *function) testForeignEvent(t *testing.T) {
	const event = `{"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","awsRegion":"us-east-1","s3":{"object":{"key":"a"}}}]}`
	_, answer := f.rt.post(t, event)
	var failure struct{ ErrorMessage, ErrorType string }
	if err := json.Unmarshal([]byte(answer), &failure); err != nil {
		t.Fatalf("the answer %q is no error of a function: %v", answer, err)
	}
	if !strings.Contains(failure.ErrorMessage, "aws:s3") {
		t.Errorf("error %q does not name the service that the event is of", failure.ErrorMessage)
	}
	again := f.invoke(t, "after-foreign", order("A-1", ""))
	again.wantFailed(t)
	f.wantOneProcess(t)
}

func (f *function) testLargeEvent(t *testing.T) {
	bodies := make([]string, 10)
	for n := range bodies {
		bodies[n] = fmt.Sprintf(`{"id":"A-%d","customer":"%s","amount":100}`, n, strings.Repeat("long ", 105_000))
	}
	bodies[7] = strings.Replace(bodies[7], `"amount":100`, `"amount":100,"simulate":"fail"`, 1)
	i := f.invoke(t, "large", bodies...)
	if len(i.Event) < 5<<20 {
		t.Errorf("the event has only %d bytes", len(i.Event))
	}
	i.wantFailed(t, 7)
	f.wantVisibility(t, i, 7)
}

func (f *function) testTimeoutGuard(t *testing.T) {
	for n := 1; ; n++ {
		lag := watchLag()
		i := f.invoke(t, fmt.Sprintf("guard-%d", n),
			order("A-1", ""), order("A-2", "slow"), order("A-3", ""), order("A-4", "stuck"), order("A-5", ""))
		// The guard leaves a few tenths of a second to answer in. A machine that
		// stands still for that long shows nothing about the guard.
		if worst := lag(); i.Failure != "" && worst > 100*time.Millisecond && n < 4 {
			t.Logf("again: the machine stood still for %v, and: %v", worst, i.Err)
			continue
		}
		i.wantFailed(t, 1, 3)
		if i.Duration >= functionTimeout {
			t.Errorf("answered after %v; the function's timeout is %v", i.Duration, functionTimeout)
		}
		// The stuck handler may still be at it: its message keeps its visibility.
		f.wantVisibility(t, i, 1)
		break
	}
	again := f.invoke(t, "after-guard", order("A-6", ""))
	again.wantFailed(t)
}

// watchLag measures by how much this process misses a tick of 10 ms at worst,
// until the function it returns is called.
func watchLag() (worst func() time.Duration) {
	stop, result := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		for last := time.Now(); ; last = time.Now() {
			select {
			case <-time.After(10 * time.Millisecond):
				most = max(most, time.Since(last)-10*time.Millisecond)
			case <-stop:
				result <- most
				return
			}
		}
	}()
	return func() time.Duration { close(stop); return <-result }
}

func order(id, simulate string) string {
	return fmt.Sprintf(`{"id":%q,"customer":"ann","amount":100,"simulate":%q}`, id, simulate)
}

// function is the running function and the SQS that it calls.
type function struct {
	server *sqstest.Server
	rt     *lambdaRuntime
}

// invocation is one batch of messages; ids are those of the messages in the
// order in which they were sent.
type invocation struct {
	sqstest.Invocation
	ids []string
}

// invoke sends the bodies to a new queue and has the event source mapping invoke
// the function with all of them, once.
func (f *function) invoke(t *testing.T, queue string, bodies ...string) invocation {
	t.Helper()
	q := createQueue(t, f.server, queue, sqstest.QueueConfig{})
	i := invocation{ids: q.Send(bodies...)}
	f.server.ResetCalls()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	seen := 0
	source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{
		Client: f.server.Client(), QueueURL: q.URL(), Endpoint: f.rt.endpoint, Timeout: functionTimeout,
		Observe: func(v sqstest.Invocation) { i.Invocation = v; seen++; cancel() },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if seen != 1 || len(i.IDs) != len(bodies) {
		t.Fatalf("%d invocations, the last one with %d messages; want one with %d", seen, len(i.IDs), len(bodies))
	}
	return i
}

// wantOneProcess checks that the emulator has started the function only once.
func (f *function) wantOneProcess(t *testing.T) {
	t.Helper()
	if n := strings.Count(f.rt.output.String(), "INIT START("); n != 1 {
		t.Errorf("the function's process was started %d times, want once", n)
	}
}

// wantFailed checks that the function reported exactly the messages at these
// places, and that the others have left the queue.
func (i invocation) wantFailed(t *testing.T, at ...int) {
	t.Helper()
	if i.Failure != "" {
		t.Fatalf("the invocation failed as a whole: %v", i.Err)
	}
	var answer struct {
		BatchItemFailures []struct{ ItemIdentifier string }
	}
	if err := json.Unmarshal(i.Response, &answer); err != nil {
		t.Fatalf("answer %q: %v", i.Response, err)
	}
	want, got := []string{}, []string{}
	for _, n := range at {
		want = append(want, i.ids[n])
	}
	for _, f := range answer.BatchItemFailures {
		got = append(got, f.ItemIdentifier)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reported as failed (-want +got):\n%s", diff)
	}
	if len(i.Deleted) != len(i.ids)-len(at) {
		t.Errorf("%d messages were deleted, want %d", len(i.Deleted), len(i.ids)-len(at))
	}
}

// wantVisibility checks that all that the function asked of SQS was one call,
// which changes the visibility of the messages at these places to the default
// backoff of a first receive.
func (f *function) wantVisibility(t *testing.T, i invocation, at ...int) {
	t.Helper()
	const lo, hi = 5 * time.Second, 10 * time.Second
	if diff := cmp.Diff(sqstest.Calls{"ChangeMessageVisibilityBatch": 1}, f.server.Calls()); diff != "" {
		t.Fatalf("calls of the function (-want +got):\n%s", diff)
	}
	var want, got []string
	for _, n := range at {
		want = append(want, i.ids[n])
	}
	for _, call := range f.server.Log() {
		if call.Action != "ChangeMessageVisibilityBatch" {
			continue
		}
		for _, e := range call.Entries {
			got = append(got, e.MessageID)
			if e.Code != "" || e.Visibility < lo || e.Visibility > hi {
				t.Errorf("visibility of %s: %v, code %q; want %v to %v", e.MessageID, e.Visibility, e.Code, lo, hi)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("visibility changed (-want +got):\n%s", diff)
	}
}
