package poller_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
	"github.com/ackwise/ackwise/retry"
)

// soakMessages is how many messages go through, unless ACKWISE_SOAK asks for the
// long form.
func soakMessages() int {
	if os.Getenv("ACKWISE_SOAK") != "" {
		return 200_000
	}
	return 5_000
}

// network is the way to the server: it takes time, and breaks.
type network struct {
	http.RoundTripper

	down atomic.Bool
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(5 * time.Millisecond)
	if n.down.Load() {
		return nil, syscall.ECONNREFUSED
	}
	return n.RoundTripper.RoundTrip(r)
}

// factory is a handler for messages whose bodies are numbers. It counts how often
// each was done.
type factory struct {
	mu   sync.Mutex
	done []uint8
	rng  *rand.Rand
}

func (f *factory) Handle(ctx context.Context, m *consumer.Message) error {
	i, err := strconv.Atoi(m.Body)
	if err != nil {
		return retry.Permanent(err)
	}
	f.mu.Lock()
	fails, slow := f.rng.IntN(50) == 0, f.rng.IntN(200) == 0
	takes := time.Duration(f.rng.IntN(5)) * time.Millisecond
	f.mu.Unlock()
	if slow {
		takes = 40 * time.Second // longer than the visibility
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch {
	case i%500 == 0:
		return retry.Permanent(errors.New("out of stock"))
	case fails:
		return errors.New("no answer")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done[i]++
	return nil
}

// trouble makes things go wrong at random until ctx ends.
func trouble(ctx context.Context, srv *sqstest.Server, net *network, rng *rand.Rand) {
	remove := func() {}
	for {
		select {
		case <-ctx.Done():
			net.down.Store(false)
			return
		case <-time.After(time.Duration(rng.IntN(600)) * time.Millisecond):
		}
		action := []string{"ReceiveMessage", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"}[rng.IntN(3)]
		f := sqstest.Fault{Action: action, Queue: "orders", Times: 1 + rng.IntN(3)}
		switch rng.IntN(9) {
		case 0:
			f.Err = sqstest.Throttled()
		case 1:
			f.Err = sqstest.InternalError()
		case 2:
			f.Err = sqstest.OverLimit()
		case 3:
			f.Err, f.Times = sqstest.AccessDenied(), 1
		case 4:
			f.LoseResponse = true
		case 5:
			f.Action, f.ExpireHandles = "DeleteMessageBatch", true
		case 6:
			f.Action, f.Twice = "ReceiveMessage", true
		case 7:
			f.Action, f.Entries = "DeleteMessageBatch", []sqstest.EntryFault{{Index: rng.IntN(10)}}
		case 8: // the server is restarted, its state kept
			net.down.Store(true)
			time.Sleep(time.Duration(rng.IntN(4000)) * time.Millisecond)
			net.down.Store(false)
			continue
		}
		remove() // what has met no call does not pile up
		remove = srv.Inject(f)
	}
}

// soak is a poller in trouble.
type soak struct {
	*factory

	t    *testing.T
	srv  *sqstest.Server
	q    *sqstest.Queue
	dead *sqstest.Queue
	net  network
	p    *poller.Poller

	sent   int
	parked []bool
}

func newSoak(t *testing.T, n int, cfg consumer.Config) *soak {
	t.Helper()
	s := &soak{
		t: t, parked: make([]bool, n), srv: sqstest.NewServer(sqstest.Config{LogLimit: -1}),
		factory: &factory{done: make([]uint8, n), rng: rand.New(rand.NewPCG(uint64(n), 4))},
	}
	s.net.RoundTripper = s.srv.HTTPClient().Transport
	client := s.srv.Client(func(o *sqs.Options) { o.HTTPClient = &http.Client{Transport: &s.net} })
	var err error
	if s.dead, err = s.srv.CreateQueue("dead", sqstest.QueueConfig{}); err != nil {
		t.Fatal(err)
	}
	if s.q, err = s.srv.CreateQueue("orders", sqstest.QueueConfig{Visibility: 12 * time.Second, DeadLetter: s.dead, MaxReceives: 1000}); err != nil {
		t.Fatal(err)
	}
	cfg.Logger, cfg.DeadLetter = slog.New(slog.DiscardHandler), dlq.New(client, s.dead.URL())
	cfg.Redelivery.Backoff = retry.Constant(2 * time.Second)
	c, err := consumer.New(s.factory, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if s.p, err = poller.New(c, poller.Config{SQS: client, QueueURL: s.q.URL(), Prefetch: 40}); err != nil {
		t.Fatal(err)
	}
	return s
}

// work sends messages up to the nth, as they are taken, and waits until the queue
// is quiet. It returns what the process has in use then.
func (s *soak) work(n int) usage {
	for s.sent < n || s.q.Len() > 0 {
		if s.q.Len() < 1000 {
			for range min(1000, n-s.sent) {
				s.q.Send(strconv.Itoa(s.sent))
				s.sent++
			}
		}
		time.Sleep(500 * time.Millisecond)
	}
	s.bury()
	time.Sleep(time.Minute)
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{m.HeapAlloc, runtime.NumGoroutine()}
}

// usage is what a process has in use with nothing to do.
type usage struct {
	heap       uint64
	goroutines int
}

// bury notes what was parked and empties the dead-letter queue, which would grow.
func (s *soak) bury() {
	for _, m := range s.dead.Messages() {
		if i, err := strconv.Atoi(m.Body); err == nil {
			s.parked[i] = true
		}
	}
	url := s.dead.URL()
	if _, err := s.srv.Client().PurgeQueue(s.t.Context(), &sqs.PurgeQueueInput{QueueUrl: &url}); err != nil {
		s.t.Error(err)
	}
}

// account looks at what became of every message.
func (s *soak) account() (twice int) {
	s.t.Helper()
	for i, n := range s.done {
		switch {
		case n == 0 && !s.parked[i]:
			s.t.Errorf("message %d was lost", i)
		case i%500 != 0 && s.parked[i]:
			s.t.Errorf("message %d was parked although nothing is wrong with it", i)
		case n > 1:
			twice++
		}
	}
	return twice
}

// run runs messages through the trouble, in two parts. It returns what was
// in use behind each, when nothing was left to do.
func (s *soak) run(first, all int) (before, after usage) {
	s.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.p.Run(ctx) }()
	var chaos sync.WaitGroup
	chaos.Go(func() { trouble(ctx, s.srv, &s.net, rand.New(rand.NewPCG(uint64(all), 6))) })
	before = s.work(first)
	after = s.work(all)
	stop()
	chaos.Wait()
	if err := <-done; err != nil {
		s.t.Errorf("Run: %v", err)
	}
	s.srv.Close()
	return before, after // and the bubble sees to it that no goroutine is left
}

// Everything that goes wrong with SQS goes wrong, again and again: nothing is
// lost, nothing that is well is parked, and nothing grows.
//
//nolint:paralleltest // it measures the heap of the process
func TestSoak_NothingIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := soakMessages()
		s := newSoak(t, n, consumer.Config{})
		before, after := s.run(n/5, n)
		twice := s.account()
		t.Logf("%d messages, %d of them done more than once; heap %d KiB, then %d KiB; calls %v", n, twice, before.heap>>10, after.heap>>10, s.srv.Calls())
		if after.heap > before.heap+before.heap/10 {
			t.Errorf("the heap has grown from %d to %d bytes", before.heap, after.heap)
		}
		if after.goroutines > before.goroutines+5 { // the runtime has some of its own
			t.Errorf("%d goroutines with nothing to do, and %d after more work", before.goroutines, after.goroutines)
		}
	})
}

// The same with a store: nothing is done twice either.
func TestSoak_NothingIsDoneTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := soakMessages() / 5
		guard, err := idempotency.New(memstore.New(), idempotency.Config{Lease: 12 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		s := newSoak(t, n, consumer.Config{Idempotency: guard})
		s.run(n/2, n)
		want(t, "messages done more than once", s.account(), 0)
	})
}
