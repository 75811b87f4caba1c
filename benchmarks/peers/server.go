package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
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

// Paths at which the stub server takes orders from the benchmark itself. The SDK
// posts to / only.
const (
	loadPath = "/peers/load" // ?messages=N: answers the path of the queue
	waitPath = "/peers/wait" // answers the counts (stub.Stats) when all messages are deleted
)

// serverProcess reads its order from its standard input, writes the address it
// listens at to w, and serves until the input ends.
func serverProcess(ctx context.Context, r io.Reader, w io.Writer) error {
	var o serverOrder
	if err := json.NewDecoder(r).Decode(&o); err != nil {
		return err
	}
	var h http.Handler
	switch o.Kind {
	case stubServer:
		h = controlled(stub.New(o.Latency))
	case fakeServer:
		s := sqstest.NewServer(sqstest.Config{})
		defer s.Close()
		h = s
	default:
		return fmt.Errorf("no server is called %q", o.Kind)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	if err := json.NewEncoder(w).Encode("http://" + l.Addr().String()); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, r)
	err = server.Close()
	<-served
	return err
}

// controlled adds the paths for orders to a stub server.
func controlled(s *stub.Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", s)
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
