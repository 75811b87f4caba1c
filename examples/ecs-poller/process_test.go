package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What cannot work says why, and ends with 1.
func TestNoQueue_Process(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := start(t, append(s.env, "ORDERS_QUEUE_URL="+s.queue.URL()+"-x")...)
	code := p.exit()
	log := p.log()
	last := log[len(log)-1]
	if code != exitFailed || last.Level != "ERROR" || !strings.Contains(last.Error, "NonExistentQueue") {
		t.Errorf("exit code %d, the last line is %+v; want 1 and the reason", code, last)
	}
}

// The image's own health check asks the worker that runs beside it.
func TestHealthcheck_Process(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	addr := "ORDERS_HEALTH_ADDR=" + freeAddress(t)
	p := start(t, append(s.env, addr, "ORDERS_GRACE=2s")...)
	p.await("started", 1)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		out, err := p.healthcheck(addr)
		if err == nil {
			break
		}
		if time.Now().After(deadline) { // it is not healthy before it has begun
			t.Fatalf("not healthy after a minute: %v, %q", err, out)
		}
	}
	s.stop(p)
	if p.container != "" {
		return // there is nothing left to ask in
	}
	if out, err := p.healthcheck(addr); err == nil || !strings.Contains(out, "refused") {
		t.Errorf("after its end: %v, %q", err, out)
	}
}

// Settings that only the packages they go to can judge.
func TestWrongSettings_Process(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for variable, want := range map[string]string{
		"AWS_REGION=":                                 "AWS_REGION is not set",
		"ORDERS_PROTECT_TASK=true":                    "ECS_AGENT_URI",
		"ORDERS_HEALTH_ADDR=" + taken.Addr().String(): "address already in use",
	} {
		p := start(t, "ORDERS_QUEUE_URL="+queueURL, variable)
		if code := p.exit(); code != exitSettings || !strings.Contains(p.stderr.String(), want) {
			t.Errorf("%s: exit code %d, stderr %q; want 2 and %q", variable, code, &p.stderr, want)
		}
	}
}

// The worker has ECS's agent protect its task while it works, and not any longer.
func TestProtectTask_Process(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	first := make(chan struct{}, 2)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.Path+" "+string(body))
		mu.Unlock()
		first <- struct{}{}
		on := "false"
		if strings.Contains(string(body), "true") {
			on = "true"
		}
		_, _ = io.WriteString(w, `{"protection":{"ProtectionEnabled":`+on+`,"TaskArn":"arn:task"}}`)
	}))
	t.Cleanup(agent.Close)
	s := newShop(t)
	p := start(t, append(s.env, "ORDERS_PROTECT_TASK=true", "ECS_AGENT_URI="+agent.URL+"/api/1", "ORDERS_GRACE=2s")...)
	p.await("started", 1)
	for range 20 {
		s.send(Order{Amount: 100, WorkMS: 50})
	}
	p.await("order booked", 20)
	<-first
	s.stop(p)
	mu.Lock()
	defer mu.Unlock()
	const path = "PUT /api/1/task-protection/v1/state "
	want := []string{path + `{"ProtectionEnabled":true,"ExpiresInMinutes":10}`, path + `{"ProtectionEnabled":false}`}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for _, l := range p.log() {
		if l.Level == "WARN" {
			t.Errorf("warning %+v", l)
		}
	}
}
