package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/retry"
)

// wrapperError panics as a nil pointer, whatever is asked of it.
type wrapperError struct{ inner error }

func (w *wrapperError) Error() string { return "wrapped: " + w.inner.Error() }
func (w *wrapperError) Unwrap() error { return w.inner }

// touchyError has a text, but panics when it is compared, or converted.
type touchyError struct{ is bool }

func (touchyError) Error() string { return "touchyError" }

func (p touchyError) Is(error) bool {
	if p.is {
		panic("Is")
	}
	return false
}

func (p touchyError) As(any) bool {
	if !p.is {
		panic("As")
	}
	return false
}

// absentTextError is a text that is not there.
type absentTextError struct{ s *string }

func (e *absentTextError) Error() string { return *e.s }

// unreadable are errors that panic when somebody looks.
func unreadable() map[string]error {
	var nilWrapper *wrapperError
	var text *absentTextError
	return map[string]error{
		"nil pointer with Unwrap": nilWrapper, "nil pointer without": text,
		"under Permanent": retry.Permanent(text), "under After": retry.After(1, text),
		"wrapped by fmt": &wrapperError{text}, "joined": errors.Join(errTest, nilWrapper),
		"Is": touchyError{is: true}, "As": touchyError{},
	}
}

// An error that cannot be read is a failure of its own message, and no other.
func TestUnreadable_ErrorOfTheHandlerCostsItsMessageOnly(t *testing.T) {
	t.Parallel()
	for name, bad := range unreadable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log lines
				st := newScripted()
				cfg := guarded(t, steady(2), st)
				cfg.Logger = log.logger()
				outs := newConsumer(t, cfg, script{"a": always(bad)}).Process(t.Context(), newSource(t), deliveries("a", "b"))
				wantOutcomes(t, outs, "a=retry+10s", "b=done")
				want(t, "tries", outs[0].Tries, 2)
				if _, ok := errors.AsType[*consumer.PanicError](outs[0].Err); !ok || !strings.Contains(outs[0].Err.Error(), "cannot be read") {
					t.Errorf("error is %q", outs[0].Err)
				}
				want(t, "is in the log", strings.Contains(log.String(), "cannot be read"), true)
				st.wantRecord(t, "a", state{"failed", 1, outs[0].Err.Error()})
			})
		})
	}
}

// So is one that the handler panics with. What of it can be found counts: that it
// is permanent, for instance.
func TestUnreadable_PanicValueCostsItsMessageOnly(t *testing.T) {
	t.Parallel()
	for name, bad := range unreadable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log lines
				cfg := guarded(t, steady(1), newScripted())
				cfg.Logger = log.logger()
				h := script{"a": func(context.Context) error { panic(bad) }}
				outs := newConsumer(t, cfg, h).Process(t.Context(), newSource(t), deliveries("a", "b"))
				verdict := map[bool]string{true: "a=rejected", false: "a=retry"}[name == "under Permanent"]
				want(t, "verdicts", verdicts(outs), []string{verdict, "b=done"})
				if _, ok := errors.AsType[*consumer.PanicError](outs[0].Err); !ok {
					t.Errorf("error is %q", outs[0].Err)
				}
				want(t, "is in the log", strings.Contains(log.String(), "the handler panicked"), true)
			})
		})
	}
}

// Parking has failed then, and the message stays.
func TestUnreadable_ErrorOfParkCostsItsMessageOnly(t *testing.T) {
	t.Parallel()
	for name, bad := range unreadable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := steady(1)
				cfg.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error { return bad })
				h := script{"a1": always(retry.Permanent(errTest))}
				outs := newConsumer(t, cfg, h).Process(t.Context(), newFIFO(t), deliveries("a1", "a2", "b1"))
				wantOutcomes(t, outs, "a1=rejected+4s", "a2=deferred+6s", "b1=done")
				wantErr(t, outs[0].Err, errTest, consumer.ErrParkingFailed)
			})
		})
	}
}

// The store is unavailable then: deferred, or recorded nowhere.
func TestUnreadable_ErrorOfTheStoreCostsItsMessageOnly(t *testing.T) {
	t.Parallel()
	for name, bad := range unreadable() {
		for op, out := range map[string]string{"claim": "a=deferred+10s", "complete": "a=done"} {
			t.Run(name+" of "+op, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					st := newScripted()
					st.before[op] = func(_ context.Context, key string) error {
						if strings.HasSuffix(key, ":a") {
							return bad
						}
						return nil
					}
					outs := newConsumer(t, guarded(t, steady(1), st), script{}).Process(t.Context(), newSource(t), deliveries("a", "b"))
					wantOutcomes(t, outs, out, "b=done")
					if op == "claim" {
						wantErr(t, outs[0].Err, idempotency.ErrUnavailable)
					}
				})
			})
		}
	}
}

// A key function that cannot even say why it failed rejects its message.
func TestUnreadable_ErrorOfKeyCostsItsMessageOnly(t *testing.T) {
	t.Parallel()
	for name, bad := range unreadable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := guarded(t, steady(1), newScripted())
				cfg.Key = func(m *consumer.Message) (consumer.Key, error) {
					if m.ID == "a" {
						return consumer.Key{}, bad
					}
					return consumer.MessageID(m)
				}
				outs := newConsumer(t, cfg, script{"a": mustNotRun(t)}).Process(t.Context(), newSource(t), deliveries("a", "b"))
				wantOutcomes(t, outs, "a=rejected+4s", "b=done")
				if !strings.HasPrefix(fmt.Sprint(outs[0].Err), "key: ") {
					t.Errorf("error is %q", outs[0].Err)
				}
			})
		})
	}
}

// mustNotRun is what a handler that must not be entered does.
func mustNotRun(t *testing.T) func(context.Context) error {
	t.Helper()
	return func(context.Context) error { t.Error("the handler was entered"); return nil }
}
