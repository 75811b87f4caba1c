package lambdasqs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ackwise/ackwise/consumer"
)

// view is what a test compares of a record.
type view struct {
	Message              consumer.Message
	Receipt, EventSource string
	Invalid              bool
}

func viewsOf(records []record) []view {
	views := make([]view, len(records))
	for i := range records {
		r := &records[i]
		views[i] = view{*r.delivery.Message, r.delivery.Receipt, r.mark, r.delivery.Invalid != nil}
	}
	return views
}

// checkAgainstStandard fails the test unless decodeEvent answers what
// encoding/json and recordsOf do. It accounts for the documented exceptions: the
// members that encoding/json would match in another case are renamed first, and
// records are decoded one by one, so that an error of encoding/json is that of
// one record.
func checkAgainstStandard(t rapid.TB, payload []byte) {
	t.Helper()
	before := bytes.Clone(payload)
	records, err := decodeEvent(payload)
	if !bytes.Equal(payload, before) {
		t.Fatal("decodeEvent has changed the payload")
	}
	want, wantErr := standard(t, payload)
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("decodeEvent: error %v; encoding/json: error %v\npayload: %q", err, wantErr, payload)
	}
	if err != nil {
		return
	}
	if got := (records == nil); got != !want.present {
		t.Fatalf("records are nil: %t, but the event has Records: %t\npayload: %q", got, want.present, payload)
	}
	if got := viewsOf(records); !reflect.DeepEqual(got, want.views) {
		diff := cmp.Diff(want.views, got, cmpopts.IgnoreUnexported(consumer.Message{}))
		t.Fatalf("decodeEvent differs from encoding/json (-want +got):\n%s\npayload: %q", diff, payload)
	}
}

// expectation is what encoding/json makes of an event.
type expectation struct {
	views   []view
	present bool
}

func standard(t rapid.TB, payload []byte) (expectation, error) {
	t.Helper()
	if !json.Valid(payload) {
		return expectation{}, errors.New("not valid JSON")
	}
	payload, err := exactCase(payload)
	if err != nil {
		return expectation{}, err
	}
	var doc struct {
		Records standardRecords `json:"Records"`
	}
	if err := json.Unmarshal(payload, &doc); err != nil {
		return expectation{}, err
	}
	want := expectation{viewsOf(recordsOf(events.SQSEvent{Records: doc.Records.messages})), doc.Records.present}
	valid := true
	for i := range want.views {
		want.views[i].Invalid = doc.Records.invalid[i]
		valid = valid && !doc.Records.invalid[i]
	}
	// The expectation itself: an event that decodes into events.SQSEvent at a
	// stroke gives the same records.
	var e events.SQSEvent
	agrees := json.Unmarshal(payload, &e) != nil || valid && reflect.DeepEqual(viewsOf(recordsOf(e)), want.views)
	if !agrees {
		t.Fatalf("the oracle is wrong about %q", payload)
	}
	return want, nil
}

// standardRecords decodes Records as encoding/json decodes a slice, into the
// elements that are there already, and keeps the errors apart.
type standardRecords struct {
	present  bool
	all      []events.SQSMessage
	messages []events.SQSMessage
	invalid  []bool
}

func (s *standardRecords) UnmarshalJSON(b []byte) error {
	s.present = true
	var raw []json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	if len(raw) == 0 {
		s.all, s.invalid = nil, nil
	}
	for i := range raw {
		if i == len(s.all) {
			s.all, s.invalid = append(s.all, events.SQSMessage{}), append(s.invalid, false)
		}
		if json.Unmarshal(raw[i], &s.all[i]) != nil {
			s.invalid[i] = true
		}
	}
	s.messages = s.all[:len(raw)]
	return nil
}

// frame is an object or array that is being read; fields are the names that an
// object's members are matched with.
type frame struct {
	array   bool
	fields  []string
	inside  string // what the values in it are
	nameDue bool
	what    string
}

var fieldsOf = map[string][]string{
	"event": {"Records"},
	"record": {
		"messageId", "receiptHandle", "body", "md5OfBody", "md5OfMessageAttributes", "attributes",
		"messageAttributes", "eventSourceARN", "eventSource", "awsRegion",
	},
	"attribute": {"stringValue", "binaryValue", "stringListValues", "binaryListValues", "dataType"},
}

// exactCase renames the members that encoding/json matches in spite of their
// case, so that it does not.
func exactCase(payload []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.UseNumber()
	var out []byte
	var stack []frame
	next, copied := "event", 0
	for {
		start := int(dec.InputOffset())
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return append(out, payload[copied:]...), nil
		}
		if err != nil {
			return nil, err
		}
		top := len(stack) - 1
		if name, ok := token.(string); ok && top >= 0 && stack[top].nameDue {
			stack[top].nameDue = false
			next = child(stack[top].what, name)
			if foldsOnly(stack[top].fields, name) {
				start += bytes.IndexByte(payload[start:], '"')
				out = append(append(out, payload[copied:start]...), `"-"`...)
				copied, next = int(dec.InputOffset()), ""
			}
			continue
		}
		stack, next = follow(stack, token, next)
	}
}

// follow keeps the stack of open objects and arrays.
func follow(stack []frame, token json.Token, what string) ([]frame, string) {
	switch token {
	case json.Delim('{'):
		return append(stack, frame{fields: fieldsOf[what], what: what, nameDue: true}), ""
	case json.Delim('['):
		inside := ""
		if what == "list" {
			inside = "record"
		}
		return append(stack, frame{array: true, inside: inside}), inside
	case json.Delim('}'), json.Delim(']'):
		stack = stack[:len(stack)-1]
	}
	if top := len(stack) - 1; top >= 0 {
		stack[top].nameDue = !stack[top].array
		return stack, stack[top].inside
	}
	return stack, ""
}

// child says what the value of a member is.
func child(what, name string) string {
	switch {
	case what == "event" && name == "Records":
		return "list"
	case what == "record" && name == "messageAttributes":
		return "attributes"
	case what == "attributes":
		return "attribute"
	}
	return ""
}

func foldsOnly(fields []string, name string) bool {
	folds := false
	for _, f := range fields {
		if f == name {
			return false
		}
		folds = folds || strings.EqualFold(f, name)
	}
	return folds
}
