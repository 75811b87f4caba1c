package taskprotect

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Answers of the agent.
const (
	yes     = `{"protection":{"ExpirationDate":"2026-11-30T10:10:00Z","ProtectionEnabled":true,"TaskArn":"arn:task"}}`
	no      = `{"protection":{"ProtectionEnabled":false,"TaskArn":"arn:task"}}`
	failure = `{"failure":{"Arn":"arn:task","Reason":"DEPLOYMENT_BLOCKED","Detail":"a deployment waits"}}`
)

// call is a request that reached the agent.
type call struct {
	At   time.Duration // since the start of the test
	Body string
}

// Bodies of the calls.
const (
	protect   = `{"ProtectionEnabled":true,"ExpiresInMinutes":10}`
	unprotect = `{"ProtectionEnabled":false}`
)

// agent is the ECS agent as an HTTP transport. It agrees to everything unless it
// is told otherwise.
type agent struct {
	t       *testing.T
	start   time.Time
	working atomic.Bool

	mu       sync.Mutex // for short sections only
	calls    []call
	warnings []string
	answer   func(n int, body string) (status int, answer string, err error) // nil: as asked for
}

var errHang = errors.New("no answer")

func (a *agent) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	body := string(text)
	a.mu.Lock()
	a.calls = append(a.calls, call{time.Since(a.start), body})
	n, answer := len(a.calls), a.answer
	a.mu.Unlock()
	status, said := http.StatusOK, no
	if strings.Contains(body, "true") {
		said = yes
	}
	if answer != nil {
		status, said, err = answer(n, body)
	}
	if errors.Is(err, errHang) {
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader(said)), Request: r}, nil
}

func (a *agent) warn(msg string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.warnings = append(a.warnings, msg+": "+err.Error())
}

func (a *agent) idle() bool { return !a.working.Load() }

// seen returns the calls and the warnings so far.
func (a *agent) seen() ([]call, []string) {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]call(nil), a.calls...), append([]string(nil), a.warnings...)
}

// bubble runs f with a Protector that runs, in virtual time, and ends it.
func bubble(t *testing.T, answer func(int, string) (int, string, error), f func(a *agent, p *Protector, end func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := &agent{t: t, start: time.Now(), answer: answer}
		p, err := New("http://169.254.170.2/api/0123", a.warn)
		if err != nil {
			t.Fatal(err)
		}
		p.client = client(a)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { p.Run(ctx, a.idle) })
		end := func() { cancel(); wg.Wait() }
		defer end()
		f(a, p, end)
	})
}

func at(d time.Duration, body string) call { return call{d, body} }
