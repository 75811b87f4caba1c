package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// AWS's rules: what is no good answer fails the whole batch, and it comes back
// when its visibility ends.
func TestInvokeFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f    func([]byte) ([]byte, error)
		want string
	}{
		"throws":   {throws, "function error 2"},
		"nonsense": {nonsense, "invalid response 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := away(t, two, answers(c.f, allGood), "-function-timeout", "5s", "-v")
			r.want(t, exitOK, "done 2", "deleted 2\n", c.want, "1 2 30s\n", "in 2 invocations, 1 of which failed as a whole",
				"A-2 receive 2 deleted\n")
			if r.stderr != "" {
				t.Errorf("standard error: %s", r.stderr)
			}
		})
	}
}

// A function that throws to the end has seen its messages: they are accounted for.
func TestInvokeThrowsToTheEnd(t *testing.T) {
	t.Parallel()
	r := away(t, two, answers(throws), "-receives", "2")
	r.want(t, exitOK, "moved 2", "SQS 2 function error: errorString: no disk", "function error 4", "Nothing was lost: 2 sent = 0 done + 2 in")
}

// A function that reports failures and makes no call at all does not reach the
// queue, or does not want to; one that reports none has nothing to call for.
func TestInvokeSilentFunction(t *testing.T) {
	t.Parallel()
	const hint = "The function has not called SQS at all."
	r := away(t, two, answers(reportFirst, allGood), "-function-timeout", "5s")
	r.want(t, exitOK, "done 2", "reported as failed 1", "0 of which failed as a whole\n\n"+hint)
	if r := away(t, two, answers(allGood)); strings.Contains(r.stdout, hint) {
		t.Errorf("it has nothing to call for:\n%s", r.stdout)
	}
	if r := away(t, "", func(e *embedded) sqstest.Handler { return shopFunction(t, e) }); strings.Contains(r.stdout, hint) {
		t.Errorf("it has called:\n%s", r.stdout)
	}
}

// reportFirst reports the first record as failed.
func reportFirst(payload []byte) ([]byte, error) {
	var e events.SQSEvent
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, err
	}
	return json.Marshal(events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{{ItemIdentifier: e.Records[0].MessageId}}})
}

const cannot = "local: the function cannot be invoked; messages come back when their visibility ends: "

// Messages come back, and go to the dead-letter queue in the end; that is said.
func TestInvokeUnreachable(t *testing.T) {
	t.Parallel()
	r := away(t, two, answers(unreached), "-receives", "2", "-function-timeout", "5s")
	r.want(t, exitUnfinished, "moved 2", "not invoked 4", "1 2 30s", "Nothing was lost")
	if r.took < time.Minute || r.took > 62*time.Second { // twice the visibility timeout
		t.Errorf("it took %v", r.took)
	}
	wantLines(t, r.stderr, cannot, "local: the function was not invoked with 2 messages when last delivered; is it served at "+someURL+"?")
}

func TestInvokeUnreachableUntilTimeRunsOut(t *testing.T) {
	t.Parallel()
	r := away(t, two, answers(unreached), "-timeout", "10s")
	r.want(t, exitUnfinished, "left 2 still in the queue: A-1, A-2", "lost 0", "2 in the queue (2 hidden, one for 17")
	wantLines(t, r.stderr, cannot, "local: time ran out after 10s", "local: the function was not invoked with 2 messages")
}

// What others have sent is accounted for, though it was never received.
func TestInvokeLeavesWhatOthersSent(t *testing.T) {
	t.Parallel()
	r := away(t, two, func(e *embedded) sqstest.Handler {
		if _, err := e.queue.SendMessage(sqstest.Message{Body: `{"id":"B-1"}`, Delay: time.Minute}); err != nil {
			t.Error(err)
		}
		return answers(allGood)(e)
	}, "-timeout", "10s")
	r.want(t, exitUnfinished, "messages 3 sent", "done 2", "left 1 still in the queue: B-1", "lost 0")
}

// A function that is started late is no failure.
func TestInvokeReachableLate(t *testing.T) {
	t.Parallel()
	r := away(t, two, answers(unreached, allGood), "-function-timeout", "5s")
	r.want(t, exitOK, "done 2", "not invoked 2")
	wantLines(t, r.stderr, cannot, "local: the function is invoked again")
}
