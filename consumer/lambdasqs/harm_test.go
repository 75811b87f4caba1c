package lambdasqs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// An event of another service, decoded as one of SQS, has no records.
func TestHandle_RefusesAnEventWithoutRecords(t *testing.T) {
	t.Parallel()
	a := newAdapter(t, byBody{}, steady(1), lambdasqs.Config{})
	if resp, err := a.Handle(t.Context(), events.SQSEvent{}); !errors.Is(err, lambdasqs.ErrNotSQS) {
		t.Errorf("answer %+v, error %v", resp, err)
	}
	resp, err := a.Handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{}})
	if err != nil || resp.BatchItemFailures == nil || len(resp.BatchItemFailures) > 0 {
		t.Errorf("an empty batch: answer %+v, error %v", resp, err)
	}
}

// A handler must not change its message. If it does, that costs no other message
// its place in the answer.
func TestAnswer_ListsItsOwnIDsWhateverAHandlerDoesToThem(t *testing.T) {
	t.Parallel()
	for _, arn := range []string{standardARN, fifoARN} {
		for name, change := range map[string]func(m *consumer.Message){
			"another's": func(m *consumer.Message) { m.ID, m.GroupID = "id-b1", "b" },
			"none":      func(m *consumer.Message) { m.ID, m.GroupID = "", "" },
			"all":       func(m *consumer.Message) { *m = consumer.Message{} },
		} {
			t.Run(name+" "+arn, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					h := consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
						failed := m.Body == "a1" || m.Body == "c2"
						change(m)
						if failed {
							return errTest
						}
						return nil
					})
					cfg := steady(1)
					cfg.Concurrency = 1
					a := newAdapter(t, h, cfg, lambdasqs.Config{})
					failed := invoke(t, a, 10*time.Second, eventOf(t, invented(arn, "a1", "b1", "c1", "c2", "d1", "b1")...))
					want(t, "failed", failed, []string{"id-a1", "id-c2"})
				})
			})
		}
	}
}

// A client that was not made by the SDK's constructor panics when it is used.
func TestVisibility_AClientThatPanicsChangesNoVerdict(t *testing.T) {
	t.Parallel()
	for _, arn := range []string{standardARN, fifoARN, "arn:aws-moon:sqs:moon-1:444455556666:orders"} {
		for _, extend := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, ExtendVisibility=%t", arn, extend), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var l log
					cfg := steady(1)
					cfg.Logger = l.logger()
					a := newAdapter(t, byBody{"a1": fails}, cfg, lambdasqs.Config{SQS: new(sqs.Client), ExtendVisibility: extend})
					failed := invoke(t, a, 10*time.Second, eventOf(t, invented(arn, "a1", "b1", "c1")...))
					want(t, "failed", failed, []string{"id-a1"})
					if len(l.lines("the SQS client panicked")) == 0 {
						t.Error("the log does not say it")
					}
				})
			})
		}
	}
}

// obstinate is a slog.Handler that does what it should not, for warnings of the
// adapter's own.
type obstinate struct {
	slog.Handler

	do func()
}

func (obstinate) Enabled(context.Context, slog.Level) bool { return true }
func (o obstinate) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "failed messages keep") {
		o.do()
	}
	return nil
}

// The adapter warns of a visibility that it could not change, or of a queue that
// it cannot find. The answer does not wait for the logger, nor end with it.
func TestLogger_CannotHoldUpTheAnswer(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(){
		"slow": func() { time.Sleep(time.Hour) }, "Goexit": runtime.Goexit, "panic": func() { panic("log") },
	} {
		for _, action := range []string{"ChangeMessageVisibilityBatch", "GetQueueUrl"} {
			t.Run(name+" "+action, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s, begin := sqstest.NewServer(sqstest.Config{Region: "moon-1", Account: "444455556666"}), time.Now()
					defer s.Close()
					if _, err := s.CreateQueue("orders", sqstest.QueueConfig{}); err != nil {
						t.Fatal(err)
					}
					s.Inject(sqstest.Fault{Action: action, Times: -1, Err: sqstest.AccessDenied()})
					cfg := steady(1)
					cfg.Logger = slog.New(obstinate{slog.DiscardHandler, do})
					h, names := byBody{}, []string(nil)
					for i := range 95 {
						names = append(names, fmt.Sprint(i))
						h[names[i]] = fails
					}
					a := newAdapter(t, h, cfg, lambdasqs.Config{SQS: s.Client()})
					event := eventOf(t, invented("arn:aws-moon:sqs:moon-1:444455556666:orders", names...)...)
					want(t, "failed", len(invoke(t, a, 10*time.Second, event)), 95)
					if took := time.Since(begin); took > 10*time.Second {
						t.Errorf("the answer took %v", took)
					}
					time.Sleep(2 * time.Hour)
				})
			})
		}
	}
}
