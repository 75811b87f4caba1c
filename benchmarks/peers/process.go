package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// roleVariable makes this program a server or a consumer for another process of
// it, so that neither the server's work nor another consumer's garbage counts.
const roleVariable = "ACKWISE_PEERS_ROLE"

const (
	serverRole   = "server"
	consumerRole = "consumer"
)

// playRole does what the environment asks for; false means it asks for nothing.
func playRole(ctx context.Context) (bool, error) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		return false, nil
	case serverRole:
		return true, serverProcess(ctx, os.Stdin, os.Stdout)
	case consumerRole:
		return true, consumerProcess(ctx, os.Stdin, os.Stdout)
	default:
		return true, fmt.Errorf("%s is %q: leave it unset", roleVariable, role)
	}
}

// process is another process of this program, in a role.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// start starts a process and gives it its order.
func start(ctx context.Context, role string, order any) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, self)}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role)
	p.cmd.Stderr = os.Stderr
	p.cmd.WaitDelay = time.Second
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = json.NewDecoder(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if err := json.NewEncoder(p.in).Encode(order); err != nil {
		return nil, errors.Join(err, p.end())
	}
	return p, nil
}

// end ends the input, which ends the process, and waits for that.
func (p *process) end() error {
	return errors.Join(p.in.Close(), p.cmd.Wait())
}

// server is a server that is up, in its own process or somebody else's.
type server struct {
	process  *process // nil: somebody else's
	endpoint string
	queue    queue
}

func startServer(ctx context.Context, o serverOrder) (*server, error) {
	at := addresses{SQS: o.Endpoint}
	s := new(server)
	if at.SQS == "" {
		p, err := start(ctx, serverRole, o)
		if err != nil {
			return nil, err
		}
		s.process = p
		if err := p.out.Decode(&at); err != nil {
			return nil, errors.Join(err, p.end())
		}
	}
	s.endpoint = at.SQS
	s.queue = newQueue(o, at)
	return s, nil
}

func (s *server) stop() error {
	if s.process == nil {
		return nil
	}
	return s.process.end()
}

// run measures a consumer once, in a process of its own.
func (s *server) run(ctx context.Context, c *consumer, sc *scenario, messages int) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, sc.limit())
	defer cancel()
	url, err := s.queue.fill(ctx, messages)
	if err != nil {
		return sample{}, err
	}
	p, err := start(ctx, consumerRole, order{
		Consumer: c.name, Endpoint: s.endpoint, QueueURL: url, Messages: messages, Slow: sc.slow,
		Once: sc.server.Kind == stubServer,
	})
	if err != nil {
		return sample{}, err
	}
	var got sample
	var failed error
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	decoded := make(chan struct{})
	go func() {
		defer close(decoded)
		failed = p.out.Decode(&got)
		// A consumer says nothing until it is told to stop. That it has failed
		// shows in its output ending sooner.
		stop()
	}()
	inHand, waited := s.queue.wait(waiting)
	closed := p.in.Close()
	<-decoded
	got.InHand = inHand
	if err := errors.Join(waited, closed, failed, p.cmd.Wait()); err != nil {
		return got, err
	}
	return got, s.queue.release(ctx, got.Waiting)
}
