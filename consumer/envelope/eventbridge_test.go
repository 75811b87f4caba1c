package envelope_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/envelope"
	"github.com/ackwise/ackwise/retry"
)

type order struct {
	ID    string `json:"id"`
	Total int    `json:"total"`
}

func TestEventBridge_Decodes(t *testing.T) {
	t.Parallel()
	body := event(members{"id": "o-7", "total": 1999, "unknown": []int{1}}).with("replay-name", "r").String()
	original := message(body)
	called := false
	err := envelope.EventBridge(func(_ context.Context, e envelope.Event[order], m *consumer.Message) error {
		called = true
		want(t, "event", e, envelope.Event[order]{
			ID: "e-1", Source: "shop.orders", DetailType: "Order Placed", Time: time.Date(2026, 11, 30, 8, 15, 30, 0, time.UTC),
			Account: "111122223333", Region: "eu-central-1", Resources: []string{"arn:aws:x:::a", "arn:aws:x:::b"},
			Detail: order{"o-7", 1999},
		})
		if m != original || m.Body != body {
			t.Errorf("the message was changed: %+v", m)
		}
		return nil
	}).Handle(t.Context(), original)
	if err != nil || !called {
		t.Errorf("called %t, %v", called, err)
	}
}

// What describes the event fails nothing, and the detail is kept as it is written
// for who wants it like that.
func TestEventBridge_RawDetailAndOddMetadata(t *testing.T) {
	t.Parallel()
	body := `{ "detail-type" : "x", "detail" : {"n": 1.0, "s":"\u00e9"} , "time":5, "resources":"r", "ID":"e", "Source":"s" }`
	called := false
	err := envelope.EventBridge(func(_ context.Context, e envelope.Event[json.RawMessage], _ *consumer.Message) error {
		called = true
		want(t, "event", e, envelope.Event[json.RawMessage]{DetailType: "x", Detail: json.RawMessage(`{"n": 1.0, "s":"\u00e9"}`)})
		return nil
	}).Handle(t.Context(), message(body))
	if err != nil || !called {
		t.Errorf("called %t, %v", called, err)
	}
}

func TestEventBridge_RefusesWhatIsNotAnEvent(t *testing.T) {
	t.Parallel()
	const advice = "; if the rule's target has an input path or an input transformer, use consumer.JSON"
	e := event(members{"id": marker})
	h := envelope.EventBridge(func(context.Context, envelope.Event[order], *consumer.Message) error {
		t.Error("the function was called")
		return nil
	})
	for body, text := range map[string]string{
		``:                                            "want an EventBridge event, found text that is not JSON" + advice,
		`["s3cr3t"]`:                                  "found JSON that is not an object" + advice,
		`{"id":"s3cr3t"}`:                             "found a JSON object of another kind" + advice,
		e.without("detail").String():                  "found one without a detail" + advice,
		e.without("detail-type").String():             "found one without a detail-type" + advice,
		e.with("detail-type", "").String():            "found one without a detail-type" + advice,
		e.with("detail-type", 5).String():             "found one without a detail-type" + advice,
		notification(marker).String():                 "found an SNS notification; wrap the handler in envelope.SNS",
		s3Event(marker).String():                      "found an S3 notification; use envelope.S3",
		s3Test.String():                               "found a test event of S3; use envelope.S3",
		`{"detail-type":"x","detail":{},"detail":{}}`: "has a member twice",
		e.without("detail").with("Detail", members{}).without("detail-type").with("Detail-Type", "x").String(): "of another kind" + advice,
	} {
		wantRefused(t, h.Handle(t.Context(), message(body)), text)
	}
}

func TestEventBridge_DetailThatDoesNotDecode(t *testing.T) {
	t.Parallel()
	for detail, text := range map[string]string{
		`null`:               "the body is null",
		`"s3cr3t"`:           "its value does not fit",
		`{"total":"s3cr3t"}`: "field total has another type",
	} {
		h := envelope.EventBridge(func(context.Context, envelope.Event[order], *consumer.Message) error {
			t.Error("the function was called")
			return nil
		})
		err := h.Handle(t.Context(), message(event(json.RawMessage(detail))))
		var d *consumer.DecodeError
		if !retry.IsPermanent(err) || !errors.As(err, &d) || d.Type != "envelope_test.order" {
			t.Fatalf("%s: %v", detail, err)
		}
		if msg := err.Error(); !strings.HasPrefix(msg, "envelope: detail of the event: ") || !strings.Contains(msg, text) || strings.Contains(msg, marker) {
			t.Errorf("%s: error is %q, want one with %q", detail, msg, text)
		}
	}
}

func TestEventBridge_ThroughSNS(t *testing.T) {
	t.Parallel()
	var got string
	h := envelope.SNS(envelope.EventBridge(func(ctx context.Context, e envelope.Event[order], m *consumer.Message) error {
		n, _ := envelope.NotificationFrom(ctx)
		got = n.TopicARN + " " + e.Detail.ID
		return errors.New("declined")
	}))
	err := h.Handle(t.Context(), message(notification(event(order{ID: "o-7"}).String())))
	if err == nil || err.Error() != "declined" || retry.IsPermanent(err) {
		t.Errorf("error of the function: %v", err)
	}
	want(t, "got", got, topicARN+" o-7")
}
