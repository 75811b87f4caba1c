package envelope_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/envelope"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
)

func TestSNSKey(t *testing.T) {
	t.Parallel()
	const order = `{"order":{"id":"o-7"}}`
	wrapped := notification(order).with("MessageAttributes", members{"tenant": members{"Type": "String", "Value": "acme"}}).String()
	field, attribute := consumer.JSONField("order", "id"), consumer.AttributeKey("tenant")
	inside := consumer.Key{Kind: "json.order.id", Value: "o-7"}
	for _, tt := range []struct {
		name, body string
		key        consumer.KeyFunc
		want       consumer.Key
	}{
		{"field", wrapped, envelope.SNSKey(field), inside},
		{"attribute", wrapped, envelope.SNSKey(attribute), consumer.Key{Kind: "attribute.tenant", Value: "acme"}},
		{"message id", wrapped, envelope.SNSKey(consumer.MessageID), consumer.Key{Kind: "id", Value: "m-1"}},
		{"field, mixed", wrapped, envelope.SNSOrRawKey(field), inside},
		{"field, mixed, raw", order, envelope.SNSOrRawKey(field), inside},
		{"id of SNS", wrapped, consumer.JSONField("MessageId"), consumer.Key{Kind: "json.MessageId", Value: "7f3f2a10-1111-4222-8333-444455556666"}},
		{"id of an event", event(1).String(), consumer.JSONField("id"), consumer.Key{Kind: "json.id", Value: "e-1"}},
		{
			"field of an event", event(members{"order": members{"id": "o-7"}}).String(), consumer.JSONField("detail", "order", "id"),
			consumer.Key{Kind: "json.detail.order.id", Value: "o-7"},
		},
	} {
		key, err := tt.key(message(tt.body))
		if err != nil || key != tt.want {
			t.Errorf("%s: %+v, %v, want %+v", tt.name, key, err, tt.want)
		}
	}
	for _, key := range []consumer.KeyFunc{envelope.SNSKey(field), envelope.SNSOrRawKey(field)} {
		_, err := key(message(notification("").without("Message")))
		wantRefused(t, err, "Message is missing")
	}
	_, err := envelope.SNSKey(field)(message(order))
	wantRefused(t, err, "raw message delivery")
}

// The same order, published twice: two messages, two notifications, one piece of
// work. One that has no key that can be found is rejected before the handler.
func TestSNSKey_RecognisesTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		guard, err := idempotency.New(memstore.New(), idempotency.Config{})
		if err != nil {
			t.Fatal(err)
		}
		cfg := steady()
		cfg.Idempotency, cfg.Key = guard, consumer.Strict(envelope.SNSOrRawKey(consumer.JSONField("id")))
		calls := 0
		h := envelope.SNSOrRaw(consumer.HandlerFunc(func(context.Context, *consumer.Message) error {
			calls++
			return nil
		}))
		again := notification(`{"id":"o-7"}`).with("MessageId", "another")
		outcomes, reported := invoke(t, h, cfg,
			notification(`{"id":"o-7"}`).String(), again.String(), `{"id":"o-7"}`, notification(`{}`).String())
		want(t, "reported", reported, "m-4")
		want(t, "calls", calls, 1)
		want(t, "outcomes", outcomes, []string{
			"m-1 done, 1 tries", "m-2 duplicate, 0 tries", "m-3 duplicate, 0 tries", "m-4 rejected, 0 tries",
		})
	})
}
