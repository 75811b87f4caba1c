package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

const offline = "AWS_SAM_LOCAL"

// run invokes the function with an event; findings are the lines of its log that
// are ones.
func run(t *testing.T, server *sqstest.Server, event []byte) (answer string, findings []map[string]any) {
	t.Helper()
	var log bytes.Buffer // handlers of slog write one line at a time
	cfg := aws.Config{
		Region: sqstest.DefaultRegion, HTTPClient: server.HTTPClient(),
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "example", ""),
	}
	getenv := func(name string) string {
		if name == offline {
			return "true"
		}
		return ""
	}
	adapter, err := newAdapter(cfg, getenv, slog.New(slog.NewJSONHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := adapter.Invoke(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(log.String()) {
		var f map[string]any
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if f["msg"] == "dead letter" {
			delete(f, "time")
			findings = append(findings, f)
		}
	}
	return string(b), findings
}

func TestFindings(t *testing.T) {
	t.Parallel()
	event, err := os.ReadFile("../../events/dead-letters.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../events/answers/dead-letters.json")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		server := sqstest.NewServer(sqstest.Config{})
		defer server.Close()
		answer, findings := run(t, server, event)
		if diff := cmp.Diff(strings.TrimSpace(string(want)), answer); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		if n := server.Calls().Total(); n != 0 {
			t.Errorf("%d calls, want none", n)
		}
		byID := map[any]map[string]any{} // handlers run at the same time
		for _, f := range findings {
			byID[f["message_id"]] = f
		}
		if diff := cmp.Diff(expected(), byID); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
	})
}

// expected are the findings in events/dead-letters.json, by message id.
func expected() map[any]map[string]any {
	const (
		orders = "arn:aws:sqs:eu-central-1:111122223333:ackwise-orders-orders"
		parked = "00000071-5a3c-4f0e-9d21-7b6c5d4e3f2a"
		moved  = "00000072-5a3c-4f0e-9d21-7b6c5d4e3f2a"
		sent   = "00000073-5a3c-4f0e-9d21-7b6c5d4e3f2a"
	)
	all := map[any]map[string]any{
		parked: {
			"way": "parked", "source": orders, "original_id": "00000171-5a3c-4f0e-9d21-7b6c5d4e3f2a", "receives": 1.0,
			"error": "order order-71 has an amount of -500 cents", "attempts": 1.0, "parked_at": "2026-11-30T12:30:00.125Z",
			"attributes": map[string]any{"tenant": map[string]any{"type": "String", "value": "acme"}},
			"body":       `{"id":"order-71","customer":"ann","amount":-500}`,
		},
		moved: {
			"way": "redrive", "source": orders, "original_id": moved, "receives": 51.0,
			"body": `{"id":"order-72","customer":"ann","amount":1999}`,
		},
		sent: {"way": "sent", "receives": 1.0, "body": "sent by hand"},
	}
	for id, f := range all {
		f["level"], f["msg"], f["message_id"] = "ERROR", "dead letter", id
		f["dead_letter_queue"], f["sent_at"] = orders+"-dead", "2026-11-30T12:00:00Z"
	}
	all[parked]["sent_at"] = "2026-11-30T12:30:00.25Z" // a copy is sent when it is parked
	return all
}
