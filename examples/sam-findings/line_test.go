package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/retry"
)

// eventOf is an event with one message.
func eventOf(t *testing.T, body string, attributes map[string]any) []byte {
	t.Helper()
	event, err := json.Marshal(map[string]any{"Records": []any{map[string]any{
		"messageId": "m-1", "receiptHandle": "h", "body": body, "messageAttributes": attributes,
		"attributes": map[string]any{"MessageGroupId": "g"}, "eventSource": "aws:sqs",
		"eventSourceARN": "arn:aws:sqs:eu-central-1:111122223333:dead",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return event
}

// tenAttributes are as many as a message can have, with values of n bytes each, half
// of them binary.
func tenAttributes(n int) map[string]any {
	all := map[string]any{}
	for i := range 5 {
		all[fmt.Sprintf("text-%d", i)] = map[string]any{"dataType": "String", "stringValue": strings.Repeat("x", n)}
		all[fmt.Sprintf("bytes-%d", i)] = map[string]any{"dataType": "Binary", "binaryValue": []byte(strings.Repeat("x", n))}
	}
	return all
}

// What decides is the line as it is written, not the message: a finding goes into
// the log whole, or the message stays on the queue.
func TestLineThatIsTooLong(t *testing.T) {
	t.Parallel()
	const (
		escaped  = "\u2028" // three bytes in a body, six in a line
		control  = "\x01"   // one, and six; SQS takes none, an invocation by hand does
		envelope = 500      // more than all of a line but the body
	)
	for name, tt := range map[string]struct {
		body       string
		attributes map[string]any
		stays      bool
	}{
		"a long body":                  {strings.Repeat("x", maxLine-envelope), nil, false},
		"a body longer than a line":    {strings.Repeat("x", maxLine), nil, true},
		"escapes that fit":             {strings.Repeat(escaped, (maxLine-envelope)/6), nil, false},
		"escapes that do not":          {strings.Repeat(escaped, maxLine/6+1), nil, true},
		"control characters that fit":  {strings.Repeat(control, (maxLine-envelope)/6), nil, false},
		"control characters, too many": {strings.Repeat(control, maxLine/6+1), nil, true},
		"attributes that fit":          {"x", tenAttributes(20_000), false},
		"attributes, too long":         {"x", tenAttributes(25_000), true}, // only because of base64
		"the largest message":          {strings.Repeat("x", 1<<20), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := sqstest.NewServer(sqstest.Config{})
				defer server.Close()
				answer, findings := run(t, server, eventOf(t, tt.body, tt.attributes))
				if tt.stays {
					if answer != `{"batchItemFailures":[{"itemIdentifier":"m-1"}]}` || len(findings) != 0 {
						t.Errorf("answer %s and %d findings; want the message reported", answer, len(findings))
					}
					return
				}
				if answer != `{"batchItemFailures":[]}` || len(findings) != 1 {
					t.Fatalf("answer %s and %d findings; want one", answer, len(findings))
				}
				f := findings[0]
				attributes, _ := f["attributes"].(map[string]any)
				if f["message_id"] != "m-1" || f["group"] != "g" || f["body"] != tt.body || len(attributes) != len(tt.attributes) {
					t.Error("the finding is not whole")
				}
			})
		})
	}
}

// The limit is one of the line that is written, to the byte.
func TestLineAtTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // where a time takes as many bytes each time
		handle := func(n int) (written size, err error) {
			l := ledger{slog.New(slog.NewJSONHandler(&written, nil))}
			err = l.Handle(t.Context(), &consumer.Message{ID: "m-1", Body: strings.Repeat("x", n)})
			return written, err
		}
		empty, err := handle(0)
		if err != nil {
			t.Fatal(err)
		}
		room := maxLine - int(empty)
		if n, err := handle(room); n != maxLine || err != nil {
			t.Errorf("%d bytes written and error %v; want %d", n, err, maxLine)
		}
		if n, err := handle(room + 1); n != 0 || !retry.IsPermanent(err) || !strings.Contains(err.Error(), fmt.Sprint(maxLine+1)) {
			t.Errorf("%d bytes written and error %v; want none, and the length", n, err)
		}
	})
}

var errDisk = errors.New("no space left")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errDisk }

// What could not be written down is not deleted, and may be written another time.
func TestLogThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	err := ledger{slog.New(slog.NewJSONHandler(broken{}, nil))}.Handle(t.Context(), &consumer.Message{ID: "m-1"})
	if !errors.Is(err, errDisk) || retry.IsPermanent(err) {
		t.Errorf("error %v; want that of the log, not permanent", err)
	}
}
