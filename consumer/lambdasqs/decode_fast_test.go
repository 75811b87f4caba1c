package lambdasqs

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestDecodeUsualTakesWhatLambdaSends keeps the quick way from being dead: the
// events in Lambda's own form go that way, and only those.
func TestDecodeUsualTakesWhatLambdaSends(t *testing.T) {
	t.Parallel()
	usual := []string{
		"bodies", "bodies-escaped", "dead-letter-queue", "empty-body", "fifo", "s3-test-event",
		"sam-generated", "sns-wrapped", "standard", "stray-space", "trace-header",
	}
	for name, b := range fixtures(t) {
		if _, ok := decodeUsual(compact(t, b)); ok != slices.Contains(usual, name) {
			t.Errorf("%s: taken %t", name, ok)
		}
	}
	if _, ok := decodeUsual([]byte(usualAttributes)); !ok {
		t.Error("message attributes are not taken")
	}
}

// usualAttributes has message attributes as Lambda sends them: the fixture has
// lists that are not empty, which SQS has never sent.
const usualAttributes = `{"Records":[{"messageId":"m-1","receiptHandle":"h-1","body":"b","attributes":{"SentTimestamp":"1"},` +
	`"messageAttributes":{"n":{"stringValue":"5","stringListValues":[],"binaryListValues":[],"dataType":"Number"},` +
	`"b":{"binaryValue":"AAEC","stringListValues":[],"binaryListValues":[],"dataType":"Binary.x"}},` +
	`"md5OfMessageAttributes":"x","md5OfBody":"x","eventSource":"aws:sqs","eventSourceARN":"a","awsRegion":"r"}]}`

// TestDecodeUsualDamaged cuts and spoils events in Lambda's form at every byte.
func TestDecodeUsualDamaged(t *testing.T) {
	t.Parallel()
	events := map[string][]byte{"attributes": []byte(usualAttributes)}
	for _, name := range []string{"standard", "bodies-escaped", "fifo"} {
		events[name] = compact(t, fixtures(t)[name])
	}
	for name, b := range events {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkAgainstStandard(t, b)
			for i := range b {
				if i%5 == 0 { // the rest differs from one that was tried in content only
					checkAgainstStandard(t, b[:i])
				}
				damaged := bytes.Clone(b)
				damaged[i] = "\"\\{}[]:, \x1f\xffn"[i%12]
				checkAgainstStandard(t, damaged)
			}
		})
	}
}

// TestEndOfPlain compares the search by eight bytes with one by single bytes.
func TestEndOfPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := string(rapid.SliceOfN(rapid.SampledFrom([]byte("ab \x00\x01\x1f !\"#[\\]\x7f\x80\xa2\xdc\xff")), 0, 40).Draw(rt, "s"))
		from := rapid.IntRange(0, len(s)).Draw(rt, "from")
		want := len(s)
		if i := strings.IndexFunc(s[from:], func(r rune) bool { return r == '"' || r == '\\' }); i >= 0 {
			want = from + i
		}
		if got := endOfPlain([]byte(s), from); got != want {
			rt.Fatalf("endOfPlain(%q, %d) is %d, want %d", s, from, got, want)
		}
	})
}

// TestPlain compares the look at eight bytes at a time with one at each.
func TestPlain(t *testing.T) {
	t.Parallel()
	parts := rapid.SampledFrom([]string{"a", " ", "!", "\x7f", "\x80", "ä", "€", "\xa0", "\x1f", "\x00", "0123456789"})
	rapid.Check(t, func(rt *rapid.T) {
		s := strings.Join(rapid.SliceOfN(parts, 0, 30).Draw(rt, "s"), "")
		want := utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' })
		if got := plain([]byte(s)); got != want {
			rt.Fatalf("plain(%q) is %t", s, got)
		}
	})
}
