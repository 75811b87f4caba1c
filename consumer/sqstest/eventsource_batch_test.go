package sqstest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

func make25() []string {
	out := make([]string, 25)
	for i := range out {
		out[i] = fmt.Sprint("m", i)
	}
	return out
}

// sizes is a function that records how many records each event had, and when.
type sizes struct {
	n  []int
	at []time.Duration
}

func (z *sizes) handler() sqstest.Handler {
	start := time.Now()
	return handling(func(_ context.Context, e events.SQSEvent) ([]string, error) {
		z.n = append(z.n, len(e.Records))
		z.at = append(z.at, time.Since(start))
		return nil, nil
	})
}

func TestBatchSizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		size     int
		window   time.Duration
		want     []int
		at       []time.Duration
		receives int
	}{
		{"default", 0, 0, []int{10, 10, 5}, []time.Duration{0, 0, 0}, 3},
		{"one by one", 1, 0, slices.Repeat([]int{1}, 25), nil, 25},
		{"four", 4, 0, []int{4, 4, 4, 4, 4, 4, 1}, nil, 7},
		{"larger than what there is", 100, 5 * time.Second, []int{25}, []time.Duration{5 * time.Second}, 4},
		{"full before the window ends", 20, 5 * time.Second, []int{20, 5}, []time.Duration{0, 5 * time.Second}, 4},
		{"no multiple of ten", 15, time.Second, []int{15, 10}, []time.Duration{0, time.Second}, 4},
		{"a long window", 10_000, 300 * time.Second, []int{25}, []time.Duration{300 * time.Second}, 18},
		{"a window with a small batch", 7, time.Second, []int{7, 7, 7, 4}, []time.Duration{0, 0, 0, time.Second}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mappingBubble(t, func(b bubble) {
				t, s := b.t, b.server
				q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: 10 * time.Minute})
				q.Send(make25()...)
				var z sizes
				// One at a time, so that the function needs no lock.
				m := mapTo(t, s, q, sqstest.EventSourceConfig{
					BatchSize: c.size, Window: c.window, Concurrency: 1, Handler: z.handler(),
				})
				m.drain()
				if diff := cmp.Diff(c.want, z.n); diff != "" {
					t.Errorf("batches (-want +got):\n%s", diff)
				}
				if c.at != nil {
					if diff := cmp.Diff(c.at, z.at); diff != "" {
						t.Errorf("invoked at (-want +got):\n%s", diff)
					}
				}
				calls := s.CallsBy(sqstest.EventSourceCaller)
				if calls["ReceiveMessage"] != c.receives {
					t.Errorf("%d receives, want %d", calls["ReceiveMessage"], c.receives)
				}
				if q.Len() != 0 {
					t.Errorf("%d messages left, want none", q.Len())
				}
			})
		})
	}
}

// Messages that arrive while the window is open join the batch; the window
// begins with the first one.
func TestWindowCollects(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: time.Minute})
		for i, delay := range []time.Duration{7 * time.Second, 8 * time.Second, 9 * time.Second, 30 * time.Second} {
			if _, err := q.SendMessage(sqstest.Message{Body: fmt.Sprint(i), Delay: delay}); err != nil {
				t.Fatal(err)
			}
		}
		var z sizes
		m := mapTo(t, s, q, sqstest.EventSourceConfig{Window: 3 * time.Second, Handler: z.handler()})
		m.drain()
		if diff := cmp.Diff([]int{3, 1}, z.n); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]time.Duration{10 * time.Second, 33 * time.Second}, z.at); diff != "" {
			t.Errorf("invoked at (-want +got):\n%s", diff)
		}
	})
}

// Seven messages of 1 MiB: an event holds five.
func TestBatchIsCutAtPayloadLimit(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		body := strings.Repeat("x", 1<<20)
		for range 7 {
			q.Send(body)
		}
		m := mapTo(t, s, q, sqstest.EventSourceConfig{BatchSize: 1000, Window: time.Second, Handler: answering("")})
		m.drain()
		var records []int
		for _, v := range m.invocations() {
			records = append(records, len(v.IDs))
			if len(v.Event) > sqstest.MaxPayload {
				t.Errorf("an event has %d bytes, more than %d", len(v.Event), sqstest.MaxPayload)
			}
		}
		if got := s.CallsBy(sqstest.EventSourceCaller)["ReceiveMessage"]; got != 1 {
			t.Errorf("%d receives, want 1: there is more than an event's worth already", got)
		}
		if diff := cmp.Diff([]int{5, 2}, records); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
	})
}

// A message that is larger than the limit by itself is an event of its own.
func TestPayloadLimitOfOneMessage(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		q.Send("a", "b", "c")
		var z sizes
		m := mapTo(t, s, q, sqstest.EventSourceConfig{PayloadLimit: 1, Handler: z.handler()})
		m.drain()
		if diff := cmp.Diff([]int{1, 1, 1}, z.n); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
	})
}

// Never more batches at once than Concurrency, and no message is received that
// cannot be invoked at once.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		q.Send(make25()...)
		most := 0
		h := handling(func(context.Context, events.SQSEvent) ([]string, error) {
			time.Sleep(10 * time.Second)
			return nil, nil
		})
		m := mapTo(t, s, q, sqstest.EventSourceConfig{BatchSize: 1, Handler: h})
		var sampler sync.WaitGroup
		sampler.Go(func() {
			for range 60 {
				time.Sleep(time.Second)
				most = max(most, q.InFlight())
			}
		})
		m.drain()
		quiet := m.elapsed()
		sampler.Wait()
		if most != sqstest.DefaultConcurrency {
			t.Errorf("%d messages in flight at most, want %d", most, sqstest.DefaultConcurrency)
		}
		if quiet != 50*time.Second {
			t.Errorf("quiet after %v, want 50s: five rounds of five", quiet)
		}
	})
}
