package lambdasqs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/retry"
)

// wire is an HTTP client that notes where calls go before it passes them on.
type wire struct {
	next http.RoundTripper

	mu    sync.Mutex
	calls []string // action host [signing region] queue
}

func newWire(s *sqstest.Server) *wire { return &wire{next: s.HTTPClient().Transport} }

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var in struct{ QueueUrl, QueueName, QueueOwnerAWSAccountId string } //nolint:revive,staticcheck // AWS's spelling
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	region := strings.Split(r.Header.Get("Authorization"), "/")[2]
	w.mu.Lock()
	w.calls = append(w.calls, strings.Join(strings.Fields(fmt.Sprintf("%s %s [%s] %s %s %s",
		action, r.URL.Host, region, in.QueueUrl, in.QueueOwnerAWSAccountId, in.QueueName)), " "))
	w.mu.Unlock()
	return w.next.RoundTrip(r)
}

func (w *wire) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.calls...)
}

// client is an SQS client of region us-east-1 on the wire.
func (w *wire) client(s *sqstest.Server, optFns ...func(*sqs.Options)) *sqs.Client {
	return s.Client(append([]func(*sqs.Options){func(o *sqs.Options) { o.HTTPClient, o.Region = w, "us-east-1" }}, optFns...)...)
}

func TestCase_QU02_AccountAndRegionOfTheARNWin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sqstest.NewServer(sqstest.Config{Region: "us-east-2", Account: "444455556666"})
		defer s.Close()
		w := newWire(s)
		a := newAdapter(t, byBody{"a": fails}, steady(1), lambdasqs.Config{SQS: w.client(s)})
		records := invented("arn:aws:sqs:us-east-2:444455556666:orders", "a") // awsRegion says us-east-1
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, records...)), []string{"id-a"})
		want(t, "calls", w.seen(), []string{
			"ChangeMessageVisibilityBatch sqs.us-east-2.amazonaws.com [us-east-2] https://sqs.us-east-2.amazonaws.com/444455556666/orders",
		})
	})
}

func TestCase_QU02_DirtyARN(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l log
		r, cfg := newRig(t, "orders", sqstest.QueueConfig{}), steady(1)
		cfg.Logger = l.logger()
		h := consumer.HandlerFunc(func(context.Context, *consumer.Message) error { return errTest })
		a := newAdapter(t, h, cfg, lambdasqs.Config{SQS: r.server.Client(), ExtendVisibility: true})
		for range 3 {
			want(t, "failed", len(invoke(t, a, time.Minute, fixture(t, "stray-space"))), 2)
			want(t, "failed", len(invoke(t, a, time.Minute, []byte(`{"Records":[{"messageId":"m","body":"x"}]}`))), 1)
		}
		want(t, "calls", r.server.Calls().Total(), 0)
		want(t, "warnings", len(l.lines("Config.QueueURL")), 2) // one for each queue
	})
}

// For a partition that the SDK does not know, SQS is asked once.
func TestCase_QU02_UnknownPartitionAsksOnce(t *testing.T) {
	t.Parallel()
	for _, extend := range []bool{false, true} {
		t.Run(fmt.Sprintf("ExtendVisibility=%t", extend), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { asksOnce(t, extend) })
		})
	}
}

