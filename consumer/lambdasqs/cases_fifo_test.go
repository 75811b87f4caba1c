package lambdasqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/retry"
)

const fifoARN = standardARN + ".fifo"

// ran remembers which bodies a handler was given.
type ran struct {
	mu   sync.Mutex
	list []string
}

func (r *ran) wrap(next consumer.Handler) consumer.Handler {
	return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
		r.mu.Lock()
		r.list = append(r.list, m.Body)
		r.mu.Unlock()
		return next.Handle(ctx, m)
	})
}

func (r *ran) sorted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.list))
}

func TestCase_FI01_StopAfterTheFirstFailureOfAGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r ran
		cfg := steady(1)
		cfg.Middleware = []consumer.Middleware{r.wrap}
		a := newAdapter(t, byBody{"a3": fails}, cfg, lambdasqs.Config{})
		failed := invoke(t, a, time.Minute, eventOf(t, invented(fifoARN, "a1", "a2", "b1", "a3", "a4", "b2", "a5")...))
		want(t, "failed", failed, []string{"id-a3", "id-a4", "id-a5"})
		want(t, "ran", r.sorted(), []string{"a1", "a2", "a3", "b1", "b2"})
	})
}

func TestCase_FI03_ConcurrencyKeepsTheOrderOfEachGroup(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			busy, done, overlapped := map[string]string{}, map[string][]string{}, false
			h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
				mu.Lock()
				if other := busy[m.GroupID]; other != "" {
					t.Errorf("%s began while %s was running", m.Body, other)
				}
				busy[m.GroupID] = m.Body
				overlapped = overlapped || busy["A"] != "" && busy["B"] != ""
				takes := time.Duration(1+rng.IntN(1000)) * time.Millisecond
				mu.Unlock()
				time.Sleep(takes)
				mu.Lock()
				defer mu.Unlock()
				busy[m.GroupID] = ""
				done[m.GroupID] = append(done[m.GroupID], m.Body)
				return nil
			})
			names := []string{"A1", "B1", "A2", "A3", "B2", "B3", "A4", "B4"}
			failed := invoke(t, newAdapter(t, h, steady(1), lambdasqs.Config{}), time.Minute, eventOf(t, invented(fifoARN, names...)...))
			want(t, "failed", failed, nil)
			want(t, "order", done, map[string][]string{"A": {"A1", "A2", "A3", "A4"}, "B": {"B1", "B2", "B3", "B4"}})
			want(t, "groups overlap", overlapped, true)
		})
	}
}

// The whole group gets the delay of its head, whatever the queue's timeout is,
// and two seconds more behind it, so that the head comes back alone. In flight
// it holds the others back, and they come in order once it is done.
func TestCase_FI05_BackoffKeepsTheGroupTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "orders.fifo", sqstest.QueueConfig{Visibility: 15 * time.Minute})
		h := byBody{"a1": steps(retry.After(time.Minute, errTest))}
		a := newAdapter(t, h, steady(1), lambdasqs.Config{SQS: r.server.Client()})
		r.send("a1", "a2", "a3")
		records := r.receive(3)
		want(t, "failed", bodies(records, invoke(t, a, time.Minute, eventOf(t, records...))), []string{"a1", "a2", "a3"})
		seconds, calls := r.changes(records)
		want(t, "seconds", seconds, map[string]int{"a1": 60, "a2": 62, "a3": 62})
		want(t, "calls", calls, 1)
		begin := time.Now()
		head := r.receive(1)
		want(t, "the head alone", texts(head), []string{"a1"})
		want(t, "time", time.Since(begin).Round(time.Second), time.Minute)
		want(t, "failed", invoke(t, a, time.Minute, eventOf(t, head...)), nil)
		r.remove(head[0])
		want(t, "the others", texts(r.receive(2)), []string{"a2", "a3"})
		want(t, "time", time.Since(begin).Round(time.Second), 62*time.Second)
	})
}

func TestCase_FI06_PermanentFailureDoesNotBlockTheGroup(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		parked, broken bool
		failed, ran    []string
	}{
		"parked":        {true, false, nil, []string{"a1", "a2"}},
		"parking fails": {true, true, []string{"a1", "a2"}, []string{"a1"}},
		"no sink":       {false, false, []string{"a1", "a2"}, []string{"a1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var seen ran
				r, cfg := newRig(t, "orders.fifo", sqstest.QueueConfig{}), steady(3)
				sink := r.create("sink.fifo", sqstest.QueueConfig{})
				cfg.Middleware = []consumer.Middleware{seen.wrap}
				if tt.parked {
					cfg.DeadLetter = dlq.New(r.server.Client(), sink.URL())
				}
				if tt.broken {
					r.server.Inject(sqstest.Fault{Action: "SendMessage", Err: sqstest.AccessDenied()})
				}
				a := newAdapter(t, byBody{"a1": permanent}, cfg, lambdasqs.Config{SQS: r.server.Client()})
				r.send("a1", "a2")
				records := r.receive(2)
				want(t, "failed", bodies(records, invoke(t, a, time.Minute, eventOf(t, records...))), tt.failed)
				want(t, "ran", seen.sorted(), tt.ran)
				want(t, "parked copies", sink.Len(), map[bool]int{true: 1}[tt.parked && !tt.broken])
			})
		})
	}
}

func TestCase_FI07_SequenceNumbersBeyond64Bits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var order []string
		h := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
			order = append(order, m.System["SequenceNumber"])
			return nil
		})
		records := invented(fifoARN, "a1", "a2")
		numbers := []string{"18873177232222703872", "18873177232222704128"}
		for i := range records {
			records[i].Attributes["SequenceNumber"] = numbers[i]
		}
		want(t, "failed", invoke(t, newAdapter(t, h, steady(1), lambdasqs.Config{}), time.Minute, eventOf(t, records...)), nil)
		want(t, "order", order, numbers)
	})
}

// An undecodable record of a FIFO queue is a failed head of its group. If its
// group cannot be read, any message of the event may be behind it.
func TestFIFO_UndecodableRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen ran
		cfg := steady(1)
		cfg.Middleware = []consumer.Middleware{seen.wrap}
		a := newAdapter(t, byBody{}, cfg, lambdasqs.Config{})
		event := func(group string) []byte {
			broken := fmt.Sprintf(`{"messageId":"id-a1","body":{"no":"text"},"attributes":%s,"eventSource":"aws:sqs","eventSourceARN":%q}`, group, fifoARN)
			rest, err := json.Marshal(invented(fifoARN, "a2", "b1"))
			if err != nil {
				t.Fatal(err)
			}
			return []byte(`{"Records":[` + broken + "," + strings.Trim(string(rest), "[]") + `]}`)
		}
		want(t, "failed", invoke(t, a, time.Minute, event(`{"MessageGroupId":"a"}`)), []string{"id-a1", "id-a2"})
		want(t, "ran", seen.sorted(), []string{"b1"})
		for _, group := range []string{`null`, `{}`, `{"MessageGroupId":7}`, `[]`} {
			answer, err := a.Invoke(t.Context(), event(group))
			if answer != nil || !errors.Is(err, lambdasqs.ErrNotSQS) {
				t.Errorf("group %s: %q, %v", group, answer, err)
			}
		}
		want(t, "ran", seen.sorted(), []string{"b1"})
	})
}
