package crashtest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// process is a worker that runs.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr bytes.Buffer
	ended  chan struct{} // closed when it has
}

// start starts a worker and returns when it is about to receive.
func (s *stage) start(ctx context.Context, run int) *process {
	s.t.Helper()
	cfg := s.settings
	cfg.Run = run
	text, err := json.Marshal(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	p := &process{t: s.t, cmd: exec.CommandContext(ctx, exe), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), workerEnv+"="+string(text), "GORACE=halt_on_error=1")
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	said, err := bufio.NewReader(stdout).ReadString('\n')
	go func() {
		_ = p.cmd.Wait() // the state says how it ended
		close(p.ended)
	}()
	if err != nil || said != "ready\n" {
		<-p.ended
		s.t.Fatalf("run %d did not begin: said %q, %v, %v\n%s", run, said, err, p.cmd.ProcessState, &p.stderr)
	}
	return p
}

// kill ends the worker as SIGKILL does, which nothing in it can see coming.
func (p *process) kill() {
	p.t.Helper()
	_ = p.cmd.Process.Kill()
	<-p.ended
	if p.cmd.ProcessState.Exited() {
		p.t.Fatalf("the worker ended by itself: %v\n%s", p.cmd.ProcessState, &p.stderr)
	}
}

// stop ends the worker in good order.
func (p *process) stop() {
	p.t.Helper()
	_ = p.stdin.Close()
	<-p.ended
	if !p.cmd.ProcessState.Success() {
		p.t.Errorf("the last worker: %v\n%s", p.cmd.ProcessState, &p.stderr)
	}
}

// strike kills the worker at the trap, or after a while if nothing is caught.
func (p *process) strike(g *gate, t *trap, after time.Duration) {
	p.t.Helper()
	t.caught, t.gone = make(chan struct{}), make(chan struct{})
	g.set(t)
	defer func() {
		g.set(nil)
		close(t.gone)
	}()
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-t.caught:
	case <-timer.C:
	case <-p.ended: // as kill will say
	}
	p.kill()
}