func asksOnce(t *testing.T, extend bool) {
	t.Helper()
	s := sqstest.NewServer(sqstest.Config{Region: "moon-1", Account: "444455556666"})
	defer s.Close()
	q, err := s.CreateQueue("orders", sqstest.QueueConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s.Inject(sqstest.Fault{Times: -1, Delay: 100 * time.Millisecond})
	w, h, names := newWire(s), byBody{}, []string(nil)
	for i := range 35 {
		names = append(names, fmt.Sprint(i))
		h[names[i]] = fails
	}
	a := newAdapter(t, h, steady(1), lambdasqs.Config{SQS: w.client(s), ExtendVisibility: extend})
	for range 2 {
		event := eventOf(t, invented("arn:aws-moon:sqs:moon-1:444455556666:orders", names...)...)
		want(t, "failed", len(invoke(t, a, time.Minute, event)), 35)
	}
	calls := map[string]int{}
	for _, c := range w.seen() {
		calls[strings.Fields(c)[0]+" "+strings.Join(strings.Fields(c)[2:], " ")]++
	}
	want(t, "calls", calls, map[string]int{
		"GetQueueUrl [moon-1] 444455556666 orders":         1,
		"ChangeMessageVisibilityBatch [moon-1] " + q.URL(): map[bool]int{false: 8, true: 16}[extend], // four each
	})
}

func TestCase_QU02_DeniedGivesOneWarning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l log
		r, cfg := newRig(t, "orders", sqstest.QueueConfig{}), steady(1)
		cfg.Logger = l.logger()
		r.server.Inject(sqstest.Fault{Action: "GetQueueUrl", Times: -1, Err: sqstest.AccessDenied()})
		a := newAdapter(t, byBody{"a": fails}, cfg, lambdasqs.Config{SQS: r.server.Client(), ExtendVisibility: true})
		for range 3 {
			event := eventOf(t, invented("arn:aws-moon:sqs:moon-1:444455556666:orders", "a")...)
			want(t, "failed", invoke(t, a, time.Minute, event), []string{"id-a"})
		}
		want(t, "calls", r.server.Calls(), sqstest.Calls{"GetQueueUrl": 1})
		want(t, "warnings", len(l.lines("Config.QueueURL")), 1)
	})
}

// What may pass is asked again in the next invocation.
func TestCase_QU02_AFailureThatPassesIsAskedAgain(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sqstest.Fault{
		"server": {Err: sqstest.InternalError()}, "network": {LoseResponse: true}, "hangs": {Delay: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := sqstest.NewServer(sqstest.Config{Region: "moon-1"})
				defer s.Close()
				q, err := s.CreateQueue("orders", sqstest.QueueConfig{})
				if err != nil {
					t.Fatal(err)
				}
				fault.Action, fault.Times = "GetQueueUrl", -1
				pass := s.Inject(fault)
				a := newAdapter(t, byBody{"a": fails}, steady(1), lambdasqs.Config{SQS: s.Client()})
				event := eventOf(t, invented("arn:aws-moon:sqs:moon-1:000000000000:orders", "a")...)
				want(t, "failed", invoke(t, a, time.Minute, event), []string{"id-a"})
				want(t, "changes", s.Calls()["ChangeMessageVisibilityBatch"], 0)
				pass()
				want(t, "failed", invoke(t, a, time.Minute, event), []string{"id-a"})
				want(t, "changes of "+q.Name(), s.Calls()["ChangeMessageVisibilityBatch"], 1)
			})
		})
	}
}

func TestCase_QU03_LocalEndpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders", sqstest.QueueConfig{})
		records := invented("arn:aws:sqs:eu-west-1:000000000000:orders", "a")
		h := byBody{"a": fails}
		local := func(o *sqs.Options) { o.BaseEndpoint = new("http://127.0.0.1:4566") }

		w := newWire(r.server)
		a := newAdapter(t, h, steady(1), lambdasqs.Config{SQS: w.client(r.server, local)})
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, records...)), []string{"id-a"})
		want(t, "calls", w.seen(), []string{
			"ChangeMessageVisibilityBatch 127.0.0.1:4566 [us-east-1] http://127.0.0.1:4566/000000000000/orders",
		})

		w = newWire(r.server)
		a = newAdapter(t, h, steady(1), lambdasqs.Config{SQS: w.client(r.server, local), QueueURL: map[string]string{
			records[0].EventSourceARN: "http://queues.local:9324/000000000000/other",
		}})
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, records...)), []string{"id-a"})
		want(t, "calls", w.seen(), []string{
			"ChangeMessageVisibilityBatch 127.0.0.1:4566 [us-east-1] http://queues.local:9324/000000000000/other",
		})
	})
}

