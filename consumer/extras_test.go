package consumer_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

func TestMiddleware_FirstIsOutermostAndRunsPerTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		note := func(name string) consumer.Middleware {
			return func(next consumer.Handler) consumer.Handler {
				return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
					calls = append(calls, name)
					err := next.Handle(ctx, m)
					calls = append(calls, "/"+name)
					return err
				})
			}
		}
		cfg := steady(2)
		cfg.TryTimeout = time.Second
		timed := func(next consumer.Handler) consumer.Handler {
			return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
				if _, ok := ctx.Deadline(); !ok {
					t.Error("middleware runs outside TryTimeout")
				}
				return next.Handle(ctx, m)
			})
		}
		cfg.Middleware = []consumer.Middleware{note("1"), timed, note("2")}
		newConsumer(t, cfg, script{"a": steps(errTest)}).Process(t.Context(), newSource(t), deliveries("a"))
		want(t, "calls", strings.Join(calls, " "), "1 2 /2 /1 1 2 /2 /1")
	})
}

// panicker is a slog.Handler that panics, but when it is asked whether it is
// enabled, in calm.
type panicker struct{ calm bool }

func (p panicker) Enabled(context.Context, slog.Level) bool {
	if !p.calm {
		panic("log")
	}
	return true
}
func (panicker) Handle(context.Context, slog.Record) error { panic("log") }
func (p panicker) WithAttrs([]slog.Attr) slog.Handler      { return p }
func (p panicker) WithGroup(string) slog.Handler           { return p }

// Whatever an extra does, the verdicts are those of a run without it.
func TestExtras_PanicsChangeNoVerdict(t *testing.T) {
	t.Parallel()
	boom := func(int) time.Duration { panic("backoff") }
	for name, set := range map[string]func(*consumer.Config){
		"Observe":            func(c *consumer.Config) { c.Observe = func(consumer.Event) { panic("observe") } },
		"Logger":             func(c *consumer.Config) { c.Logger = slog.New(panicker{calm: true}) },
		"Logger.Enabled":     func(c *consumer.Config) { c.Logger = slog.New(panicker{}) },
		"Redelivery.Backoff": func(c *consumer.Config) { c.Redelivery.Backoff = boom },
		"Retry.Backoff":      func(c *consumer.Config) { c.Retry.Backoff = boom },
		"DeadLetter": func(c *consumer.Config) {
			c.DeadLetter = parkFunc(func(context.Context, consumer.Outcome) error { panic("park") })
		},
		"all": func(c *consumer.Config) {
			c.Observe = func(consumer.Event) { panic("observe") }
			c.Logger = slog.New(panicker{})
			c.Redelivery.Backoff, c.Retry.Backoff = boom, boom
		},
	} {
		for _, atOnce := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					cfg := steady(3)
					set(&cfg)
					h := script{"a1": steps(errTest), "b1": fails, "c1": always(retry.Permanent(errTest))}
					src := newFIFO(t)
					src.ack = func(_ context.Context, o consumer.Outcome) error {
						if o.Delivery.ID == "e1" {
							return errTest // so that the event of it is there too
						}
						return nil
					}
					s := newConsumer(t, cfg, h).Open(src, consumer.SessionOptions{SettlesAtOnce: atOnce})
					var verdicts []string
					for _, o := range s.Run(deliveries("a1", "b1", "b2", "c1", "d1", "e1")) {
						verdicts = append(verdicts, o.Delivery.ID+"="+o.Verdict.String())
						if !o.Acknowledged() && (o.Delay < time.Second || o.Delay > 12*time.Hour) {
							t.Errorf("%s: delay %v", o.Delivery.ID, o.Delay)
						}
					}
					want(t, "verdicts", verdicts, []string{"a1=done", "b1=retry", "b2=deferred", "c1=rejected", "d1=done", "e1=done"})
				})
			})
		}
	}
}

func TestExtras_PanicOfMiddlewareIsTheMessagesFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := steady(2)
		cfg.Middleware = []consumer.Middleware{func(next consumer.Handler) consumer.Handler {
			return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
				if m.ID == "a" {
					panic("middleware")
				}
				return next.Handle(ctx, m)
			})
		}}
		outs := newConsumer(t, cfg, script{}).Process(t.Context(), newSource(t), deliveries("a", "b"))
		wantOutcomes(t, outs, "a=retry+10s", "b=done")
		want(t, "tries", outs[0].Tries, 2)
	})
}

// What panicked is said in the log.
func TestExtras_PanicsAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		cfg := steady(2)
		cfg.Logger = log.logger()
		cfg.Observe = func(consumer.Event) { panic("observer's fault") }
		cfg.Redelivery.Backoff = func(int) time.Duration { panic("backoff's fault") }
		newConsumer(t, cfg, script{"a": fails}).Process(t.Context(), newSource(t), deliveries("a"))
		for _, text := range []string{"observer's fault", "backoff's fault"} {
			if !strings.Contains(log.String(), text) {
				t.Errorf("the log does not say %q:\n%s", text, log.String())
			}
		}
	})
}

// lines is a log in memory.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func TestObserve_ExactlyOneOutcomePerDelivery(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			events := map[string]int{}
			cfg := steady(2)
			cfg.Observe = func(e consumer.Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Queue != fifoARN || e.Message == nil {
					t.Errorf("event without queue or message: %+v", e)
				}
				switch e.Kind {
				case consumer.EventOutcome:
					events[e.Outcome.Delivery.ID+"="+e.Outcome.Verdict.String()]++
				case consumer.EventTry:
					events[fmt.Sprintf("%s try %d %v", e.Message.ID, e.Try, e.Duration)]++
				default:
					t.Errorf("event of kind %d", e.Kind)
				}
			}
			h := script{"a1": func(ctx context.Context) error { _ = second(ctx); return errTest }}
			s := newConsumer(t, cfg, h).Open(newFIFO(t), consumer.SessionOptions{SettlesAtOnce: atOnce})
			s.Run([]*consumer.Delivery{delivery("a1", 1), delivery("a1", 2), delivery("a2", 1), delivery("b1", 1)})
			want(t, "events", events, map[string]int{
				"a1 try 1 1s": 1, "a1 try 2 1s": 1, "b1 try 1 0s": 1,
				"a1=retry": 2, "a2=deferred": 1, "b1=done": 1,
			})
		})
	}
}
