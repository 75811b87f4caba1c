package lambdasqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

func fixture(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// fixtureID is the id of the nth record of most fixtures.
func fixtureID(n int) string { return fmt.Sprintf("%08d-1c2d-4e3f-8a9b-0a1b2c3d4e5f", n) }

func TestCase_EV02_MalformedBodyAmongGoodOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records := invented(standardARN, "v", "w", "x", "y", "z")
		for i, body := range []string{`{"id":7}`, `{"a":`, ``, `null`, `eyJvcmRlciI6MX0=`} {
			records[i].Body = body
		}
		var got []int
		h := consumer.JSON(func(_ context.Context, v struct{ ID int }, _ *consumer.Message) error {
			got = append(got, v.ID)
			return nil
		})
		begin, cfg := time.Now(), steady(3)
		cfg.Observe = func(e consumer.Event) {
			if o := e.Outcome; e.Kind == consumer.EventOutcome && o.Err != nil && (o.Verdict != consumer.VerdictRejected || o.Tries != 1) {
				t.Errorf("%s: %v after %d tries", o.Delivery.ID, o.Verdict, o.Tries)
			}
		}
		failed := invoke(t, newAdapter(t, h, cfg, lambdasqs.Config{}), time.Minute, eventOf(t, records...))
		want(t, "failed", failed, []string{"id-w", "id-x", "id-y", "id-z"})
		want(t, "decoded", got, []int{7})
		want(t, "time", time.Since(begin), 0)
	})
}

func TestCase_EV05_BinaryAttributesAreDecodedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []map[string]consumer.Attribute
		h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
			got = append(got, m.Attributes)
			return nil
		})
		records := invented(standardARN, "a")
		records[0].MessageAttributes = map[string]attribute{
			"digest": {BinaryValue: new("MTEwMA=="), DataType: "Binary", StringListValues: []string{}},
			"tenant": {StringValue: new("acme"), DataType: "String"},
		}
		want(t, "failed", invoke(t, newAdapter(t, h, steady(1), lambdasqs.Config{}), time.Minute, eventOf(t, records...)), nil)
		want(t, "attributes", got, []map[string]consumer.Attribute{{
			"digest": {DataType: "Binary", BinaryValue: []byte("1100")},
			"tenant": {DataType: "String", StringValue: "acme"},
		}})
	})
}

func TestCase_EV06_OneUndecodableRecordCostsOneRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen ran
		var l log
		cfg := steady(1)
		cfg.Middleware, cfg.Logger = []consumer.Middleware{seen.wrap}, l.logger()
		a := newAdapter(t, byBody{}, cfg, lambdasqs.Config{})
		want(t, "failed", invoke(t, a, time.Minute, fixture(t, "invalid-base64")), []string{fixtureID(1)})
		want(t, "ran", seen.sorted(), []string{"good one"})
		want(t, "lines in the log", len(l.lines("undecodable record")), 1)
		// Nine records, of which all but the last have something of a wrong type.
		want(t, "failed", len(invoke(t, a, time.Minute, fixture(t, "mistyped"))), 8)
	})
}

func TestCase_EV07_MissingSystemAttributes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		receives := map[int]int{}
		h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
			mu.Lock()
			defer mu.Unlock()
			n, _ := m.Attempt()
			receives[n]++
			return errTest
		})
		a := newAdapter(t, h, steady(1), lambdasqs.Config{})
		want(t, "failed", len(invoke(t, a, time.Minute, fixture(t, "missing-attributes"))), 7)
		want(t, "attempts", receives, map[int]int{1: 7})
	})
}

func TestCase_EV10_BodyIsKeptByteForByte(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, cfg := newRig(t, "orders", sqstest.QueueConfig{}), steady(1)
		sink := r.create("sink", sqstest.QueueConfig{})
		cfg.DeadLetter = dlq.New(r.server.Client(), sink.URL())
		long := strings.Repeat("0123456789abcdef", 1<<16)
		sent := map[string]bool{
			"🦀 é": true, "<a href=\"?x=1&y=2\">": true, "line\u2028separator\u2029": true, "\ttab\r\n  ": true,
			"{\"a\" : 1.0}  ": true, long: true,
		}
		for body := range sent {
			if _, err := r.queue.SendMessage(sqstest.Message{Body: body, Attributes: map[string]types.MessageAttributeValue{}}); err != nil {
				t.Fatal(err)
			}
		}
		var seen ran
		h := consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error { return permanent(ctx) })
		cfg.Middleware = []consumer.Middleware{seen.wrap}
		want(t, "failed", invoke(t, newAdapter(t, h, cfg, lambdasqs.Config{}), time.Minute, eventOf(t, r.receive(len(sent))...)), nil)
		for _, body := range seen.sorted() {
			if !sent[body] {
				t.Errorf("the handler was given %.40q", body)
			}
		}
		want(t, "copies", sink.Len(), len(sent))
		for _, m := range sink.Messages() {
			if !sent[m.Body] {
				t.Errorf("the copy has body %.40q", m.Body)
			}
			delete(sent, m.Body)
		}
	})
}

