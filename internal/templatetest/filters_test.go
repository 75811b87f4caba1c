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
	messages      []string
	verdicts      bool // one metric for each verdict
}{
	{"OrdersLogGroup", "Outcomes", []string{"message not done", "message was done before"}, true},
	{"OrdersLogGroup", "Unrecorded", []string{"outcome not recorded in the idempotency store"}, false},
	{"FindingsLogGroup", "Findings", []string{"dead letter"}, false},
	{"FindingsLogGroup", "FindingsNotDone", []string{"message not done"}, false},
}

func pattern(messages []string, verdicts bool) string {
	var terms []string
	for _, m := range messages {
		terms = append(terms, `$.msg = "`+m+`"`)
	}
	all := strings.Join(terms, " || ")
	if verdicts {
		all = "(" + all + ") && $.verdict = *"
	}
	return "{ " + all + " }"
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
		want = append(want, fmt.Sprint("{"+f.group+" Ref}", pattern(f.messages, f.verdicts), []any{transformation}))
	}
	for _, w := range want {
		if !slices.Contains(have, w) {
			problems = append(problems, "there is no metric filter "+w)
		}
	}
	for _, h := range have {
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
		want := map[string]bool{
			"message not done retry": true, "message not done rejected": true, "message not done deferred": true,
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
	c, err := consumer.New(consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
		switch m.Body {
		case "bad":
			return errors.New("bad")
		case "worse":
			return retry.Permanent(errors.New("worse"))
		}
		return nil
	}), consumer.Config{Logger: logger, Idempotency: guard, Retry: retry.Policy{Tries: 1}})
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
	var lines []string
	for line := range strings.Lines(log.String()) {
		var l struct{ Msg, Verdict string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l.Msg+" "+l.Verdict)
	}
	return lines
}
