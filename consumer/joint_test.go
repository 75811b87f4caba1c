package consumer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// Every delivery has an outcome of its own, also one that joined another; the
// handler was called for the first of them alone.
func TestJoin_EachDeliveryIsToldOfOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []consumer.Outcome
		cfg := steady(1)
		cfg.Observe = func(e consumer.Event) {
			if e.Kind == consumer.EventOutcome {
				told = append(told, e.Outcome)
			}
		}
		first, second := delivery("a", 1), delivery("a", 2)
		c := newConsumer(t, cfg, script{"a": func(context.Context) error { time.Sleep(time.Second); return nil }})
		outs := c.Process(t.Context(), newSource(t), []*consumer.Delivery{first, second})
		for name, list := range map[string][]consumer.Outcome{"told": told, "returned": outs} {
			if len(list) != 2 || list[0].Delivery != first || list[1].Delivery != second {
				t.Fatalf("%s: %+v", name, list)
			}
			want(t, name+": tries", []int{list[0].Tries, list[1].Tries}, []int{1, 0})
			want(t, name+": attempts", []int{list[0].Attempt, list[1].Attempt}, []int{1, 0})
		}
	})
}
