package envelope_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/envelope"
)

// An S3 test event failed the whole batch that it came with:
// https://github.com/quiltdata/quilt/issues/5162.
func TestCase_EV01_S3TestEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		h := envelope.S3(func(_ context.Context, r envelope.S3Record, _ *consumer.Message) error {
			keys = append(keys, r.Key)
			return nil
		})
		outcomes, reported := invoke(t, h, steady(), s3Test.String(), s3Event("a.jpg").String(), `{"foo":1}`)
		want(t, "reported", reported, "m-3")
		want(t, "keys", keys, []string{"a.jpg"})
		want(t, "outcomes", outcomes, []string{"m-1 done, 1 tries", "m-2 done, 1 tries", "m-3 rejected, 1 tries"})

		keys = nil
		wrapped := notification(s3Test.String()).with("Subject", "Amazon S3 Notification")
		_, reported = invoke(t, envelope.SNS(h), steady(),
			wrapped.String(), notification(s3Event("b.jpg").String()).String(), notification(`{"foo":1}`).String(), s3Test.String())
		want(t, "reported, by SNS", reported, "m-3 m-4")
		want(t, "keys, by SNS", keys, []string{"b.jpg"})

		// A handler of another kind sees the test event as it is.
		var body string
		_, reported = invoke(t, consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
			body = m.Body
			return nil
		}), steady(), s3Test.String())
		want(t, "reported, without S3", reported, "")
		want(t, "body, without S3", body, s3Test.String())
	})
}

// A payload comes raw or in an envelope, as the subscription says; a body with a
// field Message is not one.
func TestCase_EV03_SNSEnvelopeOrRawDelivery(t *testing.T) {
	t.Parallel()
	const order, lookalike = `{"id":"o-7"}`, `{"Message":"hi","id":"o-8"}`
	bodies := []string{order, notification(order).String(), notification("hi").String(), lookalike}
	for _, tt := range []struct {
		name     string
		wrap     consumer.Middleware
		got      []string
		reported string
	}{
		{"raw", func(h consumer.Handler) consumer.Handler { return h }, bodies, ""},
		{"SNS", envelope.SNS, []string{order, "hi"}, "m-1 m-4"},
		{"SNSOrRaw", envelope.SNSOrRaw, []string{order, order, "hi", lookalike}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var got []string
				h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
					got = append(got, m.Body)
					return nil
				})
				_, reported := invoke(t, tt.wrap(h), steady(), bodies...)
				want(t, "reported", reported, tt.reported)
				want(t, "bodies", got, tt.got)

				// The same as a middleware.
				cfg := steady()
				cfg.Middleware = []consumer.Middleware{tt.wrap}
				got = nil
				_, reported = invoke(t, h, cfg, bodies...)
				want(t, "reported, as middleware", reported, tt.reported)
				want(t, "bodies, as middleware", got, tt.got)
			})
		})
	}
}

// Of an event without detail-type a handler saw nothing but an empty string:
// https://github.com/localstack/localstack/issues/3981.
func TestCase_EV04_EventBridgeEnvelope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type order struct{ ID string }
		var got []string
		h := envelope.EventBridge(func(_ context.Context, e envelope.Event[order], _ *consumer.Message) error {
			got = append(got, e.DetailType+" "+e.Detail.ID)
			return nil
		})
		placed := event(order{"o-7"})
		outcomes, reported := invoke(t, h, steady(), placed.String(), placed.without("detail").String(),
			placed.without("detail-type").String(), placed.with("detail", nil).String(), placed.with("detail", "o-7").String())
		want(t, "reported", reported, "m-2 m-3 m-4 m-5")
		want(t, "events", got, []string{"Order Placed o-7"})
		want(t, "outcomes", outcomes, []string{
			"m-1 done, 1 tries", "m-2 rejected, 1 tries", "m-3 rejected, 1 tries", "m-4 rejected, 1 tries", "m-5 rejected, 1 tries",
		})
	})
}

// Keys were used as they stand in the message, and the objects were not found:
// https://github.com/vectordotdev/vector/issues/7470. By EventBridge they are not
// encoded, and decoding breaks them:
// https://github.com/aws-solutions-library-samples/guidance-for-medialake-on-aws/pull/21.
func TestCase_EV09_S3KeyEncoding(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		raw := []string{"year%3D2026/red+flower.jpg", "caf%C3%A9.txt", "a%2Bb", "a%252Bb"}
		keys := []string{"year=2026/red flower.jpg", "café.txt", "a+b", "a%2Bb"}
		var got, gotRaw []string
		fn := func(_ context.Context, r envelope.S3Record, _ *consumer.Message) error {
			got, gotRaw = append(got, r.Key), append(gotRaw, r.RawKey)
			return nil
		}
		_, reported := invoke(t, envelope.S3(fn), steady(), s3Event(raw[0]).String(), s3Event(raw[1:]...).String())
		want(t, "reported", reported, "")
		want(t, "keys", got, keys)
		want(t, "raw keys", gotRaw, raw)

		got, gotRaw = nil, nil
		var events []string
		for _, key := range keys {
			events = append(events, s3Bridge(key).String())
		}
		_, reported = invoke(t, envelope.S3EventBridge(fn), steady(), events...)
		want(t, "reported, by EventBridge", reported, "")
		want(t, "keys, by EventBridge", got, keys)
		want(t, "raw keys, by EventBridge", gotRaw, keys)
	})
}
