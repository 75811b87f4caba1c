package poller_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
)

// asked is what the health endpoint answers.
func (r *rig) asked() (status int, body string) {
	w := httptest.NewRecorder()
	r.p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	want(r.t, "type", w.Header().Get("Content-Type"), "text/plain; charset=utf-8")
	want(r.t, "cache", w.Header().Get("Cache-Control"), "no-store")
	return w.Code, w.Body.String()
}

func (r *rig) wantHealth(status int, body string) {
	r.t.Helper()
	code, text := r.asked()
	if code != status || !contains(text, body) {
		r.t.Errorf("health at %v: %d %q, not %d %q", time.Since(r.began), code, text, status, body)
	}
	if err := r.p.Healthy(); (err == nil) != (status == http.StatusOK) {
		r.t.Errorf("Healthy: %v", err)
	}
}

// Before, during and after; idle polls, slow handlers and drains are healthy.
func TestHealth_OfAPollersLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{handler: ignores(3 * time.Minute), poller: poller.Config{Grace: 10 * time.Minute}})
		r.wantHealth(503, "not running yet")
		r.run()
		for range 120 {
			r.after(time.Second)
			r.wantHealth(200, "ok\n")
		}
		r.q.Send(bodies(30)...)
		for range 100 {
			r.after(time.Second)
			r.wantHealth(200, "ok\n")
		}
		r.stop()
		for range 70 {
			r.after(time.Second)
			r.wantHealth(200, "ok\n")
		}
		r.after(time.Minute)
		if err := <-r.done; err != nil {
			t.Error(err)
		}
		r.wantHealth(503, "has ended")
	})
}

// SQS that hangs is nothing that a restart would help with.
func TestHealth_WhileSQSHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{handler: takes(time.Hour)})
		r.q.Send(bodies(12)...)
		r.run()
		r.after(time.Second)
		r.hang("")
		for range 300 {
			r.after(time.Second)
			r.wantHealth(200, "ok\n")
		}
		r.drained()
	})
}

// A receive that does not even return when it is cut is a poller that receives no
// more.
func TestHealth_ReceiveThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{over: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				if actionOf(req) == "ReceiveMessage" {
					time.Sleep(5 * time.Minute)
				}
				return next.RoundTrip(req)
			})
		}})
		r.run()
		r.after(time.Minute)
		r.wantHealth(200, "ok\n")
		r.after(time.Second)
		r.wantHealth(503, "a receive has not returned for 1m1s")
		r.after(10 * time.Minute)
		r.drained()
	})
}

// All slots held by handlers that ignore their contexts: only a new process helps.
func TestHealth_Stuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := steady()
		cfg.Concurrency = 1
		r := newRig(t, setup{cfg: cfg, handler: ignores(time.Hour), poller: poller.Config{MaxHold: 40 * time.Second, Prefetch: -1}})
		// Another poller, of the same consumer, is stuck with it.
		r.q.Send("a")
		r.run()
		r.after(40900 * time.Millisecond)
		r.wantHealth(200, "ok")
		r.after(101 * time.Millisecond)
		if err := r.p.Healthy(); err == nil {
			t.Error("healthy although stuck")
		}
		if err := <-r.done; err == nil {
			t.Error("Run returned nil although it was stuck")
		}
		time.Sleep(time.Hour)
	})
}

// A context's values reach the handlers, and its end does not, before the grace is
// over.
func TestRun_ContextOfHandlers(t *testing.T) {
	t.Parallel()
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		var value any
		var err error
		r := newRig(t, setup{handler: func(ctx context.Context, _ *consumer.Message) error {
			time.Sleep(3 * time.Second)
			value, err = ctx.Value(key{}), ctx.Err()
			return nil
		}})
		r.q.Send("a")
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
		go func() { r.done <- r.p.Run(ctx) }()
		r.after(time.Second)
		cancel()
		if err := <-r.done; err != nil {
			t.Error(err)
		}
		want(t, "value", value, any("v"))
		want(t, "end", err, nil)
		want(t, "left", r.q.Len(), 0)
	})
}
