package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ackwise/ackwise/idempotency"
)

func TestClaimRejects(t *testing.T) {
	t.Parallel()
	s := &script{}
	g := guard(t, s, idempotency.Config{})
	for name, c := range map[string]struct {
		work idempotency.Work
		says []string
	}{
		"no key":             {idempotency.Work{Kind: "id"}, []string{"Work.Key", `"id"`, "empty"}},
		"no kind":            {idempotency.Work{Key: "7"}, []string{"Work.Kind", "1 bytes", "empty"}},
		": in the kind":      {idempotency.Work{Kind: "a:b", Key: "7"}, []string{"Work.Kind", `"a:b"`, "leave"}},
		"# in the kind":      {idempotency.Work{Kind: "a#b", Key: "7"}, []string{"Work.Kind", `"a#b"`, "leave"}},
		"no namespace":       {idempotency.Work{Kind: "id", Key: "7"}, []string{"no namespace", "ARN is not known", "Config.Namespace", "set it"}},
		"# in the namespace": {idempotency.Work{Kind: "id", Key: "7", Namespace: "a#b"}, []string{"Work.Namespace", `"a#b"`, "leave"}},
	} {
		claimed, err := g.Claim(t.Context(), c.work)
		if claimed != nil || err == nil || errors.Is(err, idempotency.ErrUnavailable) {
			t.Fatalf("%s: Claim = %v, %v; want an error of its own", name, claimed, err)
		}
		for _, says := range c.says {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %q does not say %q", name, err, says)
			}
		}
	}
	if ops := s.ops(); ops != "" {
		t.Errorf("the store was asked: %s", ops)
	}
}

// key is the key that a store is asked for.
func key(t *testing.T, namespace string, w idempotency.Work) string {
	t.Helper()
	return claim(t, guard(t, &script{}, idempotency.Config{Namespace: namespace}), w).Key()
}

func TestKey(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:sqs:eu-central-1:123456789012:orders.fifo"
	long := strings.Repeat("k", 512-len("orders#id:"))
	for name, c := range map[string]struct {
		namespace string // the guard's
		work      idempotency.Work
		want      string // empty: hashed
	}{
		"of the work":         {"", idempotency.Work{Namespace: arn, Kind: "id", Key: "7"}, arn + "#id:7"},
		"of the guard":        {"orders", idempotency.Work{Namespace: "arn", Kind: "id", Key: "7"}, "orders#id:7"},
		"odd characters":      {"orders", idempotency.Work{Kind: "id", Key: "a#b:c é\x00"}, "orders#id:a#b:c é\x00"},
		"512 bytes":           {"orders", idempotency.Work{Kind: "id", Key: long}, "orders#id:" + long},
		"513 bytes":           {"orders", idempotency.Work{Kind: "id", Key: long + "k"}, ""},
		"1 MiB":               {"orders", idempotency.Work{Kind: "id", Key: strings.Repeat("k", 1<<20)}, ""},
		"long namespace":      {strings.Repeat("n", 600), idempotency.Work{Kind: "id", Key: "7"}, ""},
		"no UTF-8":            {"orders", idempotency.Work{Kind: "id", Key: "a\xff"}, ""},
		"looks like a hashed": {"sha256", idempotency.Work{Kind: "id", Key: "7"}, "sha256#id:7"},
	} {
		got := key(t, c.namespace, c.work)
		if c.want != "" && got != c.want {
			t.Errorf("%s: key %.80q, want %.80q", name, got, c.want)
		}
		if c.want == "" && (!strings.HasPrefix(got, "sha256#") || len(got) != len("sha256#")+64) {
			t.Errorf("%s: key %.80q, want sha256# and a hash", name, got)
		}
	}
}

