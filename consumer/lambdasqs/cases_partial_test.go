package lambdasqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
)

// A mapping without ReportBatchItemFailures deletes every message of an
// invocation that returns, so there any failure has to be an error.
func TestCase_PB01_FailAnyIsForMappingsThatIgnoreTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAdapter(t, byBody{"b": fails}, steady(1), lambdasqs.Config{FailAny: true})
		answer, err := a.Invoke(t.Context(), eventOf(t, invented(standardARN, "a", "b", "c")...))
		if answer != nil || !errors.Is(err, errTest) || !strings.Contains(err.Error(), "1 of 3 messages failed") {
			t.Errorf("one of three failed: %q, %v", answer, err)
		}
		answer, err = a.Invoke(t.Context(), eventOf(t, invented(standardARN, "a", "c")...))
		if string(answer) != `{"batchItemFailures":[]}` || err != nil {
			t.Errorf("none failed: %q, %v", answer, err)
		}
	})
}

func TestCase_PB02_AllSucceedGivesAnArray(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAdapter(t, byBody{}, steady(1), lambdasqs.Config{})
		payload := eventOf(t, invented(standardARN, "a", "b", "c")...)
		answer, err := a.Invoke(t.Context(), payload)
		if string(answer) != `{"batchItemFailures":[]}` || err != nil {
			t.Errorf("Invoke: %q, %v", answer, err)
		}
		var e events.SQSEvent
		if err := json.Unmarshal(payload, &e); err != nil {
			t.Fatal(err)
		}
		resp, err := a.Handle(t.Context(), e)
		marshalled, _ := json.Marshal(resp)
		if string(marshalled) != `{"batchItemFailures":[]}` || err != nil {
			t.Errorf("Handle: %q, %v", marshalled, err)
		}
	})
}

func TestCase_PB04_AFailureIsNoError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records := invented(standardARN, "a", "b", "c")
		a := newAdapter(t, byBody{"b": fails}, steady(1), lambdasqs.Config{})
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, records...)), []string{"id-b"})
		var e events.SQSEvent
		if err := json.Unmarshal(eventOf(t, records...), &e); err != nil {
			t.Fatal(err)
		}
		resp, err := a.Handle(t.Context(), e)
		want(t, "response", resp, events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{{ItemIdentifier: "id-b"}}})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestCase_PB05_WholeBatchFailsColdAndWarmAlike(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []error
		cfg := steady(1)
		cfg.Concurrency = 1
		cfg.Observe = func(e consumer.Event) {
			if e.Kind == consumer.EventOutcome {
				seen = append(seen, e.Outcome.Err)
			}
		}
		a := newAdapter(t, byBody{"a": fails, "b": fails, "c": fails}, cfg, lambdasqs.Config{})
		for range 2 {
			want(t, "failed", invoke(t, a, time.Minute, eventOf(t, invented(standardARN, "a")...)), []string{"id-a"})
		}
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, invented(standardARN, "a", "b", "c")...)), []string{"id-a", "id-b", "id-c"})
		want(t, "errors for the hook", len(seen), 5)
		for _, err := range seen {
			if !errors.Is(err, errTest) {
				t.Errorf("the hook was told %v", err)
			}
		}
	})
}

func TestFailWhole_OnlyIfEveryMessageFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAdapter(t, byBody{"a": fails, "b": permanent}, steady(1), lambdasqs.Config{FailWhole: true})
		for range 2 {
			answer, err := a.Invoke(t.Context(), eventOf(t, invented(standardARN, "a", "b")...))
			if answer != nil || !errors.Is(err, errTest) || !strings.Contains(err.Error(), "2 of 2 messages failed") {
				t.Errorf("all failed: %q, %v", answer, err)
			}
		}
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, invented(standardARN, "a", "b", "c")...)), []string{"id-a", "id-b"})
		want(t, "failed", invoke(t, a, time.Minute, []byte(`{"Records":[]}`)), nil)
	})
}

func TestCase_PB07_NoFailureIsLostOnTheWay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			h, failing, names := byBody{}, []string(nil), make([]string, 500)
			for i := range names {
				names[i] = fmt.Sprintf("m%d", i)
				takes := time.Duration(rng.IntN(100)) * time.Millisecond
				do := fails
				switch rng.IntN(10) {
				case 0:
				case 1:
					do = func(context.Context) error { panic("boom") }
				case 2:
					do = func(context.Context) error { return context.Canceled }
				default:
					h[names[i]] = sleeps(takes)
					continue
				}
				failing = append(failing, "id-"+names[i])
				h[names[i]] = func(ctx context.Context) error { time.Sleep(takes); return do(ctx) }
			}
			cfg := steady(1)
			cfg.Concurrency = 16
			a := newAdapter(t, h, cfg, lambdasqs.Config{})
			want(t, "failed", invoke(t, a, time.Minute, eventOf(t, invented(standardARN, names...)...)), failing)
		})
	}
}

// foreignIDsError is one that speaks of other messages.
type foreignIDsError struct{}

func (foreignIDsError) Error() string {
	return `{"batchItemFailures":[{"itemIdentifier":"zzz"},{"itemIdentifier":"id-a"}]}`
}

func TestCase_PB08_OnlyIDsOfTheEventAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l log
		cfg := steady(1)
		cfg.Logger = l.logger()
		cfg.Middleware = []consumer.Middleware{func(next consumer.Handler) consumer.Handler {
			return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
				if err := next.Handle(ctx, m); err != nil {
					return fmt.Errorf("message id-c: %w", err)
				}
				return nil
			})
		}}
		a := newAdapter(t, byBody{"b": func(context.Context) error { return foreignIDsError{} }}, cfg, lambdasqs.Config{})
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, invented(standardARN, "a", "b", "c")...)), []string{"id-b"})
		want(t, "lines in the log", len(l.lines("message_id=id-b")), 1)
	})
}
