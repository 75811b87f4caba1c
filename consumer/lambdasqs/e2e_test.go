package lambdasqs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/retry"
)

// orders is the work of the end-to-end test: what each message does is decided
// by a seed, and what became of it is counted.
type orders struct {
	lost   map[string]bool // poison and panics: they end on the dead-letter queue
	panics map[string]bool
	takes  map[string]time.Duration
	twice  int // receives out of a hundred that deliver their messages twice

	mu        sync.Mutex
	fails     map[string]int // how often it still fails
	succeeded map[string]int
	runs      int
}

func newOrders(seed uint64, n int) (o *orders, names []string) {
	rng := rand.New(rand.NewPCG(seed, 7))
	o = &orders{
		lost: map[string]bool{}, panics: map[string]bool{}, takes: map[string]time.Duration{},
		fails: map[string]int{}, succeeded: map[string]int{}, twice: rng.IntN(50),
	}
	for i := range n {
		name := fmt.Sprintf("order-%d", i)
		names = append(names, name)
		o.takes[name] = time.Duration(rng.IntN(400)) * time.Millisecond
	}
	rng.Shuffle(n, func(i, k int) { names[i], names[k] = names[k], names[i] })
	for i, name := range names {
		switch {
		case i < n/10:
			o.fails[name] = 1 + rng.IntN(2)
		case i < n/10+n/50:
			o.lost[name] = true
		case i < n/10+n/50+n/100:
			o.lost[name], o.panics[name] = true, true
		}
	}
	rng.Shuffle(n, func(i, k int) { names[i], names[k] = names[k], names[i] })
	return o, names
}

func (o *orders) Handle(_ context.Context, m *consumer.Message) error {
	time.Sleep(o.takes[m.Body])
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runs++
	switch {
	case o.panics[m.Body]:
		panic("out of stock: " + m.Body)
	case o.lost[m.Body]:
		return errTest
	case o.fails[m.Body] > 0:
		o.fails[m.Body]--
		return errTest
	}
	o.succeeded[m.Body]++
	return nil
}

// A thousand messages go through the mapping and the adapter until the queue is
// quiet: one in ten fails once or twice, one in fifty always, one in a hundred
// panics, and some are delivered twice. In the end the dead-letter queue holds
// exactly those that always fail, and every other one has succeeded.
func TestEndToEnd_NothingIsLost(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { endToEnd(t, seed) })
		})
	}
}

func endToEnd(t *testing.T, seed uint64) {
	t.Helper()
	const n = 1000
	o, names := newOrders(seed, n)
	server := sqstest.NewServer(sqstest.Config{LogLimit: -1})
	defer server.Close()
	deadLetters, err := server.CreateQueue("orders-dlq", sqstest.QueueConfig{})
	if err != nil {
		t.Fatal(err)
	}
	queue, err := server.CreateQueue("orders", sqstest.QueueConfig{
		Visibility: 3 * time.Minute, DeadLetter: deadLetters, MaxReceives: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	o.deliverTwice(server, seed)
	queue.Send(names...)

	cfg := steady(1 + int(seed%2))
	cfg.Redelivery.Backoff = retry.Exponential(20*time.Second, time.Minute)
	source, err := sqstest.NewEventSource(sqstest.EventSourceConfig{
		Client: server.Client(), QueueURL: queue.URL(), BatchSize: 100, Window: 5 * time.Second, Concurrency: 5,
		Handler: newAdapter(t, o, cfg, lambdasqs.Config{SQS: server.Client()}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}

	o.check(t, names, queue, deadLetters)
	if failures := source.Stats().Failures; len(failures) > 0 {
		t.Errorf("invocations that failed: %v", failures)
	}
}

// check compares what became of the messages with what should have.
func (o *orders) check(t *testing.T, names []string, queue, deadLetters *sqstest.Queue) {
	t.Helper()
	var dead []string
	for _, m := range deadLetters.Messages() {
		dead = append(dead, m.Body)
	}
	slices.Sort(dead)
	var lost []string
	for name := range o.lost {
		lost = append(lost, name)
	}
	slices.Sort(lost)
	want(t, "dead-letter queue", dead, lost)
	want(t, "messages left in the queue", queue.Len(), 0)
	for _, name := range names {
		if ok := o.succeeded[name] > 0; ok == o.lost[name] {
			t.Errorf("%s succeeded %d times", name, o.succeeded[name])
		}
	}
}

// deliverTwice makes some receives owe their messages to the next one as well:
// those of the first ten seconds, when nothing has come back after a failure,
// and no two of them in a row. With more, SQS itself would use up the receives
// of messages that would have succeeded.
func (o *orders) deliverTwice(server *sqstest.Server, seed uint64) {
	var mu sync.Mutex
	rng, begin, last := rand.New(rand.NewPCG(seed, 8)), time.Now(), false
	server.Inject(sqstest.Fault{Action: "ReceiveMessage", Times: -1, Twice: true, Match: func(sqstest.Call) bool {
		mu.Lock()
		defer mu.Unlock()
		last = !last && time.Since(begin) < 10*time.Second && rng.IntN(100) < o.twice
		return last
	}})
}
