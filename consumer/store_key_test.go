package consumer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/retry"
)

// keyed runs a message under a key function and returns its outcome and the
// whole key, as the store has it, without the queue.
func keyed(t *testing.T, f consumer.KeyFunc, m consumer.Message) (o consumer.Outcome, key string) {
	t.Helper()
	cfg := guarded(t, steady(1), newScripted())
	cfg.Key = f
	h := consumer.HandlerFunc(func(ctx context.Context, _ *consumer.Message) error {
		c, _ := idempotency.FromContext(ctx)
		key = strings.TrimPrefix(c.Key(), standardARN+"#")
		return nil
	})
	m.ID, m.ReceiveCount = "a", 1
	return outcome(t, cfg, h, &consumer.Delivery{Message: &m, Receipt: "a#1"}), key
}

func TestKey_OfTheBody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path      string
		body, key string
	}{
		{"id", `{"id":"o-1"}`, "json.id:o-1"},
		{"order.id", `{"order":{"id":"o-1","n":2}}`, "json.order.id:o-1"},
		{"id", `{"id":12}`, "json.id:12"},
		{"id", `{"id":12345678901234567890123}`, "json.id:12345678901234567890123"}, // exact
		{"id", `{"id":-1.50e3}`, "json.id:-1.50e3"},
		{"id", `{"id":0}`, "json.id:0"},
		{"id", `{"id":true}`, "json.id:true"},
		{"id", `{"id":false}`, "json.id:false"},
		{"id", `{"id":"\u00e9\ud83d\ude00"}`, "json.id:é😀"},
		{"id", `{"id":" "}`, "json.id: "},
		{"id", "{ \"id\" :\n \"x:y#z\" }", "json.id:x:y#z"},
		// No key: the message's own id.
		{"id", `{"id":""}`, "id:a"},
		{"id", `{"id":null}`, "id:a"},
		{"id", `{"id":{}}`, "id:a"},
		{"id", `{"id":["o-1"]}`, "id:a"},
		{"id", `{"ID":"o-1"}`, "json.id:o-1"}, // any case, as encoding/json
		{"id", `{}`, "id:a"},
		{"order.id", `{"order":"o-1"}`, "id:a"},
		{"order.id", `{"order":null}`, "id:a"},
		{"id", `["o-1"]`, "id:a"},
		{"id", `{"id":"o-1"`, "id:a"}, // not JSON
		{"id", ``, "id:a"},
		// A body that is a scalar, and one that is not.
		{"", ` "o-1" `, "json.:o-1"},
		{"", " 17\n", "json.:17"},
		{"", ` {"id":"o-1"}`, "id:a"},
		{"", "o-1", "id:a"},
	} {
		var path []string
		if tt.path != "" {
			path = strings.Split(tt.path, ".")
		}
		o, key := keyed(t, consumer.JSONField(path...), consumer.Message{Body: tt.body})
		want(t, "verdict for "+tt.body, o.Verdict, consumer.VerdictDone)
		want(t, "key of "+tt.body, key, tt.key)
		o, _ = keyed(t, consumer.Strict(consumer.JSONField(path...)), consumer.Message{Body: tt.body})
		want(t, "strict on "+tt.body, errors.Is(o.Err, consumer.ErrNoKey), tt.key == "id:a")
	}
}

func TestKey_OfAttributeAndDeduplicationID(t *testing.T) {
	t.Parallel()
	m := consumer.Message{
		DeduplicationID: "d-1",
		Attributes: map[string]consumer.Attribute{
			"order":  {DataType: "String", StringValue: "o-1"},
			"number": {DataType: "Number", StringValue: "7"},
			"empty":  {DataType: "String"},
			"binary": {DataType: "Binary", BinaryValue: []byte("o-1")},
		},
	}
	for _, tt := range []struct {
		f   consumer.KeyFunc
		key string
	}{
		{nil, "id:a"},
		{consumer.MessageID, "id:a"},
		{consumer.AttributeKey("order"), "attribute.order:o-1"},
		{consumer.AttributeKey("number"), "attribute.number:7"},
		{consumer.AttributeKey("empty"), "id:a"},
		{consumer.AttributeKey("binary"), "id:a"},
		{consumer.AttributeKey("absent"), "id:a"},
		{consumer.DeduplicationID, "deduplication:d-1"},
		{func(*consumer.Message) (consumer.Key, error) { return consumer.Key{Value: "v"}, nil }, "key:v"},
	} {
		_, key := keyed(t, tt.f, m)
		want(t, "key", key, tt.key)
	}
	_, key := keyed(t, consumer.DeduplicationID, consumer.Message{})
	want(t, "key without a deduplication id", key, "id:a")
}