func TestCase_EV11_EmptyBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders", sqstest.QueueConfig{})
		a := newAdapter(t, byBody{}, steady(1), lambdasqs.Config{SQS: r.server.Client(), ExtendVisibility: true, FailWhole: true})
		for _, event := range []string{`{"Records":[]}`, `{"Records":null}`} {
			answer, err := a.Invoke(t.Context(), []byte(event))
			if string(answer) != `{"batchItemFailures":[]}` || err != nil {
				t.Errorf("%s: %q, %v", event, answer, err)
			}
		}
		want(t, "calls", r.server.Calls().Total(), 0)
	})
}

func TestCase_EV11_HugeBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most, total := 0, 0, 0
		h := consumer.HandlerFunc(func(context.Context, *consumer.Message) error {
			mu.Lock()
			now++
			total++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			now--
			mu.Unlock()
			return nil
		})
		cfg := steady(1)
		cfg.Concurrency = 8
		names := make([]string, 10_000)
		for i := range names {
			names[i] = fmt.Sprint(i)
		}
		begin := time.Now()
		want(t, "failed", invoke(t, newAdapter(t, h, cfg, lambdasqs.Config{}), time.Minute, eventOf(t, invented(standardARN, names...)...)), nil)
		want(t, "handlers at once", most, 8)
		want(t, "messages", total, 10_000)
		want(t, "time", time.Since(begin), 1250*time.Millisecond)
	})
}

func TestCase_EV12_FieldNameCase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAdapter(t, byBody{"a": fails}, steady(1), lambdasqs.Config{})
		answer, err := a.Invoke(t.Context(), eventOf(t, invented(standardARN, "a", "b")...))
		if string(answer) != `{"batchItemFailures":[{"itemIdentifier":"id-a"}]}` || err != nil {
			t.Errorf("%q, %v", answer, err)
		}
		// A message as the SDK spells it is no record of an event.
		answer, err = a.Invoke(t.Context(), []byte(`{"Records":[{"MessageId":"m","ReceiptHandle":"h","Body":"a"}]}`))
		if answer != nil || !errors.Is(err, lambdasqs.ErrNotSQS) {
			t.Errorf("%q, %v", answer, err)
		}
	})
}

// Whatever cannot be answered with ids is an error, before any handler runs.
func TestForeignEvents(t *testing.T) {
	t.Parallel()
	var seen ran
	cfg := steady(1)
	cfg.Middleware = []consumer.Middleware{seen.wrap}
	a := newAdapter(t, byBody{}, cfg, lambdasqs.Config{})
	good, err := json.Marshal(invented(standardARN, "a")[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, payload := range map[string]string{
		"API Gateway": string(fixture(t, "foreign-api-gateway")), "Kinesis": string(fixture(t, "foreign-kinesis")),
		"S3": string(fixture(t, "foreign-s3")), "SNS": string(fixture(t, "foreign-sns")),
		"empty": ``, "null": `null`, "no JSON": `{"Records":[`, "no object": `[]`, "no records": `{}`,
		"record without id": `{"Records":[` + string(good) + `,{"body":"x","eventSource":"aws:sqs"}]}`,
		"null record":       `{"Records":[` + string(good) + `,null]}`,
		"other service":     `{"Records":[` + string(good) + `,{"messageId":"m","body":"x","eventSource":"aws:sns"}]}`,
	} {
		answer, err := a.Invoke(t.Context(), []byte(payload))
		if answer != nil || err == nil || !strings.HasPrefix(err.Error(), "lambdasqs: ") {
			t.Errorf("%s: %q, %v", name, answer, err)
		}
	}
	want(t, "ran", seen.sorted(), nil)
}

// The order of ids is that of the event, and each is there once.
func TestAnswer_DuplicateIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen ran
		cfg := steady(1)
		cfg.Middleware = []consumer.Middleware{seen.wrap}
		a := newAdapter(t, byBody{"b": fails, "c": fails}, cfg, lambdasqs.Config{})
		records := invented(standardARN, "c", "a", "b", "c", "a", "b")
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, records...)), []string{"id-c", "id-b"})
		want(t, "ran", seen.sorted(), []string{"a", "b", "c"})
	})
}

// An id that needs escapes in JSON comes back as it was.
func TestAnswer_OddIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records := invented(standardARN, "a", "b", "c")
		ids := []string{"\"\\\n", "<&>\u2028", "🦀"}
		for i := range records {
			records[i].MessageID = ids[i]
		}
		a := newAdapter(t, byBody{"a": fails, "b": fails, "c": fails}, steady(1), lambdasqs.Config{})
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, records...)), ids)
	})
}
