package templatetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
	"github.com/ackwise/ackwise/retry"
)

// filters are the metrics that lines of the functions' logs make, by what is in
// the lines.
var filters = []struct {
	group, metric string
	pattern       string
	verdicts      bool // one metric for each verdict
}{
	{"OrdersLogGroup", "Outcomes", `{ ($.msg = "message not done" || $.msg = "message was done before") && $.verdict = * }`, true},
	{"OrdersLogGroup", "Unrecorded", `{ $.msg = "outcome not recorded in the idempotency store" }`, false},
	{"OrdersLogGroup", "NotParked", `{ $.msg = "message not done" && $.verdict = "rejected" && $.parked NOT EXISTS }`, false},
	{"FindingsLogGroup", "Findings", `{ $.msg = "dead letter" }`, false},
	{"FindingsLogGroup", "FindingsNotDone", `{ $.msg = "message not done" }`, false},
}

func metricFilters(s *stack) (problems []string) {
	var have, want []string
	for _, name := range s.of("AWS::Logs::MetricFilter") {
		have = append(have, fmt.Sprint(s.property(name, "LogGroupName"), s.property(name, "FilterPattern"), s.property(name, "MetricTransformations")))
	}
	for _, f := range filters {
		transformation := map[string]any{"MetricNamespace": "Ackwise/shop", "MetricName": f.metric, "MetricValue": "1", "Unit": "Count"}
		if f.verdicts {
			transformation["Dimensions"] = []any{map[string]any{"Key": "verdict", "Value": "$.verdict"}}
		}
		want = append(want, fmt.Sprint("{"+f.group+" Ref}", f.pattern, []any{transformation}))
	}
	for _, w := range want {
		if !slices.Contains(have, w) {
			problems = append(problems, "there is no metric filter "+w)
		}
	}
	for i, h := range have {
		if slices.Contains(have[:i], h) {
			problems = append(problems, "the metric filter "+h+" is there twice, and counts twice")
		}
		if !slices.Contains(want, h) {
			problems = append(problems, "the metric filter "+h+" is none of those in filters; correct it, or add it there")
		}
	}
	return problems
}

// failing is a store that is down: for claims, or for what follows a claim.
type failing struct {
	idempotency.Store
	claims, completions bool
}

var errDown = errors.New("the store is down")

func (f failing) Claim(ctx context.Context, r idempotency.Request) (idempotency.Record, error) {
	if f.claims {
		return idempotency.Record{}, errDown
	}
	return f.Store.Claim(ctx, r)
}

func (f failing) Complete(ctx context.Context, key, owner string, expires time.Time) error {
	if f.completions {
		return errDown
	}
	return f.Store.Complete(ctx, key, owner, expires)
}

// parking is a store beside which there is a dead-letter queue.
type parking struct{ idempotency.Store }

func (parking) Park(context.Context, consumer.Queue, consumer.Outcome) error { return nil }

// What the filters look for is what the library and the program of the findings
// write.
func TestLogLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines := map[string]bool{}
		store := memstore.New()
		collect := func(s idempotency.Store, bodies ...string) {
			for _, l := range write(t, s, bodies...) {
				lines[l] = true
			}
		}
		collect(store, "good", "bad", "worse")
		collect(store, "good")
		collect(failing{Store: store, claims: true}, "other")
		collect(failing{Store: store, completions: true}, "another")
		collect(parking{store}, "worst")
		want := map[string]bool{
			"message not done retry": true, "message not done rejected": true, "message not done deferred": true,
			"message not done rejected parked":  true,
			"message was done before duplicate": true, "outcome not recorded in the idempotency store done": true,
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("lines of the library (-want +got):\n%s", diff)
		}
	})
	program, err := readProgram("examples/sam-findings")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(program, `"dead letter"`) {
		t.Error("sam-findings writes no line of which the message is \"dead letter\"")
	}
}

// write has messages worked off in Lambda, and returns message and verdict of each
// line of the log.
func write(t *testing.T, store idempotency.Store, bodies ...string) []string {
	t.Helper()
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	guard, err := idempotency.New(store, idempotency.Config{Namespace: "orders", Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	cfg := consumer.Config{Logger: logger, Idempotency: guard, Retry: retry.Policy{Tries: 1}}
	if _, ok := store.(parking); ok {
		cfg.DeadLetter = parking{}
	}
	c, err := consumer.New(consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
		switch m.Body {
		case "bad":
			return errors.New("bad")
		case "worse", "worst":
			return retry.Permanent(errors.New("worse"))
		}
		return nil
	}), cfg)
	if err != nil {
		t.Fatal(err)
	}
	adapter, err := lambdasqs.New(c, lambdasqs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var event struct{ Records []map[string]any }
	for _, body := range bodies {
		event.Records = append(event.Records, map[string]any{
			"messageId": body, "body": body, "receiptHandle": "handle", "eventSource": "aws:sqs",
			"eventSourceARN": "arn:aws:sqs:eu-central-1:111122223333:orders",
			"attributes":     map[string]string{"ApproximateReceiveCount": "1", "SentTimestamp": "1764547200000"},
		})
	}
	payload, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := adapter.Invoke(ctx, payload); err != nil {
		t.Fatal(err)
	}
	return linesOf(t, log.String())
}

// linesOf are message and verdict of each line of a log, and whether it was parked.
func linesOf(t *testing.T, log string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(log) {
		var l struct {
			Msg, Verdict string
			Parked       *bool
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		text := l.Msg + " " + l.Verdict
		if l.Parked != nil {
			text += " parked"
		}
		lines = append(lines, text)
	}
	return lines
}
