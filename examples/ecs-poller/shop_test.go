package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// shop has a queue of orders in an SQS that outlives the worker, and knows what
// was sent and what the workers say.
type shop struct {
	t           *testing.T
	server      *sqstest.Server
	queue, dead *sqstest.Queue
	env         []string
	random      *rand.Rand
	sent        map[string]Order
	booked      map[string]int // times
	unrecorded  int            // as often as a worker says that the store did not take a completion
	slowest     atomic.Int64   // the longest call of the store, as a time.Duration
}

// longestBackoff is how long an order is hidden at most after its first failure.
const longestBackoff = 10 * time.Second

func newShop(t *testing.T) *shop {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("ACKWISE_DRAIN_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("ACKWISE_DRAIN_SEED is %q; use what a run has printed: %v", text, err)
		}
	}
	t.Logf("ACKWISE_DRAIN_SEED=%d", seed)
	server := sqstest.NewServer(sqstest.Config{LogLimit: 100})
	t.Cleanup(server.Close)
	base, err := server.Listen("")
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{
		t: t, server: server, random: rand.New(rand.NewPCG(seed, 0)),
		sent: make(map[string]Order), booked: make(map[string]int),
	}
	if s.dead, err = server.CreateQueue("orders-dlq", sqstest.QueueConfig{}); err != nil {
		t.Fatal(err)
	}
	if s.queue, err = server.CreateQueue("orders", sqstest.QueueConfig{DeadLetter: s.dead, MaxReceives: 50}); err != nil {
		t.Fatal(err)
	}
	s.env = []string{
		"AWS_ENDPOINT_URL_SQS=" + base, "ORDERS_QUEUE_URL=" + s.queue.URL(), "ORDERS_DEAD_LETTER_URL=" + s.dead.URL(),
	}
	return s
}

// send puts an order into the queue under an id of its own.
func (s *shop) send(o Order) {
	s.t.Helper()
	o.ID, o.Customer = "A-"+strconv.Itoa(len(s.sent)), "ann"
	body, err := json.Marshal(o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.queue.Send(string(body))
	s.sent[o.ID] = o
}

// fill sends orders until n are waiting: most take up to 0.4 s, some fail at
// first, and some can never be booked.
func (s *shop) fill(n int) {
	s.t.Helper()
	for range n - s.queue.Visible() {
		o := Order{Amount: 100, WorkMS: s.random.IntN(400)}
		switch s.random.IntN(20) {
		case 0:
			o.Amount = -100
		case 1, 2:
			o.Fails = 1
		}
		s.send(o)
	}
}

// note takes over what a program has booked, once it has ended.
func (s *shop) note(p *program) {
	for _, id := range p.booked {
		s.booked[id]++
	}
	for _, l := range p.log() {
		if l.Msg == "outcome not recorded in the idempotency store" {
			s.unrecorded++
		}
	}
}

// orderOf returns the order that a message is about.
func (s *shop) orderOf(m sqstest.MessageState) Order {
	s.t.Helper()
	var o Order
	if err := json.Unmarshal([]byte(m.Body), &o); err != nil {
		s.t.Fatalf("body %q: %v", m.Body, err)
	}
	return o
}

// hidden returns, in sentences, the messages on the queue that are hidden although
// they have not failed, or for longer than their backoff.
func (s *shop) hidden() (late []string) {
	s.t.Helper()
	for _, m := range s.queue.Messages() {
		d := time.Until(m.VisibleAt)
		if m.State == sqstest.InFlight && (s.orderOf(m).Fails == 0 || d > longestBackoff) {
			late = append(late, fmt.Sprintf("nobody works on it, and it is hidden for %v more: %s (%d receives)", d, m.Body, m.ReceiveCount))
		}
	}
	return late
}

// watch measures for how long this process stood still, or the store, until the
// function it returns is called.
func (s *shop) watch() (longest func() time.Duration) {
	stop, result := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		for last := time.Now(); ; last = time.Now() {
			select {
			case <-time.After(10 * time.Millisecond):
				most = max(most, time.Since(last)-10*time.Millisecond)
			case <-stop:
				result <- most
				return
			}
		}
	}()
	s.slowest.Store(0)
	return func() time.Duration {
		close(stop)
		return max(<-result, time.Duration(s.slowest.Load()))
	}
}

// account says what became of every order: it is booked once, or parked if it
// cannot be, or still on the queue.
func (s *shop) account() (booked, parked, left int) {
	s.t.Helper()
	places := make(map[string][]string)
	for id, times := range s.booked {
		places[id] = slices.Repeat([]string{"booked"}, times)
		booked++
	}
	for _, m := range s.queue.Messages() {
		places[s.orderOf(m).ID] = append(places[s.orderOf(m).ID], "queue")
		left++
	}
	for _, m := range s.dead.Messages() {
		places[s.orderOf(m).ID] = append(places[s.orderOf(m).ID], "parked")
		parked++
	}
	for id, o := range s.sent {
		at := places[id]
		bad := len(at) == 1 && at[0] == "parked"
		if len(at) != 1 || at[0] != "queue" && bad != (o.Amount <= 0) {
			s.t.Errorf("%s (%+v) is in these places: %q", id, o, at)
		}
	}
	if booked+parked+left != len(s.sent) {
		s.t.Errorf("%d booked, %d parked and %d left of %d", booked, parked, left, len(s.sent))
	}
	return booked, parked, left
}

// history logs what the workers have asked of SQS last, by the time since t.
func (s *shop) history(t time.Time) {
	for _, c := range s.server.Log() {
		s.t.Logf("%8v, took %v: %s of %d %s", c.Time.Sub(t).Round(time.Millisecond), c.Took.Round(time.Millisecond), c.Action, len(c.Entries), c.Code)
	}
}

// String says how it stands, for failure messages.
func (s *shop) String() string {
	return fmt.Sprintf("%d orders sent, %d booked, %d on the queue (%d hidden), %d parked",
		len(s.sent), len(s.booked), s.queue.Len(), s.queue.InFlight(), s.dead.Len())
}
