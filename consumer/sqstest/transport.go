package sqstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// transport answers requests in the calling goroutine.
type transport struct{ s *Server }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	if err := context.Cause(r.Context()); err != nil {
		return nil, err
	}
	a, err := t.s.serve(r.Context(), r.Header, "", body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status:        strconv.Itoa(a.status) + " " + http.StatusText(a.status),
		StatusCode:    a.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        a.header,
		Body:          io.NopCloser(bytes.NewReader(a.body)),
		ContentLength: int64(len(a.body)),
		Request:       r,
	}, nil
}

// ServeHTTP implements http.Handler: the same server for programs that reach it
// over a socket. See [Server.Listen].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
	if err != nil {
		http.Error(w, "cannot read the request", http.StatusBadRequest)
		return
	}
	a, err := s.serve(r.Context(), r.Header, "http://"+r.Host, body)
	if err != nil {
		// The client sees the connection break, with no answer.
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// Listen serves the server on a TCP address, for programs in other processes
// (endpoint URL of the SDK or the AWS CLI). An empty addr means a free loopback
// port. It returns the base URL, such as http://127.0.0.1:4566; queue URLs given
// out to clients that come this way begin with it. The listener and its
// goroutines end with [Server.Close]. Sockets do not work in a synctest bubble:
// use [Server.Client] there.
func (s *Server) Listen(addr string) (baseURL string, err error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	if !s.enter() {
		return "", errClosed
	}
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", addr)
	if err != nil {
		s.exit()
		return "", fmt.Errorf("sqstest: %w", err)
	}
	h := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	baseURL = "http://" + l.Addr().String()
	s.mu.Lock()
	late := s.closed
	s.http = append(s.http, h)
	if s.baseURL == "" {
		s.baseURL = baseURL
	}
	s.mu.Unlock()
	if late {
		_ = l.Close()
		s.exit()
		return "", errClosed
	}
	go func() {
		defer s.exit()
		_ = h.Serve(l)
	}()
	return baseURL, nil
}

// errLost is what the caller of a lost response gets: the SDK takes it for a
// broken connection and tries again.
var errLost = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

// sleep waits for d, for the caller's context or for Close.
func (s *Server) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.done:
		return errClosed
	}
}

// callerOf returns the application id in a User-Agent header, "" without one.
func callerOf(h http.Header) string {
	for field := range strings.FieldsSeq(h.Get("User-Agent")) {
		if id, ok := strings.CutPrefix(field, "app/"); ok {
			return id
		}
	}
	return ""
}

// isError returns err as an answer of SQS, nil if it is none.
func isError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}
