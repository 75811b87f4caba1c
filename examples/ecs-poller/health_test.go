package main

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"
)

// serve serves an answer as the poller's health, and returns the address.
func serve(t *testing.T, addr string, status int, reason string) string {
	t.Helper()
	h, err := serveHealth(t.Context(), addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, reason, status)
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	return h.addr
}

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	healthy := serve(t, "127.0.0.1:0", http.StatusOK, "ok")
	_, everywhere, err := net.SplitHostPort(serve(t, "0.0.0.0:0", http.StatusOK, "ok"))
	if err != nil {
		t.Fatal(err)
	}
	for addr, tt := range map[string]struct {
		code int
		want string
	}{
		healthy:                 {exitDrained, ""},
		"0.0.0.0:" + everywhere: {exitDrained, ""},
		":" + everywhere:        {exitDrained, ""},
		serve(t, "127.0.0.1:0", http.StatusServiceUnavailable, "no receive for 2m0s"): {exitFailed, "no receive for 2m0s"},
		freeAddress(t): {exitFailed, "refused"},
		"":             {exitFailed, "ORDERS_HEALTH_ADDR"},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"-healthcheck"}, variables("ORDERS_HEALTH_ADDR", addr), &out, &errs)
		if code != tt.code || !strings.Contains(errs.String(), tt.want) || (tt.want == "") != (errs.Len() == 0) {
			t.Errorf("%q: exit code %d, stderr %q; want %d, %q", addr, code, &errs, tt.code, tt.want)
		}
	}
}

// Only the one path, and only to be read.
func TestHealthEndpoint(t *testing.T) {
	t.Parallel()
	addr := serve(t, "127.0.0.1:0", http.StatusOK, "ok")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for request, want := range map[string]int{
		"GET /healthz": 200, "HEAD /healthz": 200, "POST /healthz": 405, "GET /": 404, "GET /healthz/x": 404,
	} {
		method, path, _ := strings.Cut(request, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", request, resp.StatusCode, want)
		}
	}
	if _, err := serveHealth(t.Context(), addr, http.NotFoundHandler()); err == nil {
		t.Error("an address that is taken was served")
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
