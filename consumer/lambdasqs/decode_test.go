package lambdasqs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ackwise/ackwise/consumer"
)

// decodeFixture decodes a file of testdata.
func decodeFixture(t *testing.T, name string) []record {
	t.Helper()
	payload, ok := fixtures(t)[name]
	if !ok {
		t.Fatalf("no fixture %q", name)
	}
	records, err := decodeEvent(payload)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func TestDecodeFixtures(t *testing.T) {
	t.Parallel()
	want := map[string]struct{ records, invalid int }{
		"bodies": {7, 0}, "bodies-escaped": {3, 0}, "dead-letter-queue": {1, 0}, "duplicate-keys": {1, 0},
		"empty-body": {4, 0}, "fifo": {3, 0}, "foreign-api-gateway": {}, "foreign-kinesis": {1, 0},
		"foreign-s3": {1, 0}, "foreign-sns": {1, 0}, "invalid-base64": {2, 1}, "message-attributes": {2, 0},
		"missing-attributes": {7, 0}, "mistyped": {9, 8}, "records-empty": {}, "records-null": {},
		"s3-test-event": {4, 0}, "sam-generated": {1, 0}, "sns-wrapped": {4, 0}, "standard": {2, 0},
		"stray-space": {2, 0}, "trace-header": {1, 0},
	}
	for name, payload := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkAgainstStandard(t, payload)
			w, ok := want[name]
			if !ok {
				t.Fatal("a new fixture: say how many records it has, and how many are invalid")
			}
			records := decodeFixture(t, name)
			invalid := 0
			for i := range records {
				if records[i].delivery.Invalid != nil {
					invalid++
				}
			}
			if len(records) != w.records || invalid != w.invalid {
				t.Errorf("%d records, %d invalid; want %d and %d", len(records), invalid, w.records, w.invalid)
			}
		})
	}
}

func TestDecodeFillsMessage(t *testing.T) {
	t.Parallel()
	r := decodeFixture(t, "fifo")[1]
	system := map[string]string{
		"ApproximateReceiveCount": "1", "SentTimestamp": "1796040000000", "SenderId": "AROAEXAMPLE0000000000:shop",
		"ApproximateFirstReceiveTimestamp": "1796040000250", "SequenceNumber": "18873177232222704128",
		"MessageGroupId": "customer-a", "MessageDeduplicationId": "d-2",
	}
	want := consumer.Delivery{Receipt: "AQEBwJnK0002exampleHandle==", Message: &consumer.Message{
		ID: "00000002-1c2d-4e3f-8a9b-0a1b2c3d4e5f", Body: "a2", GroupID: "customer-a", DeduplicationID: "d-2",
		QueueARN: "arn:aws:sqs:eu-central-1:111122223333:orders.fifo", ReceiveCount: 1,
		SentAt:          time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		FirstReceivedAt: time.Date(2026, 11, 30, 12, 0, 0, 250e6, time.UTC),
		System:          system,
	}}
	if diff := cmp.Diff(want, r.delivery, cmpopts.IgnoreUnexported(consumer.Message{}, consumer.Delivery{})); diff != "" {
		t.Errorf("delivery (-want +got):\n%s", diff)
	}
	if at := r.delivery.SentAt.Location(); at != time.UTC {
		t.Errorf("times are in %v, want UTC", at)
	}
	if r.mark != "aws:sqs" {
		t.Errorf("event source %q", r.mark)
	}
}

func TestDecodeMessageAttributes(t *testing.T) {
	t.Parallel()
	records := decodeFixture(t, "message-attributes")
	want := map[string]consumer.Attribute{
		"tenant": {DataType: "String", StringValue: "acme"},
		"weight": {DataType: "Number", StringValue: "12.50"},
		"digest": {DataType: "Binary", BinaryValue: []byte("1100")},
		"kind":   {DataType: "String.kind", StringValue: "invoice"},
		"empty":  {DataType: "Binary", BinaryValue: []byte{}},
	}
	if diff := cmp.Diff(want, records[0].message.Attributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if a := records[1].message.Attributes; a != nil {
		t.Errorf("a message without attributes has %v, want nil", a)
	}
}

func TestDecodeUselessSystemAttributes(t *testing.T) {
	t.Parallel()
	for _, r := range decodeFixture(t, "missing-attributes") {
		m := r.delivery.Message
		if m.ReceiveCount != 1 {
			t.Errorf("%s: receive count %d, want 1", m.Body, m.ReceiveCount)
		}
		if m.System == nil && m.Body != "null" && m.Body != "empty" && m.Body != "absent" {
			t.Errorf("%s: the system attributes are gone", m.Body)
		}
		if m.System != nil && len(m.System) == 0 {
			t.Errorf("%s: system attributes are empty, want nil", m.Body)
		}
		if m.Body != "empty count" && !m.SentAt.IsZero() {
			t.Errorf("%s: sent at %v, want zero", m.Body, m.SentAt)
		}
		if strings.HasPrefix(m.Body, "not") && !m.FirstReceivedAt.IsZero() {
			t.Errorf("%s: first received at %v, want zero", m.Body, m.FirstReceivedAt)
		}
	}
	if n := decodeFixture(t, "standard")[1].message.ReceiveCount; n != 3 {
		t.Errorf("receive count %d, want 3", n)
	}
}

func TestDecodeBodies(t *testing.T) {
	t.Parallel()
	want := []string{
		"emoji \U0001F980 and \u00e9", `<a href="?x=1&y=2">`, "line\u2028separator\u2029", "\ttabs\t and trailing  ",
		"\"quoted\" \\ and\r\n/slashes/", "\x00\x1f\x7f", `{"nested":"{\"twice\":\"yes\"}"}`,
	}
	var got []string
	for _, r := range decodeFixture(t, "bodies") {
		got = append(got, r.message.Body)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}

	large := strings.Repeat("0123456789abcde\"", 1<<16) // 1 MiB, which is as large as a message may be
	records, err := decodeEvent(batch(2, large))
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if records[i].message.Body != large {
			t.Errorf("body %d of 1 MiB has changed", i)
		}
	}
}

