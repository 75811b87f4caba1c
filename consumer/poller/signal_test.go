package poller_test

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
)

// signalled is a poller in RunUntilSignal, in real time, with one handler that runs
// until it is cut off and one message that waits behind it.
func signalled(ctx context.Context, t *testing.T, sigs ...os.Signal) *rig {
	t.Helper()
	cfg := steady()
	cfg.Concurrency = 1
	entered := make(chan struct{}, 1)
	r := newRig(t, setup{cfg: cfg, poller: poller.Config{Grace: time.Hour}, handler: func(ctx context.Context, m *consumer.Message) error {
		entered <- struct{}{}
		return takes(time.Hour)(ctx, m)
	}})
	r.q.Send("running", "waiting")
	go func() { r.done <- r.p.RunUntilSignal(ctx, sigs...) }()
	<-entered
	return r
}

// drains waits until what had not begun is given back.
func (r *rig) drains() {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); r.q.Visible() < 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatal("it does not drain")
		}
	}
	select {
	case err := <-r.done:
		r.t.Fatalf("Run has returned %v although a handler is running", err)
	default:
	}
}

func send(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		t.Fatal(err)
	}
}

// The first signal drains and the second one aborts. Not parallel, and in real time:
// signals are the process's.
//
//nolint:paralleltest // see above
func TestSignal_FirstDrainsSecondAborts(t *testing.T) {
	caught := make(chan os.Signal, 10) // so that none that comes too late ends the tests
	signal.Notify(caught, syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1)
	defer signal.Stop(caught)
	for name, c := range map[string]struct {
		listen []os.Signal
		send   [2]syscall.Signal
	}{
		"default":  {nil, [2]syscall.Signal{syscall.SIGTERM, syscall.SIGINT}},
		"the same": {nil, [2]syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}},
		"chosen":   {[]os.Signal{syscall.SIGUSR1}, [2]syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := signalled(context.Background(), t, c.listen...)
			send(t, c.send[0])
			r.drains()
			send(t, c.send[1])
			if err := <-r.done; err != nil {
				t.Error(err)
			}
			want(t, "visible", r.q.Visible(), 2)
		})
	}
}

// A context that ends drains as a signal does; the signals that follow are for
// those that come after.
//
//nolint:paralleltest // see above
func TestSignal_ContextDrains(t *testing.T) {
	caught := make(chan os.Signal, 10)
	signal.Notify(caught, syscall.SIGTERM)
	defer signal.Stop(caught)
	ctx, cancel := context.WithCancel(context.Background())
	r := signalled(ctx, t)
	cancel()
	r.drains()
	r.p.Abort()
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	send(t, syscall.SIGTERM) // nobody but the test hears it
	<-caught
}
