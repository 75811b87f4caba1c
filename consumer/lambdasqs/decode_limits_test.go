package lambdasqs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		``:                              "lambdasqs: the event is not valid JSON: it ends too early, at byte 0",
		`{"Records":[{"body":"secret"`:  "lambdasqs: the event is not valid JSON: it ends too early, at byte 28",
		`{"Records":[{"body":secret}]}`: "lambdasqs: the event is not valid JSON: broken at byte 20 of 29",
		`{"Records":[]} secret`:         "lambdasqs: the event is not valid JSON: more data after byte 14, where the event ends",
		`{"Records":[]}{}`:              "lambdasqs: the event is not valid JSON: more data after byte 14, where the event ends",
		`["secret"]`:                    "lambdasqs: not an SQS event: event is an array, not an object",
		`"secret"`:                      "lambdasqs: not an SQS event: event is a string, not an object",
		`{"Records":"secret"}`:          "lambdasqs: not an SQS event: Records is a string, not an array",
		`{"Records":{}}`:                "lambdasqs: not an SQS event: Records is an object, not an array",
	} {
		records, err := decodeEvent([]byte(payload))
		if err == nil || err.Error() != want || records != nil {
			t.Errorf("%s:\n got %v\nwant %s", payload, err, want)
		}
	}
}

// TestDecodeErrorsQuoteNoContent makes everything in an event secret that a
// sender chooses freely, the names of attributes apart, and looks for it in the
// errors.
func TestDecodeErrorsQuoteNoContent(t *testing.T) {
	t.Parallel()
	check := func(err error, payload []byte) {
		if err != nil && strings.Contains(strings.ToLower(err.Error()), "secret") {
			t.Errorf("error quotes the event: %v\npayload: %q", err, payload)
		}
	}
	seen := 0
	for _, value := range []string{`{"x":"secret"}`, `{"x":{"binaryValue":"secret"}}`, `["secret"]`, `"secret`, `secret`, `"\secret"`, "\"secret\n\"", `?`} {
		for _, field := range fieldsOf["record"] {
			payload := fmt.Appendf(nil, `{"Records":[{"%s":%s}]}`, field, value)
			records, err := decodeEvent(payload)
			check(err, payload)
			for i := range records {
				if err := records[i].delivery.Invalid; err != nil {
					check(err, payload)
					seen++
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no record was invalid, so nothing was checked")
	}
}

// TestDecodeDepth nests as deep as encoding/json allows, one level deeper, and
// far deeper than a stack has room for.
func TestDecodeDepth(t *testing.T) {
	t.Parallel()
	for _, levels := range []int{9_998, 9_999, 10_000, 10_001, 1 << 20} {
		for _, inside := range []string{`{"x":%s}`, `{"Records":[{"x":%s}]}`, `{"Records":[{"body":%s}]}`} {
			nested := strings.Repeat("[", levels) + strings.Repeat("]", levels)
			payload := fmt.Appendf(nil, inside, nested)
			checkAgainstStandard(t, payload)
			if _, err := decodeEvent(payload); levels >= 10_000 && err == nil {
				t.Errorf("%d levels in %s: no error", levels, inside)
			}
		}
	}
}

// TestDecodeKeepsNothingOfPayload overwrites the payload as its owner may, once
// the invocation is over: an abandoned handler can still be reading its message.
func TestDecodeKeepsNothingOfPayload(t *testing.T) {
	t.Parallel()
	for name, payload := range fixtures(t) {
		records, err := decodeEvent(payload)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%+v", viewsOf(records))
		for i := range payload {
			payload[i] = '#'
		}
		if got := fmt.Sprintf("%+v", viewsOf(records)); got != want {
			t.Errorf("%s: records changed with the payload:\n got %s\nwant %s", name, got, want)
		}
	}
}

// TestDecodeGrows decodes batches of sizes at which the slab does and does not
// have to move, of records that get larger, smaller, and neither.
func TestDecodeGrows(t *testing.T) {
	t.Parallel()
	sizes := map[string]func(i, n int) int{
		"equal":   func(_, _ int) int { return 30 },
		"larger":  func(i, _ int) int { return i },
		"smaller": func(i, n int) int { return n - i },
	}
	for name, size := range sizes {
		for _, n := range []int{1, 9, 10, 11, 12, 100, 1_000} {
			var b bytes.Buffer
			for i := range n {
				fmt.Fprintf(&b, `,{"messageId":"m-%d","body":"%s"}`, i, strings.Repeat("x", size(i, n)%500))
			}
			records, err := decodeEvent([]byte(`{"Records":[` + b.String()[1:] + `]}`))
			if err != nil || len(records) != n {
				t.Fatalf("%s, %d records: got %d, %v", name, n, len(records), err)
			}
			for i := range records {
				r := &records[i]
				if r.delivery.Message != &r.message || r.message.ID != fmt.Sprintf("m-%d", i) || len(r.message.Body) != size(i, n)%500 {
					t.Fatalf("%s, %d records: record %d is not itself: %+v", name, n, i, r.message)
				}
			}
		}
	}
}

// TestDecodeLargestBatch decodes what a mapping sends at most, and a little more.
func TestDecodeLargestBatch(t *testing.T) {
	t.Parallel()
	for _, n := range []int{maxBatch, maxBatch + 1} {
		records, err := decodeEvent([]byte(`{"Records":[{}` + strings.Repeat(`,{}`, n-1) + `]}`))
		if err != nil || len(records) != n {
			t.Fatalf("%d records: got %d, %v", n, len(records), err)
		}
		for i := range records {
			if records[i].delivery.Message != &records[i].message {
				t.Fatalf("delivery %d of %d has another record's message", i, n)
			}
		}
	}
}

// TestDecodeRoom checks that the room for records follows their number, not what
// the first ones let expect: ten tiny records before a large one are no reason
// to make room for a hundred thousand.
func TestDecodeRoom(t *testing.T) {
	t.Parallel()
	slab := growSlab(make([]record, 10), 1, 6<<20)
	if len(slab) != 11 || cap(slab) > maxBatch+maxBatch/4 {
		t.Errorf("length %d, room for %d", len(slab), cap(slab))
	}
}

// TestDecodeAllocations holds the decoder to what makes it worth having: for a
// record the map of its system attributes (two allocations), and one for all its
// strings.
//
//nolint:paralleltest // AllocsPerRun counts the allocations of the whole process and panics beside parallel tests.
func TestDecodeAllocations(t *testing.T) {
	for body, perRecord := range map[string]float64{"plain": 3, `{"order":"o-1"}`: 3} {
		const n = 300
		payload := batch(n, body)
		got := testing.AllocsPerRun(3, func() {
			if records, err := decodeEvent(payload); err != nil || len(records) != n {
				panic(errors.Join(err, fmt.Errorf("%d records", len(records))))
			}
		})
		if got > perRecord*n+50 {
			t.Errorf("%s: %.2f allocations a record, want %.0f", body, got/n, perRecord)
		}
	}
}
