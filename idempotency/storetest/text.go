package storetest

import (
	"strings"
	"unicode/utf8"

	"github.com/ackwise/ackwise/idempotency"
)

// textRules are about what users put into keys and errors.
var textRules = []rule{
	{"Text/ErrorIsKept", func(e *env) {
		for _, text := range []string{"", "it broke", "é€🙂", "a\x00b\r\n\t\"\\'<>&#:", strings.Repeat("x", idempotency.MaxErrorBytes)} {
			e.wantError(text, text)
		}
	}},
	{"Text/ErrorIsCutBetweenCharacters", func(e *env) {
		const most = idempotency.MaxErrorBytes
		e.wantError(strings.Repeat("x", most+1), strings.Repeat("x", most))
		e.wantError(strings.Repeat("x", 1<<20), strings.Repeat("x", most))
		for _, char := range []string{"é", "€", "🙂"} {
			for shift := range len(char) {
				ascii := strings.Repeat("x", shift)
				fit := (most - shift) / len(char)
				e.wantError(ascii+strings.Repeat(char, most), ascii+strings.Repeat(char, fit))
			}
		}
	}},
	{"Text/ErrorIsMadeValid", func(e *env) {
		e.wantError("a\xffb", "a\uFFFDb")
		e.put(e.record(idempotency.InProgress, "a"))
		e.fails("Release", nil, e.release("a", idempotency.Failure{Err: strings.Repeat("\xff-", 1000)}))
		if got := e.get().Err; len(got) > idempotency.MaxErrorBytes || !utf8.ValidString(got) {
			e.Errorf("kept %d bytes %q; want valid UTF-8, at most %d bytes", len(got), got, idempotency.MaxErrorBytes)
		}
	}},
	{"Text/ErrorEndsWithSuccess", func(e *env) {
		e.put(e.record(idempotency.Failed, "a"))
		e.taken(e.request("b"), 2)
		e.fails("Complete", nil, e.complete("b"))
		if got := e.get().Err; got != "" {
			e.Errorf("a completed record still has the error %q", got)
		}
	}},
	{"Text/KeysOfAllKinds", func(e *env) {
		for i, key := range oddKeys(e.key) {
			e.key = key
			e.taken(e.request("a"), 1)
			e.refused(e.request("b"), idempotency.ErrHeld)
			if i%2 == 0 {
				e.fails("Complete", nil, e.complete("a"))
				e.refused(e.request("b"), idempotency.ErrCompleted)
			} else {
				e.fails("Release", nil, e.release("a", idempotency.Failure{}))
				e.taken(e.request("b"), 2)
			}
		}
	}},
	{"Text/LikeKeysAreApart", func(e *env) {
		stem := e.key
		for _, end := range []string{"", " ", "  ", "#", "##", ":", "a", "A", "é", "e\u0301", "\x00", "1", "01", "1.0"} {
			e.key = stem + end
			e.taken(e.request("a"), 1)
		}
	}},
}

// oddKeys are keys that a user may come up with, 512 bytes being the longest.
func oddKeys(stem string) []string {
	fill := func(char string) string {
		return stem + strings.Repeat(char, (512-len(stem))/len(char))
	}
	return []string{
		stem + "#", stem + "a#b:c", stem + " ", stem + "é€🙂", stem + "\x00\x01\x7f", stem + "\r\n\t", stem + `"\'{}[]<>&%$;`,
		stem + "arn:aws:sqs:eu-central-1:123456789012:orders.fifo", fill("k"), fill("é"), fill("🙂"),
	}
}

// wantError releases with a text and wants another in the record.
func (e *env) wantError(text, want string) {
	e.Helper()
	e.put(e.record(idempotency.InProgress, "a"))
	e.fails("Release", nil, e.release("a", idempotency.Failure{Err: text}))
	if got := e.get().Err; got != want {
		e.Errorf("released with %d bytes %.20q…: kept %d bytes %q, want %d bytes %q", len(text), text, len(got), got, len(want), want)
	}
	// It is what a refusal tells.
	rec := e.get()
	rec.Attempts = budget
	e.put(rec)
	if err := e.refusal(e.request("b"), idempotency.ErrExhausted); !strings.Contains(err.Error(), want) {
		e.Errorf("the refusal %q does not tell %q", err, want)
	}
}
