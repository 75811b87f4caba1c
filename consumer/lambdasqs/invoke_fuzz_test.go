package lambdasqs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/retry"
)

// fuzzed is an adapter whose handler fails in every way there is, by the length
// of the body.
func fuzzed(tb testing.TB) *lambdasqs.Adapter {
	tb.Helper()
	cfg := steady(2)
	cfg.Retry.Backoff = retry.Constant(0)
	return newAdapter(tb, consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
		switch len(m.Body) % 5 {
		case 0:
			return errTest
		case 1:
			panic(m.Body)
		case 2:
			return retry.Permanent(errTest)
		default:
			return nil
		}
	}), cfg, lambdasqs.Config{})
}

// check invokes a with any bytes: no panic, and either an error without an
// answer, or an answer that Lambda understands, with no id but those of the
// event.
func check(t *testing.T, a *lambdasqs.Adapter, payload []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer, err := a.Invoke(ctx, payload)
	if err != nil {
		if answer != nil {
			t.Fatalf("error %v beside the answer %q", err, answer)
		}
		if errors.Is(err, consumer.ErrStuck) {
			t.Fatal(err)
		}
		return
	}
	if !json.Valid(payload) {
		t.Fatalf("an answer to what is no JSON: %q", answer)
	}
	known := idsIn(payload)
	seen := make(map[string]bool)
	for _, id := range failedIn(t, answer) {
		switch {
		case id == "":
			t.Fatal("an empty id")
		case seen[id]:
			t.Fatalf("%q is there twice", id)
		case !known[id]:
			t.Fatalf("%q is not in the event", id)
		}
		seen[id] = true
	}
}

// idsIn collects every text in the event, as encoding/json decodes it: members
// that occur twice may both have a say.
func idsIn(payload []byte) map[string]bool {
	ids := make(map[string]bool)
	d := json.NewDecoder(bytes.NewReader(payload))
	for {
		token, err := d.Token()
		if err != nil {
			return ids
		}
		if text, ok := token.(string); ok {
			ids[text] = true
		}
	}
}

func fixtures(tb testing.TB) (payloads [][]byte) {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no fixtures: %v", err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		payloads = append(payloads, b)
	}
	return payloads
}

// FuzzInvoke invokes with arbitrary bytes.
func FuzzInvoke(f *testing.F) {
	for _, payload := range fixtures(f) {
		f.Add(payload)
	}
	a := fuzzed(f)
	f.Fuzz(func(t *testing.T, payload []byte) { check(t, a, payload) })
}

// FuzzInvokeMutated invokes with events that are valid until a piece of one is
// replaced by something else.
func FuzzInvokeMutated(f *testing.F) {
	events := fixtures(f)
	for i := range events {
		f.Add(uint8(i), uint16(37*i), uint16(i%9), []byte(`"x"`))
		f.Add(uint8(i), uint16(71*i), uint16(0), []byte(`,"messageId":"again"`))
	}
	a := fuzzed(f)
	f.Fuzz(func(t *testing.T, which uint8, at, cut uint16, put []byte) {
		event := events[int(which)%len(events)]
		from := int(at) % (len(event) + 1)
		to := min(from+int(cut), len(event))
		mutated := append(append(append([]byte(nil), event[:from]...), put...), event[to:]...)
		check(t, a, mutated)
	})
}
