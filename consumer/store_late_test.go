package consumer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
)

// The store answers when the delivery was given up. Nobody writes to a message
// that is being read by hooks then, and no handler runs.
func TestStore_ClaimThatReturnsAfterTheDeliveryWasGivenUp(t *testing.T) {
	t.Parallel()
	for _, ms := range []int{8999, 9000, 9001, 9500, 20_000} {
		answer := time.Duration(ms) * time.Millisecond
		t.Run(answer.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := newScripted()
				st.deaf = true
				st.before["claim"] = delays(answer)
				cfg := guarded(t, steady(1), st)
				cfg.Concurrency = 1
				cfg.Observe = func(e consumer.Event) {
					if n, _ := e.Message.Attempt(); n == 0 {
						t.Error("no attempt")
					}
					time.Sleep(time.Millisecond)
				}
				c := newConsumer(t, cfg, never(t))
				s := c.Open(newSource(t), consumer.SessionOptions{Context: timeout(t, 10*time.Second), SettlesAtOnce: true})
				outs := s.Run(deliveries("a"))
				want(t, "verdicts", verdicts(outs), []string{"a=deferred"})
				time.Sleep(time.Minute)
				if c.Stuck() {
					t.Error("the slot was lost")
				}
			})
		})
	}
}

// An error of a key function rejects its message, whatever it wraps: it says
// nothing of the store.
func TestStore_KeyErrorsAreNotTheStores(t *testing.T) {
	t.Parallel()
	for _, of := range []error{
		idempotency.ErrCompleted, &idempotency.HeldError{Until: time.Now().Add(time.Hour)}, idempotency.ErrMismatch,
		&idempotency.ExhaustedError{Attempts: 3}, &idempotency.UnavailableError{Op: "claim", Err: errStore}, idempotency.ErrLost,
	} {
		synctest.Test(t, func(t *testing.T) {
			st, src := newScripted(), newSource(t)
			cfg := guarded(t, steady(1), st)
			cfg.Key = func(*consumer.Message) (consumer.Key, error) { return consumer.Key{}, errors.Join(errTest, of) }
			outs := newConsumer(t, cfg, never(t)).Process(t.Context(), src, deliveries("a"))
			wantOutcomes(t, outs, "a=rejected+4s")
			wantErr(t, outs[0].Err, errTest, of)
			want(t, "asked", st.asked(), nil)
		})
	}
}

const (
	secret     = "jane@example.com"
	secretBody = `{"email":"` + secret + `"}`
)

// prepare brings a store into a state.
type prepare = func(t *testing.T, st *scripted, g *idempotency.Guard) error

func broken(op string, do func(context.Context, string) error) prepare {
	return func(_ *testing.T, st *scripted, _ *idempotency.Guard) error { st.before[op] = do; return nil }
}

// claimed has the secret claimed by somebody else.
func claimed(t *testing.T, g *idempotency.Guard, payload string) *idempotency.Claim {
	t.Helper()
	c, err := g.Claim(t.Context(), idempotency.Work{Namespace: standardARN, Kind: "json.email", Key: secret, Payload: payload})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Whatever the store answers: what a body says does not get into the log by its
// key.
func TestStore_LogDoesNotTellTheKey(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare prepare
		verdict consumer.Verdict
	}{
		"held": {func(t *testing.T, _ *scripted, g *idempotency.Guard) error {
			t.Helper()
			claimed(t, g, secretBody)
			return nil
		}, consumer.VerdictDeferred},
		"another payload": {func(t *testing.T, _ *scripted, g *idempotency.Guard) error {
			t.Helper()
			return claimed(t, g, "other").Complete(t.Context())
		}, consumer.VerdictRejected},
		"exhausted": {func(t *testing.T, _ *scripted, g *idempotency.Guard) error {
			t.Helper()
			return claimed(t, g, secretBody).Reject(t.Context(), errTest)
		}, consumer.VerdictRejected},
		"down":       {broken("claim", answers(errStore)), consumer.VerdictDeferred},
		"panics":     {broken("claim", func(context.Context, string) error { panic("store") }), consumer.VerdictDeferred},
		"unrecorded": {broken("complete", answers(errStore)), consumer.VerdictDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log lines
				st := newScripted()
				cfg := guardedBy(t, steady(1), st, idempotency.Config{Payload: idempotency.Whole})
				cfg.Logger, cfg.Key = log.logger(), consumer.JSONField("email")
				if err := tt.prepare(t, st, cfg.Idempotency); err != nil {
					t.Error(err)
				}
				o := outcome(t, cfg, script{}, withBody("a", secretBody))
				want(t, "verdict", o.Verdict, tt.verdict)
				if log.String() == "" || strings.Contains(log.String(), secret) {
					t.Errorf("log: %s", log.String())
				}
			})
		})
	}
}
