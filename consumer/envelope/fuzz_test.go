package envelope_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/envelope"
	"github.com/ackwise/ackwise/retry"
)

// seeds are bodies for every target.
func seeds(f *testing.F) {
	f.Helper()
	for _, body := range []string{
		written, notification("hi").String(), notification(s3Test.String()).String(), s3Test.String(), event(1).String(), event(nil).String(),
		s3Event("a+b", "caf%C3%A9", "a%2Bb").String(), s3Bridge("a+b").String(), notification(s3Event("%").String()).String(),
		``, `null`, `{}`, `[]`, `{"a":1,"a":2}`, `{"Records":[{"s3":{}}]}`, `{"Event":"s3:TestEvent","Records":[]}`, "{\"\xff\":\"\\ud800\"}",
		`{"Type":"Notification","TopicArn":"t","Message":"\ud800","MessageAttributes":{"a":{"Type":"Binary","Value":"QQ"}}}`,
		`{"Type":"Notification","TopicArn":"t","topicarn":"u","Message":"a","message":"b"}`, `{"detail-type":"x","detail":{},"Detail":1}`,
		`{"Event":"s3:TestEvent"}`, s3Test.without("Bucket").String(), s3Test.with("Records", []members{s3Record("a")}).String(),
		members{"Records": []members{s3Record("a"), s3Record("b").with("eventSource", "aws:ses")}}.String(),
	} {
		f.Add(body)
	}
}

// handleBody runs a handler and checks what holds for every body: the message is
// left alone, and what is no success is permanent and called nothing.
func handleBody(t *testing.T, h consumer.Handler, body string, called *int) (ok bool) {
	t.Helper()
	m := message(body)
	err := h.Handle(t.Context(), m)
	want(t, "message", [3]any{m.Body, len(m.Attributes), m.ID}, [3]any{body, 0, "m-1"})
	if err == nil {
		return true
	}
	e, d := (*envelope.Error)(nil), (*consumer.DecodeError)(nil)
	if *called > 0 || !retry.IsPermanent(err) || (!errors.As(err, &e) && !errors.As(err, &d)) {
		t.Errorf("%d calls and error %v", *called, err)
	}
	return false
}

// oracle is what encoding/json makes of an object.
func oracle(t *testing.T, body string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		t.Fatalf("unwrapped, and encoding/json says %v", err)
	}
	return o
}

func FuzzSNS(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body string) {
		calls, inner, topic := 0, "", ""
		h := consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
			calls++
			n, ok := envelope.NotificationFrom(ctx)
			if inner, topic = m.Body, ""; ok {
				topic = n.TopicARN
			}
			return nil
		})
		check := func() {
			o := oracle(t, body)
			want(t, "unwrapped", [4]any{o["Type"], o["TopicArn"], o["Message"], calls}, [4]any{"Notification", topic, inner, 1})
		}
		strict := handleBody(t, envelope.SNS(h), body, &calls)
		if strict {
			check()
		}
		calls = 0
		switch mixed := handleBody(t, envelope.SNSOrRaw(h), body, &calls); {
		case mixed && topic != "":
			want(t, "unwrapped by SNS too", strict, true)
			check()
		case mixed:
			want(t, "raw body", inner, body)
		}
		// Any text that can be published comes out as it went in.
		if !utf8.ValidString(body) {
			return
		}
		calls = 0
		if !handleBody(t, envelope.SNS(h), notification(body).String(), &calls) || inner != body {
			t.Errorf("published %q, got %q", body, inner)
		}
	})
}

func FuzzEventBridge(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body string) {
		calls := 0
		var e envelope.Event[any]
		if handleBody(t, envelope.EventBridge(func(_ context.Context, got envelope.Event[any], _ *consumer.Message) error {
			calls++
			e = got
			return nil
		}), body, &calls) {
			o := oracle(t, body)
			want(t, "event", [3]any{e.DetailType, e.Detail, calls}, [3]any{o["detail-type"], o["detail"], 1})
			if e.DetailType == "" || e.Detail == nil {
				t.Errorf("nothing in %+v", e)
			}
		}
	})
}

// isS3Test reports whether an object is what may be acknowledged without a look.
func isS3Test(o map[string]any) bool {
	bucket, _ := o["Bucket"].(string)
	return o["Service"] == "Amazon S3" && o["Event"] == "s3:TestEvent" && bucket != ""
}

func FuzzS3(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body string) {
		calls := 0
		var records []envelope.S3Record
		fn := func(_ context.Context, r envelope.S3Record, _ *consumer.Message) error {
			calls++
			records = append(records, r)
			return nil
		}
		if handleBody(t, envelope.S3(fn), body, &calls) {
			o := oracle(t, body)
			if list, _ := o["Records"].([]any); len(list) != calls || (calls == 0 && !isS3Test(o)) {
				t.Errorf("%d calls for %v", calls, o)
			}
		}
		for _, r := range records {
			if source := oracle(t, string(r.Raw))["eventSource"]; source != "aws:s3" {
				t.Errorf("a record of %v", source)
			}
			if key, err := url.QueryUnescape(r.RawKey); err != nil || key != r.Key || r.RawKey == "" || r.Bucket == "" {
				t.Errorf("record %+v: %q, %v", r, key, err)
			}
		}
		calls, records = 0, nil
		if handleBody(t, envelope.S3EventBridge(fn), body, &calls) &&
			(calls != 1 || oracle(t, body)["source"] != "aws.s3" || records[0].Key == "" || records[0].Key != records[0].RawKey) {
			t.Errorf("%d calls, records %+v", calls, records)
		}
		// Any key that an object can have comes out as it went in, by either path.
		if !utf8.ValidString(body) || body == "" {
			return
		}
		calls, records = 0, nil
		handleBody(t, envelope.S3(fn), s3Event(url.QueryEscape(body)).String(), &calls)
		calls = 0
		handleBody(t, envelope.S3EventBridge(fn), s3Bridge(body).String(), &calls)
		keys := make([]string, len(records))
		for i, r := range records {
			keys[i] = r.Key
		}
		if !slices.Equal(keys, []string{body, body}) {
			t.Errorf("keys %q of an object %q", keys, body)
		}
	})
}
