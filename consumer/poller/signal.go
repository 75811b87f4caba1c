package poller

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// RunUntilSignal is [Poller.Run] until one of the signals comes, by default
// SIGTERM, which ECS sends to stop a task, and SIGINT: the first begins a drain, a
// second one is [Poller.Abort], and a third does what it does by default, which is
// to kill the process. It also drains when ctx ends.
func (p *Poller) RunUntilSignal(ctx context.Context, sigs ...os.Signal) error {
	if len(sigs) == 0 {
		sigs = []os.Signal{syscall.SIGTERM, os.Interrupt}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	came := make(chan os.Signal, 2)
	signal.Notify(came, sigs...)
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		defer signal.Stop(came)
		for _, act := range []func(){cancel, p.Abort} {
			select {
			case <-came:
				act()
			case <-over:
				return
			}
		}
	}()
	err := p.Run(ctx)
	close(over)
	<-gone
	return err
}