// Two keys are the same only if namespace, kind and key are (ID-10, ID-11).
func TestKeysAreApart(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, namespace := range []string{"a", "b", "ab", "sha256"} {
		for _, kind := range []string{"id", "json", "i"} {
			for _, k := range []string{
				"7", "07", "7 ", "a#id:7", "id:7", ":7", "#7", "d:7", "\xff", "\xfe", "\uFFFD",
				strings.Repeat("k", 512), strings.Repeat("k", 513), strings.Repeat("k", 512) + "\xff",
			} {
				what := fmt.Sprintf("%q %q %.20q", namespace, kind, k)
				got := key(t, "", idempotency.Work{Namespace: namespace, Kind: kind, Key: k})
				if other, ok := seen[got]; ok {
					t.Errorf("%s and %s have the key %.80q", what, other, got)
				}
				seen[got] = what
			}
		}
	}
}

func TestKeyIsInjective(t *testing.T) {
	t.Parallel()
	s := &script{}
	g := guard(t, s, idempotency.Config{})
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 1, 3, -1)
		kind := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 1, 3, -1)
		rest := rapid.StringOfN(rapid.SampledFrom([]rune("ab#:")), 1, 5, -1)
		var works [2]idempotency.Work
		var keys [2]string
		for i := range works {
			works[i] = idempotency.Work{Namespace: name.Draw(rt, "namespace"), Kind: kind.Draw(rt, "kind"), Key: rest.Draw(rt, "key")}
			keys[i] = claim(t, g, works[i]).Key()
			if len(keys[i]) > 512 || !utf8.ValidString(keys[i]) {
				rt.Fatalf("key %q", keys[i])
			}
		}
		if (works[0] == works[1]) != (keys[0] == keys[1]) {
			rt.Fatalf("%+v and %+v have the keys %q and %q", works[0], works[1], keys[0], keys[1])
		}
	})
}

// What the contract names comes through as it is; anything else means that the
// store is unavailable, whatever it may be (ID-06).
func TestClaimErrors(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{
		idempotency.ErrCompleted, &idempotency.HeldError{Key: "k", Until: now}, &idempotency.MismatchError{Key: "k"},
		&idempotency.ExhaustedError{Key: "k"}, &idempotency.UnavailableError{Op: "connect", Err: errDown},
		fmt.Errorf("wrapped: %w", idempotency.ErrCompleted),
	} {
		if _, err := claimed(t, refusal); err != refusal { //nolint:errorlint // the very same
			t.Errorf("the store said %v, Claim %v", refusal, err)
		}
	}
	for _, trouble := range []error{errDown, context.Canceled, context.DeadlineExceeded} {
		c, err := claimed(t, trouble)
		down, ok := errors.AsType[*idempotency.UnavailableError](err)
		if !ok || down.Op != "claim" || !errors.Is(err, trouble) || c != nil {
			t.Errorf("the store said %v, Claim %v, %v; want an UnavailableError", trouble, c, err)
		}
	}
}

// claimed claims from a store that answers err.
func claimed(t *testing.T, err error) (*idempotency.Claim, error) {
	t.Helper()
	s := &script{claim: func(context.Context, idempotency.Request) (idempotency.Record, error) {
		return idempotency.Record{}, err
	}}
	return guard(t, s, idempotency.Config{}).Claim(t.Context(), work)
}

func TestPayload(t *testing.T) {
	t.Parallel()
	hashOf := func(sel idempotency.Selector, payload string) string {
		t.Helper()
		s := &script{}
		w := work
		w.Payload = payload
		claim(t, guard(t, s, idempotency.Config{Payload: sel}), w)
		return s.last(t).request.Hash
	}
	if got := hashOf(nil, `{"id":7}`); got != "" {
		t.Errorf("not asked for, and hashed: %s", got)
	}
	if got := hashOf(idempotency.Field("id"), `{"id":7,"at":"now"}`); got != whole(t, "7") {
		t.Errorf("hash %s, want that of 7", got)
	}
	s := &script{}
	g := guard(t, s, idempotency.Config{Payload: idempotency.Field("id")})
	if c, err := g.Claim(t.Context(), work); !errors.Is(err, idempotency.ErrNoPayload) || c != nil || s.ops() != "" {
		t.Errorf("Claim = %v, %v, store asked %q; want ErrNoPayload and nothing asked", c, err, s.ops())
	}
}
