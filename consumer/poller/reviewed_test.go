package poller_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// Twenty deep groups keep ten slots busy, although SQS fills each receive from one
// group: two hundred messages of ten seconds take two hundred seconds, and a little.
func TestFIFO_DeepGroupsKeepAllSlotsBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{queue: "orders.fifo", handler: func(context.Context, *consumer.Message) error {
			time.Sleep(10 * time.Second)
			return nil
		}})
		for g := range 20 {
			group := fmt.Sprint(g)
			for i := range 10 {
				r.q.SendGroup(group, group+"-"+fmt.Sprint(i))
			}
		}
		r.run()
		time.Sleep(4 * time.Minute)
		want(t, "left", r.q.Len(), 0)
		r.drained()
	})
}

// Waiting for a slot uses up nothing of MaxHold: sixty messages of 40 minutes at ten
// slots take four hours, and none is cut off.
func TestMaxHold_WaitingDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{handler: func(ctx context.Context, _ *consumer.Message) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(40 * time.Minute):
				return nil
			}
		}})
		r.q.Send(bodies(60)...)
		r.run()
		time.Sleep(4*time.Hour + time.Minute)
		want(t, "left", r.q.Len(), 0)
		for body, list := range r.verdicts() {
			want(t, "verdicts of "+body, list, []string{"done"})
		}
		r.drained()
	})
}

// A message that was cut off by MaxHold, and comes to the same poller while its
// handler ends, is not left hidden for a whole visibility more.
func TestMaxHold_ComesBackSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var began []time.Duration
		start := time.Now()
		r := newRig(t, setup{
			about:  sqstest.QueueConfig{Visibility: 10 * time.Minute},
			poller: poller.Config{MaxHold: 20 * time.Minute},
			handler: func(ctx context.Context, _ *consumer.Message) error {
				began = append(began, time.Since(start))
				<-ctx.Done()
				time.Sleep(100 * time.Millisecond)
				return ctx.Err()
			},
		})
		r.q.Send("a")
		r.run()
		time.Sleep(22 * time.Minute)
		synctest.Wait()
		if len(began) < 2 || began[1] > 21*time.Minute {
			t.Errorf("begun at %v, want the second time about 20 minutes on", began)
		}
		if text := r.log.String(); !strings.Contains(text, "MaxHold") {
			t.Errorf("the log does not say why:\n%s", text)
		}
		r.drained()
	})
}

// blocking is a log that blocks once it is told to.
type blocking struct {
	slog.Handler

	on      *atomic.Bool
	release chan struct{}
}

func (b blocking) Handle(ctx context.Context, r slog.Record) error {
	if b.on.Load() {
		<-b.release
	}
	return b.Handler.Handle(ctx, r)
}

// A log that blocks holds up neither receiving nor the end.
func TestLog_ThatBlocksHoldsUpNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := blocking{slog.DiscardHandler, new(atomic.Bool), make(chan struct{})}
		r := newRig(t, setup{cfg: consumer.Config{Logger: slog.New(log)}})
		r.run()
		time.Sleep(time.Second)
		log.on.Store(true)
		remove := r.srv.Inject(sqstest.Fault{Action: "ReceiveMessage", Err: sqstest.OverLimit(), Times: -1})
		time.Sleep(30 * time.Second)
		remove()
		r.q.Send("a")
		time.Sleep(30 * time.Second)
		want(t, "left", r.q.Len(), 0)
		if took := r.drained(); took > 30*time.Second {
			t.Errorf("the drain took %v", took)
		}
		close(log.release)
	})
}

// through is a way to the server that does something to answers.
type through struct {
	http.RoundTripper

	change func(action string, answer *http.Response)
}

func (w through) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := w.RoundTripper.RoundTrip(r)
	if err == nil {
		_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		w.change(action, answer)
	}
	return answer, err
}

func newRigThrough(t *testing.T, s setup, change func(action string, answer *http.Response)) *rig {
	t.Helper()
	srv := sqstest.NewServer(sqstest.Config{})
	s.srv = srv
	s.over = func(next http.RoundTripper) http.RoundTripper { return through{next, change} }
	return newRig(t, s)
}

// Something between SQS and us that is out of order for a moment costs no message a
// second run, whatever it answers.
func TestDelete_InsistsWhateverAnswers503(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failures := 0
		r := newRigThrough(t, setup{}, func(action string, answer *http.Response) {
			if action == "DeleteMessageBatch" && failures < 5 {
				failures++
				answer.StatusCode, answer.Body = http.StatusServiceUnavailable, io.NopCloser(strings.NewReader(`{"message":"Service Unavailable"}`))
				answer.ContentLength = -1
			}
		})
		r.q.Send("a")
		r.run()
		time.Sleep(5 * time.Minute)
		want(t, "verdicts", r.verdicts()["a"], []string{"done"})
		want(t, "unconfirmed", strings.Contains(r.log.String(), "not confirmed"), false)
		r.drained()
	})
}

// lagging is a body that takes its time.
type lagging struct {
	io.ReadCloser

	lag time.Duration
}

func (l *lagging) Read(p []byte) (int, error) {
	time.Sleep(l.lag)
	l.lag = 0
	return l.ReadCloser.Read(p)
}

// The visibility counts from when the answer began to come: a handler that is
// entered late is cut off when somebody else may have the message.
func TestReceive_SlowAnswerCountsAgainstTheVisibility(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := true
		var cause error
		r := newRigThrough(t, setup{
			poller: poller.Config{Visibility: 10 * time.Second, Prefetch: -1}, cfg: consumer.Config{Concurrency: 1},
			handler: func(ctx context.Context, _ *consumer.Message) error {
				select {
				case <-ctx.Done():
					cause = context.Cause(ctx)
					return cause
				case <-time.After(time.Minute):
					return nil
				}
			},
		}, func(action string, answer *http.Response) {
			if action == "ReceiveMessage" && slow {
				slow, answer.Body = false, &lagging{answer.Body, 9500 * time.Millisecond}
			}
		})
		r.srv.Inject(sqstest.Fault{Action: "ChangeMessageVisibilityBatch", Err: sqstest.AccessDenied(), Times: -1})
		r.q.Send("a")
		r.run()
		time.Sleep(10500 * time.Millisecond)
		synctest.Wait()
		if !errors.Is(cause, consumer.ErrLeaseLost) {
			t.Errorf("cause after 10.5 s: %v, want that the lease was lost", cause)
		}
		r.drained()
	})
}
