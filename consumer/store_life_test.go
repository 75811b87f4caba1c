package consumer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/idempotency"
)

func TestLife_OrdersStays(t *testing.T) {
	t.Parallel()
	at := func(ms int64, dlq string) int64 {
		m := consumer.Message{SentAt: time.UnixMilli(ms)}
		if dlq != "" {
			m.System = map[string]string{"DeadLetterQueueSourceArn": dlq}
		}
		return m.Life()
	}
	want(t, "unknown", (&consumer.Message{}).Life(), 0)
	want(t, "ordinals", []int64{at(1000, ""), at(1000, standardARN), at(1001, ""), at(1001, standardARN)},
		[]int64{2000, 2001, 2002, 2003})
}

// sent makes a delivery of a message that was sent at t.
func sent(id string, n int, t time.Time) *consumer.Delivery {
	d := delivery(id, n)
	d.SentAt = t
	return d
}

// byName takes the message's group as its key: all messages of one letter are
// one work.
func byName(m *consumer.Message) (consumer.Key, error) {
	return consumer.Key{Kind: "name", Value: m.GroupID}, nil
}

// A message that was redriven, or sent again by its producer, has another id and
// a later time.
func TestStore_RedrivenMessageHasTheFullBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		cfg := budgeted(t, st, 2)
		cfg.Key = byName
		h := script{"a1": fails, "a2": fails}
		for i, wanted := range []string{"a1=retry+10s", "a1=rejected+8s", "a1=rejected+16s"} {
			want(t, "first life", short(outcome(t, cfg, h, sent("a1", i+1, st.began))), wanted)
		}
		time.Sleep(time.Hour)
		for i, wanted := range []string{"a2=retry+10s", "a2=rejected+8s", "a2=rejected+16s"} {
			o := outcome(t, cfg, h, sent("a2", i+1, st.began.Add(time.Hour)))
			want(t, "second life", short(o), wanted)
			want(t, "attempt", o.Attempt, []int{1, 2, 0}[i])
		}
	})
}

// What is late of the older life counts on the newer one's budget, and what was
// completed stays completed in every life.
func TestStore_OlderLifeAndCompletedWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		cfg := budgeted(t, st, 3)
		cfg.Key = byName
		later := st.began.Add(time.Minute)
		want(t, "newer", outcome(t, cfg, script{"a2": fails}, sent("a2", 1, later)).Attempt, 1)
		want(t, "older", outcome(t, cfg, script{"a1": fails}, sent("a1", 5, st.began)).Attempt, 2)
		want(t, "of unknown time", short(outcome(t, cfg, script{}, delivery("a3", 1))), "a3=done")
		want(t, "newest", short(outcome(t, cfg, never(t), sent("a4", 1, later.Add(time.Hour)))), "a4=duplicate")
	})
}

// A move to the dead-letter queue by SQS keeps id and time of sending. There
// the message has another namespace; with one namespace for both queues it has a
// life of its own, which says where it comes from.
func TestStore_MoveToTheDeadLetterQueueIsALifeOfItsOwn(t *testing.T) {
	t.Parallel()
	const dlqARN = standardARN + "-dlq"
	for name, namespace := range map[string]string{"by queue": "", "shared": "orders"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := newScripted()
				cfg := guardedBy(t, steady(1), st, idempotency.Config{Namespace: namespace})
				cfg.Redelivery.MaxAttempts = 1
				want(t, "main queue", short(outcome(t, cfg, script{"a": fails}, sent("a", 5, st.began))), "a=rejected+1m4s")
				src, d := newSource(t), sent("a", 6, st.began)
				src.queue.ARN = dlqARN
				d.System = map[string]string{"DeadLetterQueueSourceArn": standardARN}
				var n, most int
				h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error { n, most = m.Attempt(); return errTest })
				outs := newConsumer(t, cfg, h).Process(t.Context(), src, []*consumer.Delivery{d})
				wantOutcomes(t, outs, "a=rejected+2m8s")
				wantErr(t, outs[0].Err, consumer.ErrAttempts)
				want(t, "attempt", []int{n, most}, []int{1, 1})
				want(t, "records", st.mem.Len(), map[string]int{"by queue": 2, "shared": 1}[name])
				// In the main queue nothing has changed, unless they are the same work.
				want(t, "main queue again", short(outcome(t, cfg, never(t), sent("a", 7, st.began))), "a=rejected+4m16s")
			})
		})
	}
}

// A consumer on the dead-letter queue that does the work must not make the main
// queue's message look done.
func TestStore_DoneOnTheDeadLetterQueueIsNotDoneOnTheMainQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		cfg := guarded(t, steady(1), st)
		src := newSource(t)
		src.queue.ARN = standardARN + "-dlq"
		wantOutcomes(t, newConsumer(t, cfg, script{}).Process(t.Context(), src, deliveries("a")), "a=done")
		j := newJournal()
		want(t, "main queue", short(outcome(t, journaled(cfg, j), script{}, delivery("a", 2))), "a=done")
		want(t, "runs", j.starts(), []string{"a@0s"})
	})
}

// parkedCopy is a message as package dlq parks it, redriven to its queue.
func parkedCopy(id, original string, at time.Time) *consumer.Delivery {
	d := sent(id, 1, at)
	d.Attributes = map[string]consumer.Attribute{
		consumer.ParkedAttribute: {DataType: "String", StringValue: `{"queue":"` + standardARN + `","id":"` + original + `","attempts":2}`},
	}
	return d
}

func TestStore_ParkedCopyIsTheWorkOfItsOriginal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := newScripted()
		cfg := budgeted(t, st, 1)
		want(t, "original", short(outcome(t, cfg, script{"a": fails}, sent("a", 1, st.began))), "a=rejected+4s")
		later := st.began.Add(time.Hour)
		time.Sleep(time.Hour)
		o := outcome(t, cfg, script{}, parkedCopy("copy", "a", later))
		want(t, "copy", short(o), "copy=done")
		want(t, "attempt", o.Attempt, 1)
		st.wantRecord(t, "a", state{"completed", 1, ""})
		want(t, "second copy", short(outcome(t, cfg, never(t), parkedCopy("twin", "a", later))), "twin=duplicate")
		want(t, "original", short(outcome(t, cfg, never(t), sent("a", 2, st.began))), "a=duplicate")
		want(t, "records", st.mem.Len(), 1)
	})
}

// Anyone can send such an attribute: what is no message id is not taken for one.
func TestStore_ForgedOriginalIsIgnored(t *testing.T) {
	t.Parallel()
	for _, original := range []string{"", "a b", "a#b", `a\"`, "é"} {
		m := parkedCopy("copy", original, time.Time{}).Message
		want(t, "original id of "+original, m.OriginalID(), "copy")
	}
	m := parkedCopy("copy", "x", time.Time{}).Message
	m.Attributes[consumer.ParkedAttribute] = consumer.Attribute{DataType: "String", StringValue: `{"id":7}`}
	want(t, "original id that is a number", m.OriginalID(), "copy")
}
