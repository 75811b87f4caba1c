package envelope_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/envelope"
)

func TestS3Records(t *testing.T) {
	t.Parallel()
	deleted := s3Record("gone").with("eventName", "ObjectRemoved:Delete").with("eventTime", 5).without("awsRegion").
		with("s3", members{"bucket": members{"name": "pictures"}, "object": members{"key": "gone", "versionId": nil, "size": nil}})
	m := message(members{"Records": []members{s3Record("a+b"), deleted}})
	got, err := envelope.S3Records(m)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "records", got, []envelope.S3Record{{
		Event: "ObjectCreated:Put", Time: time.Date(2026, 11, 30, 8, 15, 30, 250e6, time.UTC), Region: "eu-central-1",
		Bucket: "pictures", Key: "a b", RawKey: "a+b", VersionID: "v1", ETag: "abc", Size: 1 << 40, Sequencer: "0055AED6DCD90281E5",
		Raw: json.RawMessage(s3Record("a+b").String()),
	}, {
		Event: "ObjectRemoved:Delete", Bucket: "pictures", Key: "gone", RawKey: "gone", Raw: json.RawMessage(deleted.String()),
	}})
	both := s3Event("a").with("Event", "s3:TestEvent") // which S3 does not send: nothing is acknowledged unseen
	if got, err := envelope.S3Records(message(both)); len(got) != 1 || err != nil {
		t.Errorf("test event with a record: %v, %v", got, err)
	}
	if got, err := envelope.S3Records(message(s3Test)); got != nil || err != nil {
		t.Errorf("test event: %v, %v", got, err)
	}
}

func TestS3EventBridge_Record(t *testing.T) {
	t.Parallel()
	original := message(s3Bridge("a+b"))
	called := false
	err := envelope.S3EventBridge(func(_ context.Context, r envelope.S3Record, m *consumer.Message) error {
		called = true
		var detail struct{ Reason string }
		if err := json.Unmarshal(r.Raw, &detail); err != nil || detail.Reason != "PutObject" {
			t.Errorf("raw detail %s: %v", r.Raw, err)
		}
		r.Raw = nil
		want(t, "record", r, envelope.S3Record{
			Event: "Object Created", Time: time.Date(2026, 11, 30, 8, 15, 30, 0, time.UTC), Region: "eu-central-1",
			Bucket: "pictures", Key: "a+b", RawKey: "a+b", VersionID: "v1", ETag: "abc", Size: 5, Sequencer: "0055AED6DCD90281E5",
		})
		want(t, "message", m == original, true)
		return nil
	}).Handle(t.Context(), original)
	if err != nil || !called {
		t.Errorf("called %t, %v", called, err)
	}
}

// refuses returns a handler whose function must not be called.
func refuses(t *testing.T, h func(func(context.Context, envelope.S3Record, *consumer.Message) error) consumer.Handler) consumer.Handler {
	t.Helper()
	return h(func(_ context.Context, r envelope.S3Record, _ *consumer.Message) error {
		t.Errorf("the function was called with %+v", r)
		return nil
	})
}

