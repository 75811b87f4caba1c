package consumer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
)

// orderKey is the key of a body such as {"requestId":"req-7","amount":10}.
var orderKey = consumer.JSONField("requestId")

func withBody(id, body string) *consumer.Delivery {
	d := delivery(id, 1)
	d.Body = body
	return d
}

func TestCase_ID08_SameKeyAnotherPayload(t *testing.T) {
	t.Parallel()
	for name, selector := range map[string]idempotency.Selector{"whole": idempotency.Whole, "field": idempotency.Field("amount")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := guardedBy(t, steady(1), newScripted(), idempotency.Config{Payload: selector})
				cfg.Key = orderKey
				want(t, "first", short(outcome(t, cfg, script{}, withBody("a", `{"requestId":"req-7","amount":10}`))), "a=done")
				want(t, "same", short(outcome(t, cfg, never(t), withBody("b", `{ "amount": 10.0, "requestId": "req-7" }`))), "b=duplicate")
				o := outcome(t, cfg, never(t), withBody("c", `{"requestId":"req-7","amount":99}`))
				want(t, "other", short(o), "c=rejected+4s")
				wantErr(t, o.Err, idempotency.ErrMismatch)
				var mismatch *idempotency.MismatchError
				if !errors.As(o.Err, &mismatch) || !strings.HasSuffix(mismatch.Key, "req-7") {
					t.Errorf("error %v does not name the key", o.Err)
				}
			})
		})
	}
}

func TestCase_ID10_NoKeyFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ds := func() []*consumer.Delivery {
			return []*consumer.Delivery{
				withBody("a", `{"n":1}`), withBody("b", `{"n":2}`),
				withBody("c", `{"requestId":""}`), withBody("d", `{"requestId":"d"}`),
			}
		}
		st, j := newScripted(), newJournal()
		cfg := journaled(guarded(t, steady(1), st), j)
		cfg.Key = orderKey
		c := newConsumer(t, cfg, script{})
		wantOutcomes(t, c.Process(t.Context(), newSource(t), ds()), "a=done", "b=done", "c=done", "d=done")
		wantOutcomes(t, c.Process(t.Context(), newSource(t), ds()), "a=duplicate", "b=duplicate", "c=duplicate", "d=duplicate")
		want(t, "runs", len(j.starts()), 4)

		cfg.Key = consumer.Strict(orderKey)
		outs := newConsumer(t, guarded(t, cfg, newScripted()), script{}).Process(t.Context(), newSource(t), ds())
		wantOutcomes(t, outs, "a=rejected+4s", "b=rejected+4s", "c=rejected+4s", "d=done")
		wantErr(t, outs[2].Err, consumer.ErrNoKey)
	})
}

func TestCase_ID11_TwoQueuesOneTable(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		namespace string
		onB       string
	}{
		"by queue":           {"", "b=done"},
		"shared on purpose":  {"orders", "b=duplicate"},
		"own names for both": {"%s", "b=done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := newScripted()
				run := func(id, queue string) string {
					namespace := tt.namespace
					if namespace == "%s" {
						namespace = queue
					}
					cfg := guardedBy(t, steady(1), st, idempotency.Config{Namespace: namespace})
					cfg.Key = orderKey
					src := newSource(t)
					src.queue.ARN = "arn:aws:sqs:eu-central-1:111122223333:" + queue
					return short(newConsumer(t, cfg, script{}).Process(t.Context(), src, []*consumer.Delivery{withBody(id, `{"requestId":"order-1"}`)})[0])
				}
				want(t, "queue A", run("a", "queue-a"), "a=done")
				want(t, "queue B", run("b", "queue-b"), tt.onB)
				want(t, "queue A again", run("c", "queue-a"), "c=duplicate")
			})
		})
	}
}

// A record stays under a kilobyte whatever the body and the error are: it is
// written with its key, as any store would have to.
func TestCase_ID12_RecordDoesNotGrow(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 1<<20)
	for name, ret := range map[string]error{"done": nil, "failed": errors.New(big), "not UTF-8": errors.New(strings.Repeat("é\xff", 1<<18))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := newScripted()
				cfg := guardedBy(t, steady(1), st, idempotency.Config{Payload: idempotency.Whole})
				for _, key := range []string{"k", strings.Repeat("k", 2000)} {
					var full string
					cfg.Key = func(*consumer.Message) (consumer.Key, error) { return consumer.Key{Value: key}, nil }
					h := consumer.HandlerFunc(func(ctx context.Context, _ *consumer.Message) error {
						c, _ := idempotency.FromContext(ctx)
						full = c.Key()
						return ret
					})
					want(t, "verdict", outcome(t, cfg, h, withBody("a", big)).Verdict,
						map[bool]consumer.Verdict{true: consumer.VerdictDone, false: consumer.VerdictRetry}[ret == nil])
					rec, ok := st.mem.Get(full)
					written, err := json.Marshal(rec)
					if size := len(full) + len(written); !ok || err != nil || size > 1000 {
						t.Errorf("key and record take %d bytes (%t, %v)", size, ok, err)
					}
				}
			})
		})
	}
}

// The work is done, and deleting the message failed: the next delivery leaves
// the queue by its own handle, without a run, however often that happens.
func TestCase_ID14_FinishedDuplicateLeavesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		cfg := journaled(guarded(t, steady(1), newScripted()), j)
		for n := 1; n <= 3; n++ {
			src := newSource(t)
			src.ack = func(context.Context, consumer.Outcome) error { return errTest }
			outs := newConsumer(t, cfg, script{}).Process(t.Context(), src, []*consumer.Delivery{delivery("a", n)})
			want(t, "verdict", short(outs[0]), map[bool]string{true: "a=done", false: "a=duplicate"}[n == 1])
			want(t, "receipts", src.receipts(), []string{fmt.Sprintf("a#%d", n)})
		}
		want(t, "runs", j.starts(), []string{"a@0s"})
	})
}

// The handler outlives the visibility of a FIFO message, and the delete says
// that the handle has expired. Nothing ends by that: what waits is deferred, and
// the next delivery is a duplicate.
func TestCase_DU03_ExpiredHandleMustNotKillThePump(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		st, j, src := newScripted(), newJournal(), newFIFO(t)
		src.ack = func(_ context.Context, o consumer.Outcome) error {
			if o.Delivery.ReceiveCount == 1 && o.Delivery.ID == "a1" {
				return errors.New("the receipt handle has expired")
			}
			return nil
		}
		cfg := journaled(guarded(t, steady(1), st), j)
		cfg.Logger = log.logger()
		s := newConsumer(t, cfg, script{}).Open(src, consumer.SessionOptions{})
		submit := func(ds ...*consumer.Delivery) {
			if err := s.Submit(t.Context(), ds...); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * time.Second)
		}
		submit(deliveries("a1", "a2")...)
		if !strings.Contains(log.String(), "may be delivered again") {
			t.Errorf("the expired handle was not logged:\n%s", log.String())
		}
		submit(delivery("a1", 2), delivery("a2", 2))
		submit(deliveries("a3")...)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		var told []string
		for _, o := range src.told() {
			told = append(told, o.Delivery.Receipt+" "+o.Verdict.String())
		}
		want(t, "told", told, []string{"a1#1 done", "a2#1 deferred", "a1#2 duplicate", "a2#2 done", "a3#1 done"})
		want(t, "runs", j.starts(), []string{"a1@0s", "a2@10s", "a3@20s"})
	})
}
