package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/ackwise/ackwise/consumer/sqstest"

	"github.com/ackwise/ackwise/benchmarks/internal/stub"
)

// serverOrder is what the process of a server is told to be.
type serverOrder struct {
	Kind     string
	Latency  time.Duration // of the stub server
	Endpoint string        // of a server that runs already: no process is started
}

// Paths at which the stub server takes orders from the benchmark itself.
const (
	loadPath = "/peers/load" // ?messages=N: answers the path of the queue
	waitPath = "/peers/wait" // answers the counts (stub.Stats) when all messages are deleted
)

// addresses are where a server answers: its SQS, and for a stub server what the
// benchmark itself asks.
type addresses struct{ SQS, Control string }

// serverProcess reads its order from its standard input, writes the addresses it
// listens at to w, and serves until the input ends.
func serverProcess(ctx context.Context, r io.Reader, w io.Writer) error {
	var o serverOrder
	if err := json.NewDecoder(r).Decode(&o); err != nil {
		return err
	}
	var serving servings
	var at addresses
	var err error
	switch o.Kind {
	case stubServer:
		s := stub.New(o.Latency)
		control := &http.Server{Handler: controlled(s), ReadHeaderTimeout: 10 * time.Second}
		at.SQS, err = serving.begin(ctx, s.Serve)
		if err == nil {
			at.Control, err = serving.begin(ctx, control.Serve)
		}
		defer serving.end(control.Close)
	case fakeServer:
		s := sqstest.NewServer(sqstest.Config{})
		defer s.Close()
		server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
		at.SQS, err = serving.begin(ctx, server.Serve)
		defer serving.end(server.Close)
	default:
		return fmt.Errorf("no server is called %q", o.Kind)
	}
	if err == nil {
		err = json.NewEncoder(w).Encode(at)
	}
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, r)
	return nil
}

// servings are servers that run.
type servings struct {
	listeners []net.Listener
	ended     sync.WaitGroup
}

// begin has a server serve at an address of its own.
func (s *servings) begin(ctx context.Context, serve func(net.Listener) error) (endpoint string, err error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s.listeners = append(s.listeners, l)
	s.ended.Go(func() { _ = serve(l) }) // it ends with its listener, however that is put
	return "http://" + l.Addr().String(), nil
}

// end ends all of them. shut ends what does not end with its listener.
func (s *servings) end(shut func() error) {
	_ = shut()
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.ended.Wait()
}

// controlled has the paths for orders to a stub server.
func controlled(s *stub.Server) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+loadPath, func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Query().Get("messages"))
		if err != nil || n < 0 {
			http.Error(w, "messages has to be a number", http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, s.Load(n))
	})
	mux.HandleFunc("GET "+waitPath, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.Done():
			_ = json.NewEncoder(w).Encode(s.Stats())
		case <-r.Context().Done():
		}
	})
	return mux
}