// The round of ExtendVisibility has a quarter of the time. If the answer has not
// come by then, the failures ask again.
func TestCase_QU02_AskedAgainWhenTheAskersTimeWasUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sqstest.NewServer(sqstest.Config{Region: "moon-1", Account: "444455556666"})
		defer s.Close()
		if _, err := s.CreateQueue("orders", sqstest.QueueConfig{}); err != nil {
			t.Fatal(err)
		}
		s.Inject(sqstest.Fault{Action: "GetQueueUrl", Delay: time.Hour})
		a := newAdapter(t, byBody{"a": fails}, steady(1), lambdasqs.Config{SQS: s.Client(), ExtendVisibility: true})
		event := eventOf(t, invented("arn:aws-moon:sqs:moon-1:444455556666:orders", "a", "b")...)
		want(t, "failed", invoke(t, a, 10*time.Second, event), []string{"id-a"})
		want(t, "calls", s.Calls(), sqstest.Calls{"GetQueueUrl": 2, "ChangeMessageVisibilityBatch": 1})
	})
}

// An explicit URL works for an ARN of a partition that nobody knows, too.
func TestCase_QU03_ExplicitQueueURL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders", sqstest.QueueConfig{})
		w, arn := newWire(r.server), "arn:aws-moon:sqs:moon-1:444455556666:orders"
		a := newAdapter(t, byBody{"a": fails}, steady(1), lambdasqs.Config{
			SQS: w.client(r.server), QueueURL: map[string]string{arn: "https://sqs.moon/1/orders"},
		})
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, invented(arn, "a")...)), []string{"id-a"})
		if calls := w.seen(); len(calls) != 1 || !strings.HasSuffix(calls[0], "[moon-1] https://sqs.moon/1/orders") {
			t.Errorf("calls: %q", calls)
		}
	})
}

// A warm instance is given one queue, then another, then the first again; and
// both in one event, though no mapping does that.
func TestCase_QU04_OneHandlerTwoQueues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders", sqstest.QueueConfig{})
		fifo := r.create("orders.fifo", sqstest.QueueConfig{})
		var seen ran
		cfg := steady(1)
		cfg.Middleware = []consumer.Middleware{seen.wrap}
		h := byBody{"a1": fails, "b1": func(context.Context) error { return retry.After(time.Minute, errTest) }}
		a := newAdapter(t, h, cfg, lambdasqs.Config{SQS: r.server.Client()})
		r.send("a1", "a2")
		standard := r.receive(2)
		r.queue = fifo
		r.send("b1", "b2")
		ordered := r.receive(2)
		for _, tt := range []struct{ records, failed []string }{
			{[]string{"a1", "a2"}, []string{"a1"}},
			{[]string{"b1", "b2"}, []string{"b1", "b2"}},
			{[]string{"a1", "a2"}, []string{"a1"}},
			{[]string{"b1", "a1", "b2", "a2"}, []string{"b1", "a1", "b2"}},
		} {
			r.server.ResetCalls()
			all := append(append([]record(nil), standard...), ordered...)
			var event []record
			for _, body := range tt.records {
				for _, rec := range all {
					if rec.Body == body {
						event = append(event, rec)
					}
				}
			}
			want(t, "failed", bodies(all, invoke(t, a, time.Minute, eventOf(t, event...))), tt.failed)
			for _, c := range r.server.Log() {
				for _, e := range c.Entries {
					want(t, "error of an entry on "+c.Queue, e.Code, "")
				}
			}
			seconds, _ := r.changes(all)
			delays := map[string]int{"a1": 10, "b1": 60, "b2": 62}
			for _, body := range tt.failed {
				want(t, "visibility of "+body, seconds[body], delays[body])
			}
		}
		want(t, "ran", seen.sorted(), []string{"a1", "a1", "a1", "a2", "a2", "a2", "b1", "b1"})
	})
}