func TestS3_RefusesWhatIsNotANotification(t *testing.T) {
	t.Parallel()
	const advice = "; find out who else sends to this queue"
	item := func(o any) string { // a good record and one with this as its s3
		return members{"Records": []members{s3Record("a"), s3Record("b").with("s3", o)}}.String()
	}
	bucket := members{"name": "b"}
	for body, text := range map[string]string{
		``:                                 "want an S3 notification, found text that is not JSON" + advice,
		marker:                             "found text that is not JSON" + advice,
		`[]`:                               "found JSON that is not an object" + advice,
		`{"foo":1}`:                        "found a JSON object of another kind" + advice,
		`{"Records":[]}`:                   "found a JSON object of another kind" + advice,
		`{"Records":null}`:                 "found a JSON object of another kind" + advice,
		`{"Records":{}}`:                   "found a JSON object of another kind" + advice,
		`{"Records":["s3cr3t"]}`:           "found a JSON object of another kind" + advice,
		`{"Records":[{"s3":null}]}`:        "found a JSON object of another kind" + advice,
		`{"records":[{"s3":{}}]}`:          "found a JSON object of another kind" + advice,
		`{"Event":"s3:testevent"}`:         "found a JSON object of another kind" + advice,
		`{"Records":[{"ses":{}}]}`:         "found a JSON object of another kind" + advice,
		notification(marker).String():      "found an SNS notification; wrap the handler in envelope.SNS",
		s3Bridge(marker).String():          "found an S3 event of EventBridge; use envelope.S3EventBridge",
		event(marker).String():             "found an EventBridge event; use envelope.EventBridge",
		`{"Records":[],"Records":[]}`:      "has a member twice",
		s3Test.without("Service").String(): "found a JSON object of another kind" + advice,
		s3Test.without("Bucket").String():  "found a JSON object of another kind" + advice,
		s3Test.with("Bucket", 5).String():  "found a JSON object of another kind" + advice,
		s3Test.with("Service", "Amazon EC2").String():                                        "found a JSON object of another kind" + advice,
		s3Test.with("Event", "s3:TestEvents").String():                                       "found a JSON object of another kind" + advice,
		`{"Records":[{"eventSource":"aws:s3","s3":{}},5]}`:                                   "without the name of a bucket or the key",
		s3Event("a", "%ZZ"+marker).String():                                                  "a key that is not URL-encoded",
		item(nil):                                                                            "without the name of a bucket or the key",
		item(members{"object": members{"key": "k"}}):                                         "without the name of a bucket or the key",
		item(members{"bucket": bucket}):                                                      "without the name of a bucket or the key",
		item(members{"bucket": bucket, "object": members{"key": ""}}):                        "without the name of a bucket or the key",
		item(members{"bucket": bucket, "object": members{"Key": marker}}):                    "without the name of a bucket or the key",
		item(members{"bucket": bucket, "object": members{"key": 5}}):                         "without the name of a bucket or the key",
		item(members{"bucket": bucket, "object": members{"key": "k", "size": marker}}):       "a size that is no whole number",
		item(members{"bucket": bucket, "object": members{"key": "k", "size": 1.5}}):          "a size that is no whole number",
		item(json.RawMessage(`{"bucket":{"name":"b"},"object":{"key":"s3cr3t","key":"k"}}`)): "one whose object is a JSON object that has a member twice",
		item(json.RawMessage(`{"bucket":{"name":"b","name":"c"},"object":{"key":"k"}}`)):     "one whose bucket is a JSON object that has a member twice",
		item(json.RawMessage(`{"bucket":{},"bucket":{}}`)):                                   "a record whose s3 is a JSON object that has a member twice",
		`{"Records":[` + s3Record("a").String() + `,"s3cr3t"]}`:                              "a record that is JSON that is not an object",
	} {
		wantRefused(t, refuses(t, envelope.S3).Handle(t.Context(), message(body)), text)
	}
}

// Records of another service that have a member s3 too.
func TestS3_RefusesOtherSources(t *testing.T) {
	t.Parallel()
	for _, source := range []any{"minio:s3", "aws:S3", 5, nil} {
		other := s3Record("b").with("eventSource", source)
		wantRefused(t, refuses(t, envelope.S3).Handle(t.Context(), message(members{"Records": []members{s3Record("a"), other}})),
			"a record whose eventSource is not aws:s3")
		first := members{"Records": []members{other, s3Record("a")}}
		wantRefused(t, refuses(t, envelope.S3).Handle(t.Context(), message(first)), "found a JSON object of another kind; find out who else sends")
	}
}

func TestS3EventBridge_RefusesWhatIsNotAnEvent(t *testing.T) {
	t.Parallel()
	const advice = "; let the rule match source aws.s3"
	e := s3Bridge(marker)
	for body, text := range map[string]string{
		``:                                "want an S3 event of EventBridge, found text that is not JSON" + advice,
		`5`:                               "found JSON that is not an object" + advice,
		`{"foo":1}`:                       "found a JSON object of another kind" + advice,
		e.with("source", "me").String():   "found an EventBridge event" + advice,
		e.without("detail").String():      "of another kind" + advice,
		e.with("detail", nil).String():    "of another kind" + advice,
		e.without("detail-type").String(): "of another kind" + advice,
		s3Event(marker).String():          "found an S3 notification; use envelope.S3",
		s3Test.String():                   "found a test event of S3; use envelope.S3",
		notification(marker).String():     "wrap the handler in envelope.SNS",
		e.with("detail", marker).String(): "without the name of a bucket or the key",
		e.with("detail", members{"requestParameters": members{"bucketName": "b", "key": marker}}).String(): "without the name of a bucket or the key",
		e.with("detail", json.RawMessage(`{"bucket":{},"bucket":{}}`)).String():                            "one whose detail is a JSON object that has",
	} {
		wantRefused(t, refuses(t, envelope.S3EventBridge).Handle(t.Context(), message(body)), text)
	}
}

// What S3 sends comes by way of SNS too, by either path.
func TestS3_ThroughSNS(t *testing.T) {
	t.Parallel()
	var got []string
	fn := func(ctx context.Context, r envelope.S3Record, m *consumer.Message) error {
		n, _ := envelope.NotificationFrom(ctx)
		got = append(got, fmt.Sprint(r.Key, " ", n.TopicARN == topicARN))
		return nil
	}
	if err := envelope.SNS(envelope.S3(fn)).Handle(t.Context(), message(notification(s3Event("a+b").String()))); err != nil {
		t.Error(err)
	}
	if err := envelope.SNS(envelope.S3EventBridge(fn)).Handle(t.Context(), message(notification(s3Bridge("a+b").String()))); err != nil {
		t.Error(err)
	}
	want(t, "keys", got, []string{"a b true", "a+b true"})
}
