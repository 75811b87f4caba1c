package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

var errTest = errors.New("declined")

// steady is a configuration without any chance in it: waits of a second inside,
// delays of ten outside.
func steady(tries int) consumer.Config {
	return consumer.Config{
		Retry:      retry.Policy{Tries: tries, Backoff: retry.Constant(time.Second)},
		Redelivery: consumer.Redelivery{Backoff: retry.Constant(10 * time.Second)},
		Logger:     slog.New(slog.DiscardHandler),
	}
}

func newConsumer(tb testing.TB, cfg consumer.Config, h consumer.Handler) *consumer.Consumer {
	tb.Helper()
	c, err := consumer.New(h, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// script is a handler that does what is written for the message's id, and
// nothing for others.
type script map[string]func(ctx context.Context) error

func (s script) Handle(ctx context.Context, m *consumer.Message) error {
	if do := s[m.ID]; do != nil {
		return do(ctx)
	}
	return nil
}

// steps returns a function that answers with one of errs at each call, and nil
// when they are used up.
func steps(errs ...error) func(context.Context) error {
	next := 0
	return func(context.Context) error {
		if next == len(errs) {
			return nil
		}
		next++
		return errs[next-1]
	}
}

func fails(context.Context) error { return errTest }

// sleeps returns a function that takes d, whatever its context says.
func sleeps(d time.Duration) func(context.Context) error {
	return func(context.Context) error { time.Sleep(d); return nil }
}

// works returns a function that takes d, or until its context ends, whose cause
// it returns then.
func works(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// span is one call of the handler.
type span struct {
	ID       string
	From, To time.Duration // since the journal was made
}

// journal remembers the calls of a handler.
type journal struct {
	began time.Time

	mu    sync.Mutex
	spans []span
	now   int
	most  int // calls at the same time
}

func newJournal() *journal { return &journal{began: time.Now()} }

// wrap is a Middleware.
func (j *journal) wrap(next consumer.Handler) consumer.Handler {
	return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
		j.mu.Lock()
		j.spans = append(j.spans, span{m.ID, time.Since(j.began), -1})
		at := len(j.spans) - 1
		j.now++
		j.most = max(j.most, j.now)
		j.mu.Unlock()
		defer func() {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.now--
			j.spans[at].To = time.Since(j.began)
		}()
		return next.Handle(ctx, m)
	})
}

// starts returns id@time of every call, sorted by time, then id.
func (j *journal) starts() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	spans := slices.Clone(j.spans)
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.From != b.From {
			return int(a.From - b.From)
		}
		return cmpString(a.ID, b.ID)
	})
	var all []string
	for _, s := range spans {
		all = append(all, fmt.Sprintf("%s@%v", s.ID, s.From))
	}
	return all
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

func (j *journal) atOnce() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.most
}

// journaled adds the journal to a configuration, outermost.
func journaled(cfg consumer.Config, j *journal) consumer.Config {
	cfg.Middleware = append([]consumer.Middleware{j.wrap}, cfg.Middleware...)
	return cfg
}

// want fails the test if got is not what was wanted.
func want[T any](tb testing.TB, what string, got, wanted T) {
	tb.Helper()
	if diff := cmp.Diff(wanted, got); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantOutcomes compares outcomes as short writes them.
func wantOutcomes(tb testing.TB, outs []consumer.Outcome, wanted ...string) {
	tb.Helper()
	want(tb, "outcomes", shorts(outs), wanted)
}

// wantErr checks every error that err should wrap.
func wantErr(tb testing.TB, err error, targets ...error) {
	tb.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			tb.Errorf("error is %v, not %v", err, target)
		}
	}
}

// timeout is a context that ends after d.
func timeout(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
