// Peers measures consumers of Amazon SQS against each other: Ackwise's poller,
// loops written with the SDK alone, and Go Cloud's subscription, on the same
// server, in the same run, each in a process of its own.
//
//	go run ./peers                    all tables, five rounds: about ten minutes
//	go run ./peers -check             and how the targets fare
//	go run ./peers -rounds 1 -scale 0.1
//	go run ./peers -only fast,slow
//
// It writes Markdown to its standard output and its progress to the other one.
// With ACKWISE_SQS_ENDPOINT set, the emulator is the server at that address
// (moto); otherwise it is sqstest in a process of its own.
//
// Messages per second count from the consumer's start to the moment its last
// message is deleted. CPU seconds are those of the consumer's process alone,
// allocations its runtime's. Calls are HTTP requests, tries of the SDK included,
// without the receives that still wait when the last message is gone. In hand are
// messages received and not yet deleted. Every figure is the median of the rounds.
//
// Exit status 0 means that all was measured, whatever the figures: 1 that
// something failed, 2 a wrong flag.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	rounds int
	scale  float64
	only   []string // names of scenarios; none: all
	check  bool
}

func main() { os.Exit(run()) }

func run() (status int) {
	// A signal to the group reaches the children too: what is measured then is
	// thrown away.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	played, err := playRole(ctx)
	if !played {
		o, wrong := parse(os.Args[1:])
		if errors.Is(wrong, flag.ErrHelp) {
			return 0
		}
		if wrong != nil {
			fmt.Fprintln(os.Stderr, "peers:", wrong)
			return 2
		}
		err = bench(ctx, &o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		return 1
	}
	return 0
}

func parse(args []string) (options, error) {
	var o options
	var only string
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 5, "how often each consumer is measured")
	flags.Float64Var(&o.scale, "scale", 1, "factor of the number of messages")
	flags.StringVar(&only, "only", "", "comma-separated names of scenarios: "+strings.Join(names(), ", "))
	flags.BoolVar(&o.check, "check", false, "also write each target and whether it is met")
	if err := flags.Parse(args); err != nil {
		return o, err // said by flags too, with the usage
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.rounds < 1:
		return o, fmt.Errorf("-rounds is %d: at least 1", o.rounds)
	case !(o.scale > 0 && o.scale <= 100):
		return o, fmt.Errorf("-scale is %v: above 0, at most 100", o.scale)
	}
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	for _, name := range o.only {
		if !slices.Contains(names(), name) {
			return o, fmt.Errorf("-only has %q: there are %s", name, strings.Join(names(), ", "))
		}
	}
	return o, nil
}

func names() []string {
	var all []string
	for _, s := range scenarios("") {
		all = append(all, s.name)
	}
	return all
}

func bench(ctx context.Context, o *options) error {
	if err := writeHead(os.Stdout, o); err != nil {
		return err
	}
	var tables []table
	for _, s := range scenarios(os.Getenv("ACKWISE_SQS_ENDPOINT")) {
		if len(o.only) > 0 && !slices.Contains(o.only, s.name) {
			continue
		}
		t, err := measure(ctx, &s, o)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := t.write(os.Stdout); err != nil {
			return err
		}
		tables = append(tables, t)
	}
	if o.check {
		return writeTargets(os.Stdout, tables)
	}
	return nil
}

// measure runs one scenario. Each round measures every consumer once, beginning
// with another one, so that what else the machine does falls on all alike.
func measure(ctx context.Context, s *scenario, o *options) (t table, err error) {
	t.scenario = *s
	began := time.Now()
	up, err := startServer(ctx, s.server)
	if err != nil {
		return t, err
	}
	defer func() {
		if stopped := up.stop(); err == nil {
			err = stopped
		}
	}()
	all := consumers()
	samples := make([][]sample, len(all))
	for round := range o.rounds {
		for i := range all {
			at := (i + round) % len(all)
			c := &all[at]
			one, err := up.run(ctx, c, s, scaled(c.messages(s), o.scale))
			if err != nil {
				return t, fmt.Errorf("%s: %w", c.name, err)
			}
			samples[at] = append(samples[at], one)
			fmt.Fprintf(os.Stderr, "%s %d/%d: %s: %.0f messages/s\n", s.name, round+1, o.rounds,
				c.name, float64(one.Messages)/one.Elapsed.Seconds())
		}
	}
	for i := range all {
		t.rows = append(t.rows, summarize(all[i].name, samples[i]))
	}
	fmt.Fprintf(os.Stderr, "%s took %v\n", s.name, time.Since(began).Round(time.Second))
	return t, nil
}

// scaled is at least ten: fewer do not fill one receive.
func scaled(messages int, scale float64) int { return max(int(float64(messages)*scale), 10) }
