package poller

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
)

const (
	// tick is how often the poller shows that it is alive.
	tick = time.Second
	// silence is how long it may not have, and slack how much longer than it is
	// bounded to a receive may take: a process may be starved for a while.
	silence = 30 * time.Second
	slack   = 30 * time.Second
)

// pulse is what shows that a poller is alive.
type pulse struct {
	state atomic.Int32 // 0 not run yet, 1 running, 2 over
	beat  atomic.Int64 // when the poller last ticked, in Unix nanoseconds
	poll  atomic.Int64 // when the oldest receive in flight may have begun; 0 if there is none
}

func (p *pulse) begin() {
	p.beat.Store(time.Now().UnixNano())
	p.state.Store(1)
}

func (p *pulse) end() { p.state.Store(2) }

// Healthy reports whether the poller is alive: nil, or why it is not. It is for a
// container health check, which restarts what is not. A queue that is empty, slow
// handlers, SQS that answers with errors and a drain are all healthy: a restart
// helps with none of them. Not healthy is a poller that is not running, one all
// of whose slots are held by handlers that ignore their contexts, and one whose
// loop has not moved for half a minute.
func (p *Poller) Healthy() error {
	switch p.pulse.state.Load() {
	case 0:
		return errors.New("poller: it is not running yet")
	case 2:
		return errors.New("poller: it has ended")
	}
	if p.c.Stuck() {
		return fmt.Errorf("poller: %w", consumer.ErrStuck)
	}
	if d := time.Since(time.Unix(0, p.pulse.beat.Load())); d > silence {
		return fmt.Errorf("poller: its loop has not moved for %v", d.Round(time.Second))
	}
	if began := p.pulse.poll.Load(); began != 0 {
		if d := time.Since(time.Unix(0, began)); d > sqsqueue.ReceiveTimeout+slack {
			return fmt.Errorf("poller: a receive has not returned for %v", d.Round(time.Second))
		}
	}
	return nil
}

// ServeHTTP answers 200 if the poller is [Poller.Healthy], and else 503 with the
// reason, in plain text: an endpoint for a health check.
func (p *Poller) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err := p.Healthy(); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, err.Error()+"\n")
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}
