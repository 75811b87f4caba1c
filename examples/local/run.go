package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Exit codes.
const (
	exitOK          = 0
	exitUnfinished  = 1 // something was lost, time ran out, or standard output failed
	exitUsage       = 2
	exitInterrupted = 130 // as a shell has it for an interrupt
)

var errTimeUp = errors.New("time ran out")

// run is the program. It ends early when ctx does, which stands for an
// interrupt.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out, errs := &output{w: stdout}, &output{w: stderr}
	code := perform(ctx, args, stdin, out, errs)
	if err := out.failed(); err != nil {
		printf(errs, "local: standard output is not complete: %v\n", err)
		code = max(code, exitUnfinished)
	}
	return code
}

// perform is the program on outputs that may be used concurrently.
func perform(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parseArgs(args, stderr)
	if errors.Is(err, errHelp) {
		return exitOK
	}
	if err != nil {
		return fail(stderr, err, "; -help shows all flags")
	}
	in, err := readUntil(ctx, o, stdin)
	if ctx.Err() != nil {
		printf(stderr, "local: interrupted: nothing was sent\n")
		return exitInterrupted
	}
	if err != nil {
		return fail(stderr, err, "")
	}
	for _, note := range in.remarks(o) {
		printf(stderr, "local: note: %s\n", printable(note))
	}
	if o.invoke.url != "" {
		return o.invoke.perform(ctx, o, in, stdout, stderr)
	}
	s, err := newStage(o, stdout, stderr)
	if err != nil {
		return fail(stderr, err, "")
	}
	defer s.server.Close()
	if err := s.send(o, in); err != nil {
		return fail(stderr, err, "")
	}
	introduce(stdout, o, in)
	return s.play(ctx, o, stdout, stderr)
}

func fail(stderr io.Writer, err error, more string) int {
	printf(stderr, "local: %s%s\n", printable(err.Error()), more)
	return exitUsage
}

// readUntil is read, given up when ctx ends: a terminal or a pipe, named or not,
// may be silent for ever.
func readUntil(ctx context.Context, o options, stdin io.Reader) (*input, error) {
	type result struct {
		in  *input
		err error
	}
	done := make(chan result, 1)
	go func() {
		in, err := read(o, stdin)
		done <- result{in, err}
	}()
	select {
	case r := <-done:
		return r.in, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// introduce says what is about to happen, and what -speed does to it.
func introduce(w io.Writer, o options, in *input) {
	printf(w, "%s from %s, sent to an embedded SQS: queue orders\n"+
		"(visibility timeout %v, maxReceiveCount %d) with dead-letter queue orders-dlq.\n",
		plural(len(in.lines), "message", "messages"), printable(in.name), o.seconds(visibility), o.receives())
	if o.speed > 1 {
		printf(w, "Speed %d: delays, timeouts and simulated work are 1/%d of a real set-up's (%s\n"+
			"timeout %v for %v, first backoff %v for %v), rounded up where SQS counts in seconds.\n",
			o.speed, o.speed, o.bounded(), o.scale(functionTimeout), functionTimeout, o.scale(firstBackoff), firstBackoff)
	}
	if o.host == hostPoller {
		printf(w, "A poller runs them, as a container would: there is no function's deadline, so each try\n"+
			"has a timeout, and a message that comes again while it is worked on is not run twice.\n")
	}
	if o.stored() {
		printf(w, "An idempotency store in memory: what is done is not done again, and each message has\n"+
			"%d attempts.\n", maxAttempts)
	}
	if o.dlq == dlqSQS {
		printf(w, "Rejected messages are not parked: they come back after 4, 8, 16, 32 and 64 seconds,\n"+
			"at any speed, until SQS moves them.\n")
	}
	printf(w, "\n")
}

// play works the queue off, shows progress and accounts for every message.
func (s *stage) play(ctx context.Context, o options, stdout, stderr io.Writer) int {
	limited, cancel := context.WithTimeoutCause(ctx, o.timeout, errTimeUp)
	defer cancel()
	s.ledger.start = time.Now()
	hush, stop := announce(ctx, stderr), showProgress(s.ledger, s.progress)
	err := s.host.Drain(limited)
	stop()
	interrupted := hush()
	elapsed := time.Since(s.ledger.start)

	a := draw(s.ledger, s.queue.Messages(), s.dead.Messages(), s.shop.successes())
	s.report(stdout, a, elapsed)
	conclude(a, stdout)
	switch {
	case interrupted: // which has been said
		return exitInterrupted
	case errors.Is(err, errTimeUp):
		printf(stderr, "local: time ran out after %v; -timeout gives more\n", o.timeout)
		return exitUnfinished
	case err != nil:
		printf(stderr, "local: %v\n", err)
		return exitUnfinished
	case !a.closed():
		return exitUnfinished
	}
	return exitOK
}

// conclude says in a sentence how it went.
func conclude(a *account, stdout io.Writer) {
	dead := len(a.parked) + len(a.moved)
	sum := fmt.Sprintf("%d sent = %d done + %d in the dead-letter queue", a.sent, len(a.done), dead)
	if n := len(a.left); n > 0 {
		sum += fmt.Sprintf(" + %d still in the queue", n)
	}
	if n := len(a.lost); n > 0 {
		sum += fmt.Sprintf(" + %d LOST", n)
	}
	if n := len(a.strangers); n > 0 {
		sum += fmt.Sprintf(", and %d that nobody sent", n)
	}
	if len(a.lost)+len(a.strangers) > 0 {
		printf(stdout, "\nThis does not add up: %s.\n", sum)
	} else {
		printf(stdout, "\nNothing was lost: %s.\n", sum)
	}
}
