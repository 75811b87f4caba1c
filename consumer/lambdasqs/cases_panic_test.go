package lambdasqs_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// explosive is a slog.Handler that panics.
type explosive struct{}

func (explosive) Enabled(context.Context, slog.Level) bool  { return true }
func (explosive) Handle(context.Context, slog.Record) error { panic("log") }
func (e explosive) WithAttrs([]slog.Attr) slog.Handler      { return e }
func (e explosive) WithGroup(string) slog.Handler           { return e }

// bomb is a type whose decoder panics.
type bomb struct{}

func (*bomb) UnmarshalJSON(b []byte) error {
	if string(b) == `"boom"` {
		panic("decode")
	}
	return nil
}

func TestCase_PN02_PanicInADecoderCostsItsRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records := invented(standardARN, "a", "b")
		records[0].Body, records[1].Body = `"boom"`, `"fine"`
		h := consumer.JSON(func(context.Context, bomb, *consumer.Message) error { return nil })
		a := newAdapter(t, h, steady(1), lambdasqs.Config{})
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, records...)), []string{"id-a"})
	})
}

// Logger and hook panic at every turn, and SQS refuses everything.
func TestCase_PN02_PanicInExtrasChangesNoVerdict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, cfg := newRig(t, "orders", sqstest.QueueConfig{}), steady(1)
		cfg.Logger = slog.New(explosive{})
		cfg.Observe = func(consumer.Event) { panic("observe") }
		cfg.Redelivery.Backoff = func(int) time.Duration { panic("backoff") }
		r.server.Inject(sqstest.Fault{Times: -1, Action: "ChangeMessageVisibilityBatch", Err: sqstest.AccessDenied()})
		h := byBody{"b": fails, "c": permanent, "d": func(context.Context) error { panic("handler") }}
		r.send("a", "b", "c", "d", "e")
		records := r.receive(5)
		a := newAdapter(t, h, cfg, lambdasqs.Config{SQS: r.server.Client(), ExtendVisibility: true})
		want(t, "failed", bodies(records, invoke(t, a, time.Minute, eventOf(t, records...))), []string{"b", "c", "d"})
		unknown := invented("arn:aws-moon:sqs:moon-1:444455556666:orders", "b", "e")
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, unknown...)), []string{"id-b"})
	})
}

func TestCase_PN03_TheHandlersWordCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := byBody{
			"canceled": func(context.Context) error { return fmt.Errorf("call: %w", context.Canceled) },
			"deadline": func(context.Context) error { return context.DeadlineExceeded },
			"late nil": func(ctx context.Context) error { <-ctx.Done(); return nil },
		}
		a := newAdapter(t, h, steady(1), lambdasqs.Config{})
		failed := invoke(t, a, 10*time.Second, eventOf(t, invented(standardARN, "canceled", "deadline", "late nil")...))
		want(t, "failed", failed, []string{"id-canceled", "id-deadline"})
	})
}