// A kind may have any signs in it, and still no two pairs of kind and value make
// one key.
func TestKey_KindsAreNeverMixedUp(t *testing.T) {
	t.Parallel()
	seen := make(map[string]consumer.Key)
	for _, kind := range []string{"", "a", "a:b", "a%3Ab", "a#b", "a%b", "a%25b", "a%23b", "id", "key:x"} {
		for _, value := range []string{"a", "b:c", "%3A", "#"} {
			given := consumer.Key{Kind: kind, Value: value}
			o, key := keyed(t, func(*consumer.Message) (consumer.Key, error) { return given, nil }, consumer.Message{})
			want(t, "verdict", o.Verdict, consumer.VerdictDone)
			if other, twice := seen[key]; twice || key == "" {
				t.Errorf("%+v and %+v have the key %q", given, other, key)
			}
			seen[key] = given
		}
	}
}

// Somebody's order has the number that is another message's id.
func TestKey_FallbackNeverEqualsABusinessKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, j := newScripted(), newJournal()
		cfg := journaled(guarded(t, steady(1), st), j)
		cfg.Key, cfg.Concurrency = consumer.JSONField("id"), 1
		ds := deliveries("a", "b")
		ds[0].Body, ds[1].Body = `{}`, `{"id":"a"}`
		outs := newConsumer(t, cfg, script{}).Process(t.Context(), newSource(t), ds)
		wantOutcomes(t, outs, "a=done", "b=done")
		want(t, "runs", len(j.starts()), 2)
		want(t, "records", st.mem.Len(), 2)
	})
}

// What is wrong with a key is wrong with the message, and with that one alone:
// it is rejected, and the store is not asked.
func TestKey_ErrorsRejectTheMessage(t *testing.T) {
	t.Parallel()
	strict := func(m *consumer.Message) (consumer.Key, error) { return consumer.Key{}, nil }
	var none consumer.KeyFunc
	for name, tt := range map[string]struct {
		f    consumer.KeyFunc
		is   error
		text string
	}{
		"error":       {func(*consumer.Message) (consumer.Key, error) { return consumer.Key{Value: "v"}, errTest }, errTest, "declined"},
		"after":       {func(*consumer.Message) (consumer.Key, error) { return consumer.Key{}, retry.After(1, errTest) }, errTest, "declined"},
		"panic":       {func(*consumer.Message) (consumer.Key, error) { panic("boom") }, nil, "Key panicked: boom"},
		"strict":      {consumer.Strict(strict), consumer.ErrNoKey, "no key"},
		"strict, nil": {consumer.Strict(none), nil, "Key panicked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newScripted()
			cfg := guarded(t, steady(3), st)
			cfg.Key = func(m *consumer.Message) (consumer.Key, error) {
				if m.ID == "b" {
					return consumer.MessageID(m)
				}
				return tt.f(m)
			}
			outs := newConsumer(t, cfg, script{"a": func(context.Context) error { t.Error("a was run"); return nil }}).
				Process(t.Context(), newSource(t), deliveries("a", "b"))
			wantOutcomes(t, outs, "a=rejected+4s", "b=done")
			if !retry.IsPermanent(outs[0].Err) || tt.is != nil && !errors.Is(outs[0].Err, tt.is) || !strings.Contains(outs[0].Err.Error(), tt.text) {
				t.Errorf("error is %v", outs[0].Err)
			}
			want(t, "asked", st.asked(), []string{"claim b", "complete b"})
		})
	}
}

func TestKey_LongOrNotUTF8(t *testing.T) {
	t.Parallel()
	for _, value := range []string{strings.Repeat("k", 3000), strings.Repeat("é", 1000), "\xff\xfe", "a\x00b"} {
		st, runs := newScripted(), 0
		cfg := guarded(t, steady(1), st)
		cfg.Key = func(*consumer.Message) (consumer.Key, error) { return consumer.Key{Value: value}, nil }
		h := consumer.HandlerFunc(func(context.Context, *consumer.Message) error { runs++; return nil })
		want(t, "first", short(outcome(t, cfg, h, delivery("a", 1))), "a=done")
		want(t, "second", short(outcome(t, cfg, h, delivery("b", 1))), "b=duplicate")
		want(t, "runs, records", []int{runs, st.mem.Len()}, []int{1, 1})
	}
}

// Nobody but the guard uses them.
func TestNew_RefusesKeyAndMaxAttemptsWithoutAStore(t *testing.T) {
	t.Parallel()
	for text, set := range map[string]func(*consumer.Config){
		"Key is set without Idempotency": func(c *consumer.Config) { c.Key = consumer.MessageID },
		"Redelivery.MaxAttempts is 3":    func(c *consumer.Config) { c.Redelivery.MaxAttempts = 3 },
	} {
		cfg := steady(1)
		set(&cfg)
		c, err := consumer.New(script{}, cfg)
		if c != nil || err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "set Idempotency") {
			t.Errorf("New = %v, %v; want an error with %q", c, err, text)
		}
		if c, err = consumer.New(script{}, guarded(t, cfg, newScripted())); c == nil || err != nil {
			t.Errorf("with a store: %v", err)
		}
	}
}
