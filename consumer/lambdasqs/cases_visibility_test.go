package lambdasqs_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/retry"
)

// What reaches SQS is a whole number of seconds, 1 to 43200, for any backoff and
// any receive count; 0 only if the handler asked for it.
func TestCase_VT02_OverflowAndRounding(t *testing.T) {
	t.Parallel()
	for _, base := range []time.Duration{300 * time.Millisecond, time.Second, 30 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			r, cfg := newRig(t, "orders", sqstest.QueueConfig{}), steady(1)
			cfg.Redelivery.Backoff = retry.Exponential(base, math.MaxInt64)
			h := byBody{"now": func(context.Context) error { return retry.After(0, errTest) }}
			counts := []int{1, 2, 31, 32, 63, 64, 65, 1_000_000}
			names := []string{"now"}
			for _, n := range counts {
				names = append(names, fmt.Sprint(n))
				h[fmt.Sprint(n)] = fails
			}
			r.send(names...)
			records := r.receive(len(names))
			for i := range records {
				if records[i].Body != "now" {
					records[i].Attributes["ApproximateReceiveCount"] = records[i].Body
				}
			}
			invoke(t, newAdapter(t, h, cfg, lambdasqs.Config{SQS: r.server.Client()}), time.Minute, eventOf(t, records...))
			seconds, _ := r.changes(records)
			want(t, "visibility of a message that asked for it", seconds["now"], 0)
			last := 0
			for _, n := range counts {
				s := seconds[strconv.Itoa(n)]
				if s < 1 || s > 43200 || s < last {
					t.Errorf("base %v, receive %d: %d seconds after %d", base, n, s, last)
				}
				last = s
			}
			want(t, "first", seconds["1"], int(max(base, time.Second)/time.Second))
			for _, c := range r.server.Log() {
				for _, e := range c.Entries {
					want(t, "error of SQS", e.Code, "")
				}
			}
		})
	}
}

// Two of ten entries fail, one of them without a text.
func TestCase_VT07_BatchCallHalfFails(t *testing.T) {
	t.Parallel()
	for _, sender := range []bool{false, true} {
		t.Run(fmt.Sprintf("SenderFault=%t", sender), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var l log
				r, cfg, h := newRig(t, "orders", sqstest.QueueConfig{}), steady(1), byBody{}
				cfg.Logger = l.logger()
				names := make([]string, 10)
				for i := range names {
					names[i] = fmt.Sprint(i)
					h[names[i]] = fails
				}
				r.server.Inject(sqstest.Fault{Action: "ChangeMessageVisibilityBatch", Entries: []sqstest.EntryFault{
					{Index: 3, Code: "InternalError", SenderFault: sender},
					{Index: 7, Code: "InternalError", SenderFault: sender, Message: new("try later")},
				}})
				r.send(names...)
				records := r.receive(10)
				failed := invoke(t, newAdapter(t, h, cfg, lambdasqs.Config{SQS: r.server.Client()}), time.Minute, eventOf(t, records...))
				want(t, "failed", len(failed), 10)
				var sizes []int
				for _, c := range r.server.Log() {
					if c.Action == "ChangeMessageVisibilityBatch" {
						sizes = append(sizes, len(c.Entries))
					}
				}
				if sender {
					want(t, "entries of the calls", sizes, []int{10})
					want(t, "lines in the log", len(l.lines("InternalError")), 1)
				} else {
					want(t, "entries of the calls", sizes, []int{10, 2})
					want(t, "lines in the log", len(l.lines("InternalError")), 0)
				}
			})
		})
	}
}

// Five failures of one message, by the default backoff: the gaps grow, and none
// is nothing.
func TestCase_VT09_DefaultBackoffGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, cfg := newRig(t, "orders", sqstest.QueueConfig{}), steady(1)
		cfg.Redelivery.Backoff = nil
		a := newAdapter(t, byBody{"a": fails}, cfg, lambdasqs.Config{SQS: r.server.Client()})
		r.send("a")
		last := time.Duration(0)
		for n := range 5 {
			begin := time.Now()
			records := r.receive(1)
			gap := time.Since(begin)
			if n > 0 && (gap <= last || gap < 5*time.Second) {
				t.Errorf("gap %d is %v, after %v", n, gap, last)
			}
			last = gap
			invoke(t, a, time.Minute, eventOf(t, records...))
		}
	})
}

func TestCase_VT09_TheHandlerDecides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders", sqstest.QueueConfig{Visibility: 7 * time.Minute})
		h := byBody{
			"exact": func(context.Context) error { return retry.After(90*time.Second, errTest) },
			"leave": func(context.Context) error { return retry.After(-1, errTest) },
		}
		r.send("exact", "leave")
		records := r.receive(2)
		failed := invoke(t, newAdapter(t, h, steady(3), lambdasqs.Config{SQS: r.server.Client()}), time.Minute, eventOf(t, records...))
		want(t, "failed", len(failed), 2)
		seconds, _ := r.changes(records)
		want(t, "seconds", seconds, map[string]int{"exact": 90})
	})
}

