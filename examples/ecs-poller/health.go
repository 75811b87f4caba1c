package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const healthPath = "/healthz"

// askTimeout is below the usual timeout of a container health check, 5 s, so that
// the reason gets out.
const askTimeout = 3 * time.Second

// health is the endpoint that serves the poller's own answer.
type health struct {
	addr   string
	server *http.Server
	done   chan struct{}
}

func serveHealth(ctx context.Context, addr string, h http.Handler) (*health, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+healthPath, h)
	s := &health{
		addr:   listener.Addr().String(),
		server: &http.Server{Handler: mux, ReadHeaderTimeout: askTimeout, IdleTimeout: askTimeout},
		done:   make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		_ = s.server.Serve(listener)
	}()
	return s, nil
}

func (h *health) close() {
	_ = h.server.Close()
	<-h.done
}

// askHealth asks the health endpoint of the program that runs beside this one.
func askHealth(ctx context.Context, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("ORDERS_HEALTH_ADDR is %q: set it to the address that the poller serves its health at: %w", addr, err)
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+healthPath, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy: it is in this container
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		reason, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return errors.New(resp.Status + ": " + strings.TrimSpace(string(reason)))
	}
	return nil
}