// TestDecodeInvalidRecord checks that a bad field costs its record, and that the
// record can still be reported and, on a FIFO queue, hold back its group: what
// is needed for that comes after the bad field in the fixture.
func TestDecodeInvalidRecord(t *testing.T) {
	t.Parallel()
	problems := []string{
		"body is a number, not a string", "body is an object, not a string",
		`attributes: "ApproximateReceiveCount" is a number, not a string`,
		`messageAttributes: "flag".stringValue is a boolean, not a string`,
		`messageAttributes: "list".stringListValues holds a value of the wrong type`,
		"messageAttributes is an array, not an object", `messageAttributes: "raw" is a string, not an object`,
		"md5OfBody is an array, not a string", "",
	}
	for i, r := range decodeFixture(t, "mistyped") {
		got := ""
		if r.delivery.Invalid != nil {
			got = strings.TrimPrefix(r.delivery.Invalid.Error(), "undecodable record: ")
		}
		if got != problems[i] {
			t.Errorf("record %d: %q, want %q", i, got, problems[i])
		}
		read := []string{r.message.ID, r.message.GroupID, r.message.QueueARN, r.delivery.Receipt, r.mark}
		want := []string{
			fmt.Sprintf("%08x-1c2d-4e3f-8a9b-0a1b2c3d4e5f", i+1), fmt.Sprintf("group-%d", i+1),
			"arn:aws:sqs:eu-central-1:111122223333:orders.fifo", fmt.Sprintf("AQEBwJnK%04dexampleHandle==", i+1), "aws:sqs",
		}
		if diff := cmp.Diff(want, read); diff != "" {
			t.Errorf("record %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestDecodeInvalidBase64(t *testing.T) {
	t.Parallel()
	records := decodeFixture(t, "invalid-base64")
	want := `undecodable record: messageAttributes: "thumbnail".binaryValue is not base64`
	if err := records[0].delivery.Invalid; err == nil || err.Error() != want {
		t.Errorf("record 0: %v, want %s", err, want)
	}
	if err := records[1].delivery.Invalid; err != nil || records[1].message.Body != "good one" {
		t.Errorf("record 1: %v, body %q", err, records[1].message.Body)
	}
}

// TestDecodeInvalidNamesFirstProblem also checks that a name cannot blow up the
// error: senders choose the names of attributes.
func TestDecodeInvalidNamesFirstProblem(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 1000)
	for field, want := range map[string]string{
		"messageAttributes": `"` + long[:64] + `" is a number, not an object`,
		"attributes":        `"` + long[:64] + `" is a number, not a string`,
	} {
		records, err := decodeEvent([]byte(`{"Records":[{"` + field + `":{"` + long + `":1},"body":2}]}`))
		if err != nil {
			t.Fatal(err)
		}
		want = "undecodable record: " + field + ": " + want
		if err := records[0].delivery.Invalid; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestDecodeTellsNoRecordsFromEmptyRecords matters to the host: an event without
// Records is some other service's and must be refused.
func TestDecodeTellsNoRecordsFromEmptyRecords(t *testing.T) {
	t.Parallel()
	for payload, present := range map[string]bool{
		`{}`: false, `null`: false, `{"records":[]}`: false,
		`{"Records":[]}`: true, `{"Records":null}`: true, `{"Records":[{}],"Records":[]}`: true,
	} {
		records, err := decodeEvent([]byte(payload))
		if err != nil || len(records) != 0 || (records != nil) != present {
			t.Errorf("%s: %#v, %v; want none, nil: %t", payload, records, err, !present)
		}
	}
}

func TestRecordsOf(t *testing.T) {
	t.Parallel()
	for name, payload := range fixtures(t) {
		var e events.SQSEvent
		if err := json.Unmarshal(payload, &e); err != nil {
			continue // the typed entry never sees such an event
		}
		if name == "foreign-sns" {
			e.Records[0].EventSource = "" // encoding/json has taken EventSource for it
		}
		records, err := decodeEvent(payload)
		if err != nil {
			t.Fatal(err)
		}
		typed := recordsOf(e)
		if diff := cmp.Diff(viewsOf(records), viewsOf(typed), cmpopts.IgnoreUnexported(consumer.Message{}, consumer.Delivery{})); diff != "" {
			t.Errorf("%s: recordsOf (-decodeEvent +recordsOf):\n%s", name, diff)
		}
		for i := range typed {
			if typed[i].delivery.Message != &typed[i].message {
				t.Errorf("%s: delivery %d has another record's message", name, i)
			}
		}
	}
}