// The event that sam local generates has a receipt handle that is none.
func TestCase_VT11_SampleHandleIsNoRealHandle(t *testing.T) {
	t.Parallel()
	for _, extend := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var l log
			sample, err := os.ReadFile("testdata/sam-generated.json")
			if err != nil {
				t.Fatal(err)
			}
			s := sqstest.NewServer(sqstest.Config{Region: "eu-central-1", Account: "111122223333"})
			defer s.Close()
			if _, err := s.CreateQueue("orders", sqstest.QueueConfig{}); err != nil {
				t.Fatal(err)
			}
			cfg := steady(1)
			cfg.Logger = l.logger()
			a := newAdapter(t, byBody{"a sample order": fails}, cfg, lambdasqs.Config{SQS: s.Client(), ExtendVisibility: extend})
			want(t, "failed", invoke(t, a, time.Minute, sample), []string{"6b1f0c52-0d3e-4a6b-9c88-5f1e2d3c4b5a"})
			calls := map[bool]int{false: 1, true: 2}[extend]
			want(t, "calls", s.Calls(), sqstest.Calls{"ChangeMessageVisibilityBatch": calls})
			want(t, "warnings", len(l.lines("ReceiptHandleIsInvalid")), calls)
		})
	}
}

// Two records that share one handle are still two messages.
func TestCase_VT11_SharedHandle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders", sqstest.QueueConfig{})
		r.send("a", "b")
		records := r.receive(2)
		records[1].ReceiptHandle = records[0].ReceiptHandle
		a := newAdapter(t, byBody{"a": fails, "b": fails}, steady(1), lambdasqs.Config{SQS: r.server.Client()})
		want(t, "failed", bodies(records, invoke(t, a, time.Minute, eventOf(t, records...))), []string{"a", "b"})
		_, calls := r.changes(records)
		want(t, "calls", calls, 1)
	})
}

// ExtendVisibility is one round, before any handler, to 30 s past the timeout.
func TestExtendVisibility_OneRoundBeforeAnyHandler(t *testing.T) {
	t.Parallel()
	for n, calls := range map[int]int{1: 1, 10: 1, 11: 2, 95: 10} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, "orders", sqstest.QueueConfig{Visibility: time.Minute})
			h := consumer.HandlerFunc(func(context.Context, *consumer.Message) error {
				want(t, "calls before the handler", r.server.Calls()["ChangeMessageVisibilityBatch"], calls)
				return nil
			})
			for i := range n {
				r.send(fmt.Sprint(i))
			}
			r.server.Inject(sqstest.Fault{Action: "ChangeMessageVisibilityBatch", Times: -1, Delay: time.Second})
			records := r.receive(n)
			a := newAdapter(t, h, steady(1), lambdasqs.Config{SQS: r.server.Client(), ExtendVisibility: true})
			want(t, "failed", invoke(t, a, time.Minute, eventOf(t, records...)), nil)
			seconds, total := r.changes(records)
			want(t, "calls in all", total, calls)
			want(t, "messages", len(seconds), n)
			for body, s := range seconds {
				want(t, body, s, 90)
			}
		})
	}
}

// SQS that hangs costs a quarter of the time at the most.
func TestExtendVisibility_IsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders", sqstest.QueueConfig{Visibility: time.Minute})
		r.send("a")
		records := r.receive(1)
		r.server.Inject(sqstest.Fault{Action: "ChangeMessageVisibilityBatch", Times: -1, Delay: time.Hour})
		begin, began := time.Now(), time.Duration(0)
		h := byBody{"a": func(context.Context) error { began = time.Since(begin); return nil }}
		a := newAdapter(t, h, steady(1), lambdasqs.Config{SQS: r.server.Client(), ExtendVisibility: true})
		want(t, "failed", invoke(t, a, 12*time.Second, eventOf(t, records...)), nil)
		want(t, "begin of the handler", began, 3*time.Second)
	})
}

func TestExtendVisibility_WithoutADeadlineIsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders", sqstest.QueueConfig{})
		r.send("a")
		a := newAdapter(t, byBody{}, steady(1), lambdasqs.Config{SQS: r.server.Client(), ExtendVisibility: true})
		if _, err := a.Invoke(context.Background(), eventOf(t, r.receive(1)...)); err != nil {
			t.Error(err)
		}
		want(t, "calls", r.server.Calls().Total(), 0)
	})
}
