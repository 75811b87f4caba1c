package sqstest

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// serverOf returns the server that the client's transport leads to, nil for any
// other.
func serverOf(client *sqs.Client) *Server {
	h, ok := client.Options().HTTPClient.(*http.Client)
	if !ok {
		return nil
	}
	t, _ := h.Transport.(transport)
	return t.s
}

// await returns when a receive is due. In a drain it reports instead that the
// queue is quiet. Where the server is known nothing is polled until there is
// something; elsewhere the receive itself does the waiting.
func (p *pump) await(ctx context.Context) (quiet bool, err error) {
	if p.e.server != nil {
		return p.awaitServer(ctx)
	}
	if !p.drain || p.running.Load() > 0 {
		return false, nil
	}
	got, err := p.e.attributes(ctx,
		types.QueueAttributeNameApproximateNumberOfMessages,
		types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
	)
	if err != nil {
		return false, p.consider(ctx, err)
	}
	total := 0
	for _, count := range got {
		n, err := strconv.Atoi(count)
		if err != nil {
			return false, err
		}
		total += n
	}
	return total == 0, nil
}

// awaitServer waits among the long polls of the server's own queue.
func (p *pump) awaitServer(ctx context.Context) (quiet bool, err error) {
	s := p.e.server
	for {
		// Before the look at the queue: an invocation that ends in between has
		// deleted its messages by then and leaves its signal.
		running := p.running.Load()
		w, err := s.watch(p.e.cfg.QueueURL)
		if err != nil || w.ready {
			return false, err
		}
		quiet = p.drain && running == 0 && w.left == 0
		if !quiet {
			err = p.pause(ctx, w.waiter)
		}
		s.unwatch(w)
		if quiet || err != nil {
			return quiet, err
		}
	}
}

// pause waits for the queue, for an invocation to end, for ctx or for Close.
func (p *pump) pause(ctx context.Context, w *waiter) error {
	timer := time.NewTimer(time.Until(w.until))
	defer timer.Stop()
	select {
	case <-w.wake:
	case <-timer.C:
	case <-p.finished:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.e.server.done:
		return errClosed
	}
	return nil
}

// farAhead is longer than anything stays hidden.
const farAhead = maxVisibility + time.Hour

// watch is a look at a queue.
type watch struct {
	queue  *queue
	ready  bool    // a receive would find something
	left   int     // messages in the queue
	waiter *waiter // queued among the long polls and woken as they are; nil if ready
}

// watch looks at a queue, and goes on watching it if there is nothing to
// receive.
func (s *Server) watch(url string) (watch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	q, err := s.lookup(url, now)
	if err != nil {
		return watch{}, err
	}
	w := watch{queue: q, ready: q.deliverable(), left: len(q.byKey)}
	if !w.ready {
		w.waiter = &waiter{wake: make(chan struct{}, 1)}
		q.enqueue(w.waiter, now.Add(farAhead))
	}
	return w, nil
}

// unwatch ends it. The queue may have been deleted by now.
func (s *Server) unwatch(w watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.queue.leave(w.waiter)
}
