package lambdasqs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// Every refusal names the field and says what to change.
func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	c, err := consumer.New(byBody{}, steady(1))
	if err != nil {
		t.Fatal(err)
	}
	client := new(sqs.Client)
	for name, tt := range map[string]struct {
		c     *consumer.Consumer
		cfg   lambdasqs.Config
		texts []string
	}{
		"nil consumer":         {nil, lambdasqs.Config{}, []string{"the consumer is nil", "consumer.New"}},
		"Reserve":              {c, lambdasqs.Config{Reserve: -time.Second}, []string{"Reserve is -1s", "use 100ms or more, or 0 for the default"}},
		"Reserve that is none": {c, lambdasqs.Config{Reserve: 100*time.Millisecond - 1}, []string{"Reserve is 99.999999ms", "use 100ms or more"}},
		"ExtendVisibility":     {c, lambdasqs.Config{ExtendVisibility: true}, []string{"ExtendVisibility is set without SQS", "set SQS"}},
		"QueueURL": {c, lambdasqs.Config{QueueURL: map[string]string{standardARN: "https://x/1/q"}},
			[]string{"QueueURL is set without SQS", "set SQS"}},
		"FailAny, FailWhole":   {c, lambdasqs.Config{FailAny: true, FailWhole: true}, []string{"FailAny and FailWhole", "remove"}},
		"QueueURL of no queue": {c, lambdasqs.Config{SQS: client, QueueURL: map[string]string{"orders": "https://x/1/q"}}, []string{"QueueURL", `"orders"`}},
		"QueueURL that is none": {c, lambdasqs.Config{SQS: client, QueueURL: map[string]string{standardARN: "orders"}},
			[]string{"QueueURL", `"orders"`, "scheme and host"}},
		"QueueURL that does not parse": {c, lambdasqs.Config{SQS: client, QueueURL: map[string]string{standardARN: "http://[::1"}},
			[]string{"QueueURL", "scheme and host"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := lambdasqs.New(tt.c, tt.cfg)
			if err == nil || a != nil {
				t.Fatalf("accepted: %v, %v", a, err)
			}
			for _, text := range append(tt.texts, "lambdasqs: ") {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error is %q, without %q", err, text)
				}
			}
		})
	}
}

// The adapter is what lambda.Start takes, and so is its method.
func TestAdapter_IsALambdaHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAdapter(t, byBody{"b": fails}, steady(1), lambdasqs.Config{})
		payload := eventOf(t, invented(standardARN, "a", "b")...)
		for _, h := range []lambda.Handler{a, lambda.NewHandler(a), lambda.NewHandler(a.Handle)} {
			answer, err := h.Invoke(t.Context(), payload)
			if string(answer) != `{"batchItemFailures":[{"itemIdentifier":"id-b"}]}` || err != nil {
				t.Errorf("%T: %q, %v", h, answer, err)
			}
		}
	})
}

// Both ways in give the same answers, for every fixture that both can decode.
func TestHandle_AnswersAsInvokeDoes(t *testing.T) {
	t.Parallel()
	h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
		if len(m.Body)%2 == 0 {
			return errTest
		}
		return nil
	})
	compared := 0
	for _, name := range []string{
		"bodies", "bodies-escaped", "dead-letter-queue", "empty-body", "fifo", "foreign-kinesis", "foreign-s3", "foreign-sns",
		"message-attributes", "missing-attributes", "records-empty", "s3-test-event", "sam-generated", "sns-wrapped", "standard",
		"stray-space", "trace-header",
	} {
		payload := fixture(t, name)
		a := newAdapter(t, h, steady(1), lambdasqs.Config{})
		answer, err := a.Invoke(t.Context(), payload)
		var e events.SQSEvent
		if err := json.Unmarshal(payload, &e); err != nil {
			t.Fatal(err)
		}
		resp, err2 := a.Handle(t.Context(), e)
		if (err == nil) != (err2 == nil) {
			t.Errorf("%s: %v, %v", name, err, err2)
		}
		if err != nil {
			continue
		}
		marshalled, _ := json.Marshal(resp)
		want(t, name, failedIn(t, answer), failedIn(t, marshalled))
		compared++
	}
	want(t, "fixtures with an answer", compared, 14)
}

// A process may run several invocations at once. Each has its own answer, and
// all share the slots.
func TestInvoke_ConcurrentInvocations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, cfg := newRig(t, "orders", sqstest.QueueConfig{Visibility: time.Hour}), steady(1)
		cfg.Concurrency = 4
		h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
			time.Sleep(time.Second)
			if strings.HasSuffix(m.Body, "7") {
				return errTest
			}
			return nil
		})
		a := newAdapter(t, h, cfg, lambdasqs.Config{SQS: r.server.Client()})
		begin, done := time.Now(), make(chan []string)
		for i := range 8 {
			go func() {
				var names []string
				for k := range 10 {
					names = append(names, fmt.Sprintf("%d-%d", i, k))
				}
				failed := invoke(t, a, time.Hour, eventOf(t, invented(standardARN, names...)...))
				if len(failed) != 1 || failed[0] != fmt.Sprintf("id-%d-7", i) {
					t.Errorf("invocation %d: %v", i, failed)
				}
				done <- failed
			}()
		}
		for range 8 {
			<-done
		}
		want(t, "time", time.Since(begin), 20*time.Second)
		want(t, "calls", r.server.Calls()["ChangeMessageVisibilityBatch"], 8)
	})
}

// The answer comes before the function's timeout even if handlers, parking and
// SQS all hang.
func TestInvoke_AnswersInTimeWhateverHangs(t *testing.T) {
	t.Parallel()
	for _, timeout := range []time.Duration{500 * time.Millisecond, 3 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			r, cfg := newRig(t, "orders", sqstest.QueueConfig{Visibility: time.Hour}), steady(3)
			r.server.Inject(sqstest.Fault{Times: -1, Delay: time.Hour, Match: func(c sqstest.Call) bool { return c.Caller == "" }})
			cfg.DeadLetter = hangingDeadLetter{}
			h := byBody{"deaf": sleeps(time.Hour), "bad": fails, "permanent": permanent}
			r.send("deaf", "bad", "permanent", "ok")
			records := r.receive(4)
			a := newAdapter(t, h, cfg, lambdasqs.Config{SQS: r.server.Client(), ExtendVisibility: true})
			begin := time.Now()
			failed := bodies(records, invoke(t, a, timeout, eventOf(t, records...)))
			if took := time.Since(begin); took >= timeout {
				t.Errorf("the answer came after %v of %v", took, timeout)
			}
			want(t, "failed", failed, []string{"deaf", "bad", "permanent"})
			time.Sleep(2 * time.Hour)
		})
	}
}

type hangingDeadLetter struct{}

func (hangingDeadLetter) Park(context.Context, consumer.Queue, consumer.Outcome) error {
	time.Sleep(time.Hour)
	return nil
}
