package taskprotect

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A real connection: what the agent gets, byte for byte.
func TestWire(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	came := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, fmt.Sprintf("%s %s %s %d %s %v", r.Method, r.RequestURI, r.Header.Get("Content-Type"), r.ContentLength, body, err))
		mu.Unlock()
		if strings.Contains(string(body), "true") {
			_, _ = io.WriteString(w, yes)
			came <- struct{}{}
			return
		}
		_, _ = io.WriteString(w, no)
	}))
	defer server.Close()
	p, err := New(server.URL+"/api/0123-456", func(msg string, err error) { t.Errorf("%s: %v", msg, err) })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.Busy()
	var wg sync.WaitGroup
	wg.Go(func() { p.Run(ctx, func() bool { return false }) })
	<-came
	cancel()
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"PUT /api/0123-456/task-protection/v1/state application/json 48 " + protect + " <nil>",
		"PUT /api/0123-456/task-protection/v1/state application/json 27 " + unprotect + " <nil>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestNew_Errors(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"":                                "ECS_AGENT_URI",
		"169.254.170.2/api/1":             `"169.254.170.2/api/1"`,
		"/api/1":                          `"/api/1"`,
		"unix:///run/agent.sock":          "no http URL with a host",
		"http://":                         "no http URL with a host",
		"http://[fe80::1":                 "no http URL with a host",
		"http://169.254.170.2/api/1?a=b":  "no http URL with a host",
		"http://169.254.170.2/api/1#part": "no http URL with a host",
	} {
		_, err := New(uri, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "turn task protection off") {
			t.Errorf("%q: error %v, want one with %q that says what to change", uri, err, want)
		}
	}
	if p, err := New("http://169.254.170.2/api/1/", nil); err != nil || p.endpoint != "http://169.254.170.2/api/1/task-protection/v1/state" {
		t.Errorf("%+v, %v", p, err)
	}
}
