package poller_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
	"github.com/ackwise/ackwise/retry"
)

// always is Fault.Times for a fault that stays.
const always = -1

// steady is a configuration without any chance in it: one try, and delays of ten
// seconds.
func steady() consumer.Config {
	return consumer.Config{
		Retry:      retry.Policy{Tries: 1},
		Redelivery: consumer.Redelivery{Backoff: retry.Constant(10 * time.Second)},
	}
}

// guarded adds a guard on a store in memory.
func guarded(t *testing.T, cfg consumer.Config, lease time.Duration) (consumer.Config, *memstore.Store) {
	t.Helper()
	st := memstore.New()
	g, err := idempotency.New(st, idempotency.Config{Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Idempotency = g
	return cfg, st
}

// takes is a handler that works for d, or until its context ends, whose cause it
// returns then.
func takes(d time.Duration) consumer.HandlerFunc {
	return func(ctx context.Context, _ *consumer.Message) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ignores is a handler that takes d whatever its context says.
func ignores(d time.Duration) consumer.HandlerFunc {
	return func(context.Context, *consumer.Message) error { time.Sleep(d); return nil }
}

// hang makes all calls of an action hang until their callers give up.
func (r *rig) hang(action string) (release func()) {
	return r.srv.Inject(sqstest.Fault{Action: action, Delay: 1000 * time.Hour, Times: always})
}

// calls returns when calls of an action began, since the rig was made.
func (r *rig) calls(action string) (at []time.Duration) {
	for _, c := range r.srv.Log() {
		if c.Action == action {
			at = append(at, c.Time.Sub(r.began))
		}
	}
	return at
}

// after waits for d, and until nothing is going on at that moment.
func (r *rig) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// silent fails the test if SQS is, or was, called after a moment.
func (r *rig) silent(since time.Time) {
	r.t.Helper()
	r.after(time.Hour)
	for _, c := range r.srv.Log() {
		if c.Time.After(since) || !c.Done {
			r.t.Errorf("%s at %v, after the end at %v; over: %t", c.Action, c.Time.Sub(r.began), since.Sub(r.began), c.Done)
		}
	}
}

// receives are how often each message was received, by body, of those still there.
func (r *rig) receives() map[string]int {
	by := map[string]int{}
	for _, m := range r.q.Messages() {
		by[m.Body] = m.ReceiveCount
	}
	return by
}

// logged are the lines of the log that have all of the texts.
func (r *rig) logged(texts ...string) (found []string) {
	for line := range strings.Lines(r.log.String()) {
		if !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(line, s) }) {
			found = append(found, line)
		}
	}
	return found
}

// roundTripper makes an HTTP client of a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// clientOver is an SQS client that makes its requests through rt.
func clientOver(rt http.RoundTripper) *sqs.Client {
	return sqs.New(sqs.Options{
		Region:      sqstest.DefaultRegion,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient:  &http.Client{Transport: rt},
	})
}

// tower counts how many of something there are at once.
type tower struct{ now, most, all atomic.Int64 }

func (c *tower) enter() {
	c.all.Add(1)
	for n := c.now.Add(1); ; {
		m := c.most.Load()
		if n <= m || c.most.CompareAndSwap(m, n) {
			return
		}
	}
}

func (c *tower) leave() { c.now.Add(-1) }

// actionOf is the API action of a request.
func actionOf(r *http.Request) string {
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return action
}

// counts are how often each text is there.
func counts(texts []string) map[string]int {
	n := map[string]int{}
	for _, s := range texts {
		n[s]++
	}
	return n
}

func short(o consumer.Outcome) string {
	if o.Acknowledged() {
		return o.Verdict.String()
	}
	return fmt.Sprintf("%v+%v", o.Verdict, o.Delay)
}

func contains(s, part string) bool { return strings.Contains(s, part) }

func join(list []string) string { return strings.Join(list, " ") }

// lastOf is the place in the log of the last call of an action.
func lastOf(r *rig, action string) int {
	for i, c := range slices.Backward(r.srv.Log()) {
		if c.Action == action {
			return i
		}
	}
	return -1
}

// all are the outcomes so far.
func (r *rig) all() (outs []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.outcomes {
		outs = append(outs, short(o))
	}
	return outs
}

type panics struct{ slog.Handler }

func (panics) Enabled(context.Context, slog.Level) bool { return true }

func (panics) Handle(context.Context, slog.Record) error { panic("log") }

// panicking is a logger that panics.
func panicking() *slog.Logger { return slog.New(panics{slog.DiscardHandler}) }

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
