package consumer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

// chaos is a poller's session in which everything happens at random: extensions
// that fail, hang or say that a message is gone, messages that come again while
// they run, handlers that fail, panic, or ignore their contexts, acknowledgements
// that take long or fail.
type chaos struct {
	t   *testing.T
	k   *kept
	fx  bool // FIFO
	st  *scripted
	mu  sync.Mutex // guards what follows, the source of chance included
	rng *rand.Rand

	running  map[string]int
	came     int // deliveries
	outcomes int
	most     int // handlers at once
	now      int
}

func (c *chaos) chance(percent int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.IntN(100) < percent
}

func (c *chaos) upTo(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.rng.Int64N(int64(d)))
}

func (c *chaos) Handle(ctx context.Context, m *consumer.Message) error {
	key := m.ID
	if c.fx {
		key = m.GroupID
	}
	c.mu.Lock()
	if c.running[key]++; c.running[key] > 1 {
		c.t.Errorf("%s runs twice at once", key)
	}
	c.now++
	c.most = max(c.most, c.now)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running[key]--
		c.now--
	}()
	long := c.upTo(10 * time.Second)
	if c.chance(10) {
		long = c.upTo(3 * time.Minute)
	}
	if c.chance(20) {
		time.Sleep(long) // whatever its context says
	} else if err := works(long)(ctx); err != nil && c.chance(80) {
		return err
	}
	switch {
	case c.chance(5):
		panic("boom")
	case c.chance(6):
		return retry.Permanent(errTest)
	case c.chance(20):
		return errTest
	}
	return nil
}

func (c *chaos) extend(ctx context.Context, ds []*consumer.Delivery, d time.Duration) []error {
	switch {
	case c.chance(15):
		return hangs(ctx, ds, d)
	case c.chance(17):
		time.Sleep(c.upTo(4 * time.Second))
	case c.chance(20):
		return refuses(errTest)(ctx, ds, d)
	}
	errs := make([]error, len(ds))
	for i := range errs {
		if c.chance(10) {
			errs[i] = errGone
		}
	}
	return errs
}

func (c *chaos) acknowledge(context.Context, consumer.Outcome) error {
	if c.chance(10) {
		time.Sleep(c.upTo(20 * time.Second))
	}
	if c.chance(10) {
		return errTest
	}
	return nil
}

func (c *chaos) observe(e consumer.Event) {
	if e.Kind == consumer.EventOutcome {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.outcomes++
	}
}

const chaosCapacity = 12

func newChaos(t *testing.T, seed uint64) *chaos {
	t.Helper()
	c := &chaos{t: t, rng: rand.New(rand.NewPCG(seed, 9)), running: map[string]int{}, st: newScripted(), fx: seed%3 == 2}
	src := newSource(t)
	if c.fx {
		src = newFIFO(t)
	}
	src.extend, src.ack, src.queue.Visibility = c.extend, c.acknowledge, 12*time.Second
	cfg := steady(2)
	cfg.Concurrency, cfg.Observe = 5, c.observe
	if seed%2 == 1 {
		cfg = guarded(t, cfg, c.st)
		c.st.before["renew"] = func(context.Context, string) error {
			if c.chance(10) {
				return errStore
			}
			return nil
		}
	}
	c.k = newKept(t, src, cfg, consumer.HandlerFunc(c.Handle), consumer.SessionOptions{
		Beat: 4 * time.Second, Capacity: chaosCapacity, MaxHold: time.Minute,
	})
	return c
}

// feed submits 200 batches of messages of which some have come before.
func (c *chaos) feed() {
	received := map[string]int{}
	for range 200 {
		room, err := c.k.Room(c.t.Context(), 1, 10)
		if err != nil {
			c.t.Fatal(err)
		}
		time.Sleep(c.upTo(2 * time.Second))
		var ds []*consumer.Delivery
		for range room.Size() {
			if c.chance(40) {
				continue
			}
			id := fmt.Sprintf("%c%d", 'a'+rune(c.upTo(8)), c.upTo(30))
			received[id]++
			ds = append(ds, c.k.again(id, received[id]))
		}
		c.came += len(ds)
		if err := room.Submit(ds...); err != nil {
			c.t.Error(err)
		}
	}
}

// Whatever happens: no message, and no group, runs twice at once, each delivery has
// one outcome, and in the end all room and all slots are free.
func TestHeartbeat_Property(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newChaos(t, seed)
				c.feed()
				c.k.after(time.Hour)
				want(t, "idle", c.k.Idle(), true)
				want(t, "outcomes", c.outcomes, c.came)
				want(t, "most handlers at once", c.most <= 5, true)
				room := takeRoom(t, c.k.Session, 1, 100)
				want(t, "room in the end", room.Size(), chaosCapacity)
				var ds []*consumer.Delivery
				for _, id := range []string{"v1", "w1", "x1", "y1", "z1"} { // all slots are free
					ds = append(ds, c.k.again(id, 1))
				}
				c.most = 0
				if err := room.Submit(ds...); err != nil {
					t.Error(err)
				}
				c.k.after(time.Microsecond)
				want(t, "handlers at once", c.most, 5)
				c.k.close()
				want(t, "outcomes", c.outcomes, c.came+5)
			})
		})
	}
}

// And if the session is closed in the middle of it, it ends in time, and accounts
// for what it had.
func TestHeartbeat_PropertyOfTheEnd(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newChaos(t, seed)
				fed := make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					defer close(fed)
					c.feedUntil(ctx)
				}()
				c.k.after(c.upTo(time.Minute))
				c.k.Drain()
				cancel()
				<-fed
				began, grace := time.Now(), c.upTo(10*time.Second)
				if err := c.k.Close(timeout(t, grace)); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > grace+3500*time.Millisecond {
					t.Errorf("took %v with a grace of %v", took, grace)
				}
				want(t, "outcomes", c.outcomes, c.came)
				c.k.after(time.Hour)
				want(t, "outcomes", c.outcomes, c.came)
			})
		})
	}
}

// feedUntil submits messages until the session drains.
func (c *chaos) feedUntil(ctx context.Context) {
	for n := 1; ; n++ {
		room, err := c.k.Room(ctx, 1, 10)
		if err != nil {
			return
		}
		time.Sleep(c.upTo(2 * time.Second))
		var ds []*consumer.Delivery
		for range room.Size() {
			ds = append(ds, c.k.again(fmt.Sprintf("%c%d", 'a'+rune(c.upTo(8)), c.upTo(30)), n))
		}
		c.came += len(ds)
		if err := room.Submit(ds...); err != nil {
			c.t.Error(err)
		}
	}
}
