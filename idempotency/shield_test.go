package idempotency_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

// broken are errors that panic when somebody looks.
type (
	absentCauseError struct{ error } // when it is unwrapped
	pickyIsError     struct{}
	pickyAsError     struct{}
)

func (e *absentCauseError) Error() string { return "cause" }
func (e *absentCauseError) Unwrap() error { return e.error }
func (pickyIsError) Error() string        { return "is" }
func (pickyIsError) Is(error) bool        { panic("Is") }
func (pickyAsError) Error() string        { return "as" }
func (pickyAsError) As(any) bool          { panic("As") }

func broken() map[string]error {
	return map[string]error{
		"nil": (*nilError)(nil), "nil that unwraps": (*absentCauseError)(nil), "Is": pickyIsError{}, "As": pickyAsError{},
		"beside one that is known": errors.Join(idempotency.ErrLost, pickyAsError{}),
	}
}

// claims is a store that claims, and does one other thing for the rest.
func claims(do func() error) *script {
	other := func(context.Context) error { return do() }
	return &script{renew: other, complete: other, release: other}
}

// operations calls everything of a claim that asks the store.
func operations(ctx context.Context, c *idempotency.Claim) map[string]error {
	return map[string]error{
		"renew": c.Renew(ctx, time.Now().Add(time.Minute)), "release": c.Release(ctx, nil), "complete": c.Complete(ctx),
	}
}

// What a store does wrong is a store that is unavailable, and its caller lives.
func TestStore_ThatPanicsOrAnswersNonsenseIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, bad := range broken() {
		for how, do := range map[string]func() error{
			"returned": func() error { return bad }, "panicked": func() error { panic(bad) },
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				w := idempotency.Work{Namespace: "q", Kind: "id", Key: "7"}
				g := guard(t, &script{claim: func(context.Context, idempotency.Request) (idempotency.Record, error) {
					return idempotency.Record{}, do()
				}}, idempotency.Config{})
				c, err := g.Claim(t.Context(), w)
				unavailable(t, "claim", err)
				if c != nil {
					t.Error("there is a claim")
				}
				for op, err := range operations(t.Context(), claim(t, guard(t, claims(do), idempotency.Config{}), w)) {
					unavailable(t, op, err)
				}
			})
		}
	}
}

// So is one with nothing in it, which New cannot see.
func TestStore_ThatEmbedsNilIsUnavailable(t *testing.T) {
	t.Parallel()
	_, err := guard(t, struct{ idempotency.Store }{}, idempotency.Config{}).
		Claim(t.Context(), idempotency.Work{Namespace: "q", Kind: "id", Key: "7"})
	unavailable(t, "claim", err)
}

func unavailable(t *testing.T, op string, err error) {
	t.Helper()
	u, ok := errors.AsType[*idempotency.UnavailableError](err)
	if !ok || u.Op != op || !errors.Is(err, idempotency.ErrUnavailable) || !strings.Contains(err.Error(), op) {
		t.Errorf("%s: error is %v", op, err)
	}
}

// A selector's error is looked at just as carefully.
func TestSelector_WithABrokenErrorFoundNothing(t *testing.T) {
	t.Parallel()
	for name, bad := range broken() {
		sel := func(string) ([]byte, error) { return nil, bad }
		_, err := guard(t, &script{}, idempotency.Config{Payload: sel}).
			Claim(t.Context(), idempotency.Work{Namespace: "q", Kind: "id", Key: "7"})
		if !errors.Is(err, idempotency.ErrNoPayload) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// A key comes from the payload, and errors end up in logs.
func TestErrors_DoNotTellTheKey(t *testing.T) {
	t.Parallel()
	const secret = "jane@example.com"
	store := func(err error) *script {
		return &script{claim: func(context.Context, idempotency.Request) (idempotency.Record, error) {
			return idempotency.Record{}, err
		}}
	}
	for name, c := range map[string]struct {
		err  error
		work idempotency.Work
	}{
		"held":      {&idempotency.HeldError{Key: secret, Until: now}, idempotency.Work{Namespace: "q", Kind: "id", Key: secret}},
		"mismatch":  {&idempotency.MismatchError{Key: secret}, idempotency.Work{Namespace: "q", Kind: "id", Key: secret}},
		"exhausted": {&idempotency.ExhaustedError{Key: secret, Attempts: 3, Last: "no"}, idempotency.Work{Namespace: "q", Kind: "id", Key: secret}},
		"store":     {errors.New("throttled"), idempotency.Work{Namespace: "q", Kind: "id", Key: secret}},
		"no kind":   {nil, idempotency.Work{Namespace: "q", Key: secret}},
		"bad kind":  {nil, idempotency.Work{Namespace: "q", Kind: "a#b", Key: secret}},
		"no queue":  {nil, idempotency.Work{Kind: "id", Key: secret}},
		"bad queue": {nil, idempotency.Work{Namespace: "a#b", Kind: "id", Key: secret}},
		"deadline":  {nil, idempotency.Work{Namespace: "q", Kind: "id", Key: secret, Deadline: time.Now().Add(-time.Hour)}},
	} {
		_, err := guard(t, store(c.err), idempotency.Config{}).Claim(t.Context(), c.work)
		if err == nil || strings.Contains(err.Error(), secret) || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}
