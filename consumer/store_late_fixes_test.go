package consumer_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ackwise/ackwise/consumer"
)

// Where a body has a member in two spellings nobody knows which of them the
// handler takes for the key's: it is rejected, not acknowledged as a duplicate of
// another message's work.
func TestKey_TwoSpellingsAreRejected(t *testing.T) {
	t.Parallel()
	o, _ := keyed(t, consumer.JSONField("id"), consumer.Message{Body: `{"id":"o-7","ID":"o-8"}`})
	want(t, "verdict", o.Verdict, consumer.VerdictRejected)
	if o.Err == nil || !strings.Contains(o.Err.Error(), "two spellings") {
		t.Errorf("error is %v", o.Err)
	}
}

// Each half of a surrogate pair decodes to U+FFFD: as keys they are still two.
func TestKey_HalfSurrogatesAreNotOneKey(t *testing.T) {
	t.Parallel()
	_, a := keyed(t, consumer.JSONField("id"), consumer.Message{Body: `{"id":"\ud800"}`})
	_, b := keyed(t, consumer.JSONField("id"), consumer.Message{Body: `{"id":"\udc00"}`})
	if a == b {
		t.Errorf("both keys are %q", a)
	}
}

// A name with a dot is not a path of two names.
func TestKey_DotsInNamesAreNoPath(t *testing.T) {
	t.Parallel()
	_, a := keyed(t, consumer.JSONField("a.b"), consumer.Message{Body: `{"a.b":"o-1"}`})
	_, b := keyed(t, consumer.JSONField("a", "b"), consumer.Message{Body: `{"a":{"b":"o-1"}}`})
	if a == b {
		t.Errorf("both keys are %q", a)
	}
}

// What a handler returns after its own transaction has recorded the work as done
// changes no verdict, but somebody has to see it.
func TestTransact_ErrorAfterwardsIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		st := newScripted()
		cfg := guarded(t, steady(3), st)
		cfg.Logger = log.logger()
		h := script{"a": func(ctx context.Context) error {
			if err := transact(ctx, st); err != nil {
				t.Error(err)
			}
			return errTest
		}}
		outs := newConsumer(t, cfg, h).Process(t.Context(), newSource(t), deliveries("a"))
		wantOutcomes(t, outs, "a=done")
		if !strings.Contains(log.String(), errTest.Error()) {
			t.Errorf("the error was not logged:\n%s", log.String())
		}
	})
}
