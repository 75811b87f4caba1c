package poller

import (
	"context"
	"sync"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// run is one poller's life.
type run struct {
	p       *Poller
	src     *source
	session *consumer.Session
	timing  timing
	most    int // receivers

	// open ends when no receive may begin any more, polls when those in flight
	// are cut off.
	open, polls      context.Context
	shut, cutPolls   context.CancelFunc
	receivers, aside sync.WaitGroup
	failed           chan error // from the first receiver that gives up

	mu       sync.Mutex // guards what follows
	n        int        // receivers
	lost     []string   // ids of receives whose answers were lost: see attempt
	received bool       // something was received, even if nothing: receives work
	noise    noise      // about receives
}

func newRun(ctx context.Context, p *Poller, q consumer.Queue, t timing) *run {
	capacity := p.c.Config().Concurrency + p.prefetch()
	r := &run{p: p, timing: t, most: p.cfg.Receivers, failed: make(chan error, 1)}
	if r.most == 0 {
		r.most = max((capacity+maxReceive-1)/maxReceive, 1)
	}
	values := context.WithoutCancel(ctx)
	r.open, r.shut = context.WithCancel(values)
	r.polls, r.cutPolls = context.WithCancel(values)
	r.src = newSource(p.queue, q, capacity, p.prefetch(), p.warn)
	r.session = p.c.Open(r.src, consumer.SessionOptions{
		Context: values, Capacity: capacity, Beat: t.beat, MaxHold: t.hold,
	})
	r.src.hurry(r.session.Stopped())
	return r
}

// run receives until something says that it is over, and drains.
func (r *run) run(ctx context.Context) error {
	unprotect, unprotected := r.protect()
	r.hire()
	err := r.watch(ctx)
	r.drain(unprotect)
	unprotect()
	<-unprotected
	return err
}

// watch waits for the end.
func (r *run) watch(ctx context.Context) error {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.p.aborted:
			return nil
		case err := <-r.failed:
			return err
		case now := <-ticks.C:
			r.p.pulse.beat.Store(now.UnixNano())
			if r.p.c.Stuck() {
				return consumer.ErrStuck
			}
		}
	}
}

// drain ends the run as [Poller.Run] says. The task's protection is removed, which
// may take seconds, while what was cut off is settled.
func (r *run) drain(unprotect func()) {
	grace, cancel := context.WithTimeout(context.Background(), r.p.cfg.Grace)
	defer cancel()
	defer context.AfterFunc(grace, unprotect)()
	over := make(chan struct{})
	r.aside.Go(func() { r.attend(cancel, over) })
	r.shut()
	r.session.Drain()
	cut := time.AfterFunc(r.p.cfg.Grace/2, r.cutPolls)
	r.receivers.Wait()
	cut.Stop()
	_ = r.session.Close(grace) // its error is Flush's, which has none
	r.cutPolls()
	close(over)
	r.aside.Wait()
}

// attend shows that a drain is alive, and cuts it short if the poller is aborted.
func (r *run) attend(endGrace context.CancelFunc, over <-chan struct{}) {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for aborted := r.p.aborted; ; {
		select {
		case <-aborted:
			aborted = nil
			endGrace()
			r.cutPolls()
		case now := <-ticks.C:
			r.p.pulse.beat.Store(now.UnixNano())
		case <-over:
			return
		}
	}
}

// protect runs the protection of the task, if there is one. unprotect begins to end
// it, and it has ended when unprotected is closed.
func (r *run) protect() (unprotect func(), unprotected <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if r.p.guard != nil {
			r.p.guard.Run(ctx, r.session.Idle)
		}
	}()
	return cancel, done
}
