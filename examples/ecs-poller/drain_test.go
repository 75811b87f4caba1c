package main

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// grace is far longer than the longest order takes, with all its tries.
const grace = 10 * time.Second

// rounds is how often a worker is stopped in each of these tests.
func rounds() int {
	if os.Getenv("ACKWISE_SOAK") != "" {
		return 50
	}
	return 5
}

// Workers get SIGTERM under load, one after the other, at any moment. Each leaves
// with 0 within its grace, and hides nothing from the next. In the end every order
// was booked once, or parked because it cannot be.
func TestDrainUnderLoad(t *testing.T) {
	t.Parallel()
	newShop(t).storm(rounds())
}

func (s *shop) storm(rounds int) {
	s.t.Helper()
	for range rounds {
		s.fill(60)
		standstill := s.watch()
		p := start(s.t, append(s.env, "ORDERS_GRACE="+grace.String())...)
		p.await("started", 1)
		time.Sleep(time.Duration(s.random.Int64N(int64(time.Second))))
		stopped := time.Now()
		s.stop(p)
		late := s.hidden()
		if took := time.Since(stopped); took > grace {
			late = append(late, fmt.Sprintf("it left after %v, want %v", took, grace))
		}
		s.account()
		// Time cannot be judged where there was none.
		if longest := standstill(); len(late) > 0 && longest > time.Second {
			s.t.Logf("not judged, since the machine or the store stood still for %v: %q", longest, late)
		} else if len(late) > 0 {
			s.t.Errorf("%q", late)
		}
		if s.t.Failed() {
			s.history(stopped)
			s.t.Fatal(s)
		}
	}
	if n := len(s.booked); n == 0 || n == len(s.sent) {
		s.t.Errorf("%s before the last worker: there was no load when the others were stopped", s)
	}
	s.finish()
}

// stop stops a worker.
func (s *shop) stop(p *program) {
	s.t.Helper()
	p.terminate()
	if code := p.exit(); code != exitDrained {
		s.t.Errorf("exit code %d, want 0", code)
	}
	s.note(p)
}

// finish lets one worker live until the queue is empty.
func (s *shop) finish() {
	s.t.Helper()
	p := start(s.t, append(s.env, "ORDERS_GRACE="+grace.String())...)
	for deadline := time.Now().Add(2 * time.Minute); s.queue.Len() > 0 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	s.stop(p)
	if booked, parked, left := s.account(); left > 0 {
		s.t.Errorf("%d booked, %d parked, and %d are left", booked, parked, left)
	}
	s.t.Log(s)
}

// What does not finish within the grace is cut and given back at once, and so is
// what was not begun.
func TestDrain_WorkOutlivesGrace(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for range 30 {
		s.send(Order{Amount: 100, WorkMS: 60_000})
	}
	p := start(t, append(s.env, "ORDERS_GRACE=1s")...)
	s.awaitInFlight(20)
	stopped := time.Now()
	s.stop(p)
	if took := time.Since(stopped); took < time.Second || took > 6*time.Second {
		t.Errorf("it left after %v, want 1 s to 6 s", took)
	}
	s.wantAllVisible(30)
}

// A second SIGTERM does not wait for the grace.
func TestDrain_SecondSignal(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for range 30 {
		s.send(Order{Amount: 100, WorkMS: 60_000})
	}
	p := start(t, append(s.env, "ORDERS_GRACE=25s")...)
	s.awaitInFlight(20)
	p.terminate()
	s.awaitInFlight(10) // the drain has begun
	again := time.Now()
	s.stop(p)
	if took := time.Since(again); took > 6*time.Second {
		t.Errorf("it left %v after the second signal", took)
	}
	s.wantAllVisible(30)
}

// awaitInFlight waits until n messages are with the worker.
func (s *shop) awaitInFlight(n int) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); s.queue.InFlight() != n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%d messages are in flight after a minute, want %d", s.queue.InFlight(), n)
		}
	}
}

func (s *shop) wantAllVisible(n int) {
	s.t.Helper()
	if late := s.hidden(); late != nil {
		s.t.Errorf("%q", late)
	}
	if booked, _, left := s.account(); booked > 0 || left != n {
		s.t.Errorf("%d booked, %d left, want none and %d", booked, left, n)
	}
}

// A worker that has nothing to do leaves as well, in the middle of its long poll.
func TestDrain_Idle(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := start(t, append(s.env, "ORDERS_GRACE=2s")...)
	for s.server.Calls()["ReceiveMessage"] == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	s.send(Order{Amount: 100})
	p.await("order booked", 1)
	s.stop(p)
	if booked, _, left := s.account(); booked != 1 || left != 0 {
		t.Errorf("%d booked, %d left", booked, left)
	}
}
