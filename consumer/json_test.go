package consumer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ackwise/ackwise/consumer"
)

type order struct {
	ID    int               `json:"id"`
	Lines []struct{ N int } `json:"lines"`
	Tags  map[string]int    `json:"tags"`
	Inner struct {
		Deep picky `json:"deep"`
	} `json:"inner"`
}

// picky takes the text ok, and quotes anything else in its error.
type picky string

func (p *picky) UnmarshalText(b []byte) error {
	if string(b) != "ok" {
		return errors.New("not ok: " + string(b))
	}
	*p = "ok"
	return nil
}

// decode runs a body through JSON and returns the outcome.
func decode(t *testing.T, body string) (o consumer.Outcome, got *order) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := consumer.JSON(func(_ context.Context, v order, m *consumer.Message) error {
			want(t, "body of the message", m.Body, body)
			got = &v
			return nil
		})
		d := delivery("a", 1)
		d.Body = body
		o = newConsumer(t, steady(3), h).Process(t.Context(), newSource(t), []*consumer.Delivery{d})[0]
	})
	return o, got
}

func TestJSON_DecodesTheBody(t *testing.T) {
	t.Parallel()
	for body, id := range map[string]int{
		`{"id":7}`: 7, "\t{ \"id\" : 7 }\n": 7, `{"id":7,"unknown":{"a":[1]}}`: 7, `{}`: 0, `{"inner":{"deep":"ok"}}`: 0,
	} {
		o, got := decode(t, body)
		if o.Verdict != consumer.VerdictDone || got == nil || got.ID != id {
			t.Errorf("%s: %v, %+v", body, short(o), got)
		}
	}
}

func TestJSON_BodyThatDoesNotDecodeIsPermanent(t *testing.T) {
	t.Parallel()
	for body, text := range map[string]string{
		``:                                 "it is not valid JSON",
		`{"id":`:                           "it is not valid JSON (at byte 6)",
		`eyJvcmRlciI6MX0=`:                 "it is not valid JSON (at byte 1)",
		`{"id":7} s3cr3t`:                  "it is not valid JSON (at byte 10)",
		`{"id":"s3cr3t"}`:                  "field id has another type",
		`{"id":7.5}`:                       "field id has another type",
		`"s3cr3t"`:                         "its value does not fit",
		`["s3cr3t"]`:                       "its value does not fit",
		`null`:                             "the body is null",
		" \r\n\tnull ":                     "the body is null",
		`{"lines":[{"N":"s3cr3t"}]}`:       "has another type",
		`{"tags":{"s3cr3t":"s3cr3t"}}`:     "field tags has another type",
		`{"inner":{"deep":"s3cr3t"}}`:      "its value does not fit",
		`{"s3cr3t":` + "\x01" + `}`:        "it is not valid JSON",
		`{"tags":{"s3cr3t":{"s3cr3t":1}}}`: "field tags has another type",
	} {
		o, got := decode(t, body)
		if short(o) != "a=rejected+4s" || o.Tries != 1 || got != nil {
			t.Errorf("%q: %s after %d tries, %+v", body, short(o), o.Tries, got)
		}
		var d *consumer.DecodeError
		if !errors.As(o.Err, &d) || d.Type != "consumer_test.order" {
			t.Fatalf("%q: no DecodeError: %v", body, o.Err)
		}
		msg := o.Err.Error()
		if !strings.HasPrefix(msg, "body does not decode as consumer_test.order: ") || !strings.Contains(msg, text) {
			t.Errorf("%q: error is %q, without %q", body, msg, text)
		}
		if strings.Contains(msg, marker) {
			t.Errorf("%q: the error quotes the body: %q", body, msg)
		}
		if d.Unwrap() == nil {
			t.Errorf("%q: the decoder's own error is lost", body)
		}
	}
}

func TestJSON_TakesAnyType(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var bodies []any
		h := consumer.JSON(func(_ context.Context, v any, _ *consumer.Message) error {
			bodies = append(bodies, v)
			return nil
		})
		d := deliveries("a", "b")
		d[0].Body, d[1].Body = `[1,"x"]`, `null`
		cfg := steady(1)
		cfg.Concurrency = 1
		wantOutcomes(t, newConsumer(t, cfg, h).Process(t.Context(), newSource(t), d), "a=done", "b=rejected+4s")
		want(t, "bodies", bodies, []any{[]any{1.0, "x"}})
	})
}
