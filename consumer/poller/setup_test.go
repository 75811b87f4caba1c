package poller_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// rig is a poller on a queue of an SQS in process, inside a bubble.
type rig struct {
	t   *testing.T
	srv *sqstest.Server
	q   *sqstest.Queue
	log *lines
	p   *poller.Poller

	began    time.Time
	also     func(consumer.Event) // one event at a time
	mu       sync.Mutex
	outcomes []consumer.Outcome
	events   map[consumer.EventKind]int

	stop func() // begins the drain
	done chan error
}

// setup is what differs between rigs.
type setup struct {
	srv     *sqstest.Server // default: a new one
	queue   string          // its name; default "orders"
	about   sqstest.QueueConfig
	handler consumer.HandlerFunc // default: success
	cfg     consumer.Config
	poller  poller.Config
	over    func(http.RoundTripper) http.RoundTripper // between client and server
}

func newRig(t *testing.T, s setup) *rig {
	t.Helper()
	if s.srv == nil {
		s.srv = sqstest.NewServer(sqstest.Config{})
	}
	r := &rig{t: t, srv: s.srv, log: &lines{}, done: make(chan error, 1)}
	r.began, r.events = time.Now(), map[consumer.EventKind]int{}
	t.Cleanup(r.srv.Close)
	if s.queue == "" {
		s.queue = "orders"
	}
	q, err := r.srv.CreateQueue(s.queue, s.about)
	if err != nil {
		t.Fatal(err)
	}
	r.q = q
	if s.handler == nil {
		s.handler = func(context.Context, *consumer.Message) error { return nil }
	}
	if s.cfg.Logger == nil {
		s.cfg.Logger = slog.New(slog.NewTextHandler(r.log, nil))
	}
	s.cfg.Observe = r.observe
	c, err := consumer.New(s.handler, s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case s.poller.SQS != nil:
	case s.over != nil:
		s.poller.SQS = clientOver(s.over(r.srv.HTTPClient().Transport))
	default:
		s.poller.SQS = r.srv.Client()
	}
	s.poller.QueueURL = q.URL()
	if r.p, err = poller.New(c, s.poller); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) observe(e consumer.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[e.Kind]++
	if r.also != nil {
		r.also(e)
	}
	if e.Kind == consumer.EventOutcome {
		r.outcomes = append(r.outcomes, e.Outcome)
	}
}

// verdicts are the verdicts so far, by message body.
func (r *rig) verdicts() map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	by := map[string][]string{}
	for _, o := range r.outcomes {
		by[o.Delivery.Body] = append(by[o.Delivery.Body], o.Verdict.String())
	}
	return by
}

// run begins to run the poller.
func (r *rig) run() {
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	r.t.Cleanup(cancel)
	go func() { r.done <- r.p.Run(ctx) }()
}

// end drains and returns what Run did, and how long that took.
func (r *rig) end() (time.Duration, error) {
	began := time.Now()
	r.stop()
	err := <-r.done
	return time.Since(began), err
}

// drained is end for where Run should return nil.
func (r *rig) drained() time.Duration {
	r.t.Helper()
	took, err := r.end()
	if err != nil {
		r.t.Errorf("Run: %v", err)
	}
	return took
}

func bodies(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = strconv.Itoa(i)
	}
	return list
}

func want[T any](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if d := cmp.Diff(wanted, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// lines is a log.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
