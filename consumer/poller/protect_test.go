package poller_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ackwise/ackwise/consumer/poller"
)

// The task is protected when there is work, and no longer when Run has returned. In
// real time, and not parallel: the agent's address is in the environment.
func TestRun_ProtectsTheTask(t *testing.T) {
	bodies := make(chan string, 10)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		_, _ = io.WriteString(w, `{"protection":{}}`)
	}))
	defer agent.Close()
	t.Setenv("ECS_AGENT_URI", agent.URL)
	r := newRig(t, setup{handler: ignores(10 * time.Millisecond), poller: poller.Config{ProtectTask: true, Grace: time.Second}})
	r.q.Send("a")
	r.run()
	want(t, "when work came", <-bodies, `{"ProtectionEnabled":true,"ExpiresInMinutes":10}`)
	r.drained()
	want(t, "in the end", <-bodies, `{"ProtectionEnabled":false}`)
	want(t, "more", len(bodies), 0)
}

// An agent that hangs does not hold up the end.
func TestRun_AgentThatHangs(t *testing.T) {
	over := make(chan struct{})
	agent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer agent.Close()
	defer close(over)
	t.Setenv("ECS_AGENT_URI", agent.URL)
	r := newRig(t, setup{cfg: steady(), handler: takes(time.Hour), poller: poller.Config{ProtectTask: true, Grace: time.Second}})
	r.q.Send("a")
	r.run()
	for r.q.InFlight() == 0 {
		time.Sleep(time.Millisecond)
	}
	if took := r.drained(); took > 6*time.Second {
		t.Errorf("took %v", took)
	}
	want(t, "visible", r.q.Visible(), 1)
}
