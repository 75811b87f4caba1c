package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// remote is everything that takes part when the function is another process.
type remote struct {
	queues queues
	trace  *trace
	source *sqstest.EventSource
}

// network makes the requests, nil for real ones.
type network struct{ function, sqs *http.Client }

// perform is the program with a function in another process.
func (i *invocation) perform(ctx context.Context, o options, in *input, stdout, stderr io.Writer) int {
	r, err := newRemote(ctx, o, network{}, stdout, stderr)
	if err != nil && ctx.Err() != nil {
		printf(stderr, "local: interrupted: nothing was sent\n")
		return exitInterrupted
	}
	if err != nil {
		return fail(stderr, err, "")
	}
	defer r.queues.close()
	return r.run(ctx, o, in, stdout, stderr)
}

func newRemote(ctx context.Context, o options, n network, stdout, stderr io.Writer) (*remote, error) {
	r := &remote{trace: newTrace(o.invoke.to, stdout, stderr, o.verbose)}
	var err error
	if o.invoke.queue != "" {
		r.queues, err = newExternal(ctx, o.invoke, n.sqs)
	} else {
		r.queues, err = newEmbedded(o.invoke)
	}
	if err != nil {
		return nil, err
	}
	cfg := o.invoke.config()
	cfg.Client, cfg.QueueURL = r.queues.source()
	cfg.HTTPClient, cfg.Observe = n.function, r.trace.observe
	if r.source, err = sqstest.NewEventSource(cfg); err != nil {
		r.queues.close()
		return nil, err
	}
	return r, nil
}

// run sends the messages and works the queue off.
func (r *remote) run(ctx context.Context, o options, in *input, stdout, stderr io.Writer) int {
	if err := grouped(o, in); err != nil {
		return fail(stderr, err, "")
	}
	for _, l := range in.lines {
		m := l.message
		m.Delay = o.seconds(m.Delay)
		id, err := r.queues.send(ctx, m)
		if ctx.Err() != nil {
			printf(stderr, "local: interrupted: %s\n", plural(len(r.trace.known()), "message was sent", "messages were sent"))
			return exitInterrupted
		}
		if err != nil {
			return fail(stderr, fmt.Errorf("%s:%d: %w", in.name, l.number, err), "")
		}
		r.trace.add(id, l)
	}
	r.introduce(stdout, o, in)
	return r.play(ctx, o, stdout, stderr)
}

// grouped finds a message that a FIFO queue would refuse, before any is sent.
func grouped(o options, in *input) error {
	if !strings.HasSuffix(o.invoke.queue, ".fifo") {
		return nil
	}
	for _, l := range in.lines {
		if l.message.GroupID == "" {
			return fmt.Errorf("%s:%d: the message has no group, and -queue is a FIFO queue; "+
				`write it as {"body": …, "group": "text"}`, in.name, l.number)
		}
	}
	return nil
}

// introduce says what is about to happen, and what the function needs for it.
func (r *remote) introduce(w io.Writer, o options, in *input) {
	r.queues.introduce(w)
	if len(in.lines) > 0 {
		printf(w, "%s from %s sent to the queue.\n", plural(len(in.lines), "message", "messages"), printable(in.name))
	}
	printf(w, "Function %s at %s (timeout %v), %s at a time.\n\n",
		printable(o.invoke.to.function), printable(o.invoke.to.base), o.invoke.timeout, plural(o.invoke.concurrency, "invocation", "invocations"))
}

// play works the queue off, shows progress and accounts for every message.
func (r *remote) play(ctx context.Context, o options, stdout, stderr io.Writer) int {
	limited, cancel := context.WithTimeoutCause(ctx, o.timeout, errTimeUp)
	defer cancel()
	r.trace.start = time.Now()
	hush := announce(ctx, stderr)
	if !r.await(limited, o.invoke) && limited.Err() == nil {
		printf(stderr, "local: nothing listens at %s after %v; beginning all the same\n", printable(o.invoke.to.host), o.invoke.wait)
	}
	err := r.drain(limited)
	interrupted := hush()
	elapsed := time.Since(r.trace.start)

	queue, dead, unseen := r.queues.look(context.WithoutCancel(ctx), r.trace, err == nil)
	a := draw(r.trace.ledger, queue, dead, r.trace.deleted())
	r.report(stdout, a, elapsed)
	conclude(a, stdout)
	code := r.judge(o, a, err, stderr)
	if unseen != nil {
		printf(stderr, "local: %s\n", printable(unseen.Error()))
		code = exitUnfinished
	}
	if interrupted { // which has been said
		return exitInterrupted
	}
	return code
}

// drain works the queue off, as a host's Drain does.
func (r *remote) drain(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	defer showProgress(r.trace.ledger, func() progress { return r.queues.progress(r.trace) })()
	return r.source.Drain(ctx)
}

// judge says on standard error what was wrong.
func (r *remote) judge(o options, a *account, err error, stderr io.Writer) int {
	code := exitOK
	switch {
	case errors.Is(err, context.Canceled): // an interrupt
		code = exitUnfinished
	case errors.Is(err, errTimeUp):
		printf(stderr, "local: time ran out after %v; -timeout gives more\n", o.timeout)
		code = exitUnfinished
	case err != nil:
		printf(stderr, "local: %s\n", printable(err.Error()))
		code = exitUnfinished
	case !a.closed():
		code = exitUnfinished
	}
	if es := r.trace.uninvoked(slices.Concat(a.left, a.moved)...); len(es) > 0 {
		printf(stderr, "local: the function was not invoked with %s when last delivered; is it served at %s?\n",
			plural(len(es), "message", "messages"), printable(o.invoke.url))
		code = exitUnfinished
	}
	return code
}

// await returns when something listens where the function is to be, and reports
// whether it has before i.wait was over.
func (r *remote) await(ctx context.Context, i invocation) bool {
	if i.wait == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, i.wait)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		if listens(ctx, i.to.host) {
			return true
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false
		}
	}
}

// listens reports whether a connection to the address is kept. A container engine
// accepts it before anything in the container does, and then ends it.
func listens(ctx context.Context, address string) bool {
	const kept = 200 * time.Millisecond
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetReadDeadline(time.Now().Add(kept)); err != nil {
		return false
	}
	_, err = conn.Read(make([]byte, 1))
	return err == nil || errors.Is(err, os.ErrDeadlineExceeded)
}

// report writes the tables at the end.
func (r *remote) report(w io.Writer, a *account, elapsed time.Duration) {
	printf(w, "\nAfter %v, as seen from outside the function:\n", elapsed.Round(10*time.Millisecond))
	table(w, func(t io.Writer) {
		row(t, "messages", a.sent, "sent, or received without having been sent here")
		row(t, "done", len(a.done), "not reported by the function, and deleted for that")
		row(t, "parked", len(a.parked), "copied to the dead-letter queue by the function")
		row(t, "moved", len(a.moved), "to the dead-letter queue by SQS, receives used up")
		row(t, "left", len(a.left), "still in the queue"+labels(a.left))
		row(t, "lost", len(a.lost), "nowhere, and not deleted here"+labels(a.lost))
	})
	r.trace.report(w)
	r.trace.reportDead(w, a)
	printf(w, "\nCalls of SQS:\n")
	r.queues.reportCalls(w)
	stats := r.source.Stats()
	reportInvocations(w, stats)
	r.queues.advise(w, stats.Reported)
}
