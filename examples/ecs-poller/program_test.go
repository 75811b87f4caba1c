package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is the worker as a process of its own, or with ACKWISE_CONTAINER set to
// the name of its image, as a container.
type program struct {
	t         *testing.T
	cmd       *exec.Cmd
	container string // its name; "" for a plain process
	env       []string
	signals   int // sent
	stderr    bytes.Buffer
	ended     chan struct{}  // closed when the process has and all its output is here
	aside     sync.WaitGroup // commands that need not be waited for at once

	mu     sync.Mutex
	lines  []line
	said   chan struct{} // closed and made anew with each line
	booked []string      // the ids of the orders that it says it has booked
}

// line is what tests read of a line of the log.
type line struct{ Level, Msg, Order, Error string }

// binary is built once for all tests.
var binary struct {
	once      sync.Once
	dir, path string
	err       error
}

func removeBinary() { _ = os.RemoveAll(binary.dir) }

// build makes the executable, with the race detector if the tests have it.
func build(t *testing.T) string {
	t.Helper()
	b := &binary
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "ecs-poller"); b.err != nil { //nolint:usetesting // it outlives the test that is first
			return
		}
		b.path = filepath.Join(b.dir, "ecs-poller")
		args := append([]string{"build"}, raceFlags...)
		cmd := exec.Command("go", append(args, "-o", b.path, ".")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("go build: %s", out)
			b.err = err
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

// start starts the program with these variables and no others of ours.
func start(t *testing.T, env ...string) *program {
	t.Helper()
	p := &program{t: t, ended: make(chan struct{}), said: make(chan struct{}), env: append([]string{
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=example",
		"AWS_EC2_METADATA_DISABLED=true", "NO_PROXY=127.0.0.1", "GORACE=halt_on_error=1 atexit_sleep_ms=0",
		"ORDERS_HEALTH_ADDR=", // the image has one, and containers share the network
		"HOME=" + t.TempDir(), // no AWS configuration of the user's own
	}, env...)}
	if image := os.Getenv("ACKWISE_CONTAINER"); image != "" {
		p.runContainer(image)
	} else {
		p.cmd = exec.Command(build(t))
		p.cmd.Env = p.env
	}
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.read(stdout)
		_ = p.cmd.Wait() // the state says how it ended
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("stderr:\n%s", &p.stderr)
			for _, l := range p.log() {
				if l.Level != "INFO" {
					t.Logf("%+v", l)
				}
			}
		}
	})
	return p
}

// read collects the log until the program has ended.
func (p *program) read(stdout io.Reader) {
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		var l line
		if json.Unmarshal(scanner.Bytes(), &l) != nil {
			l.Msg = scanner.Text()
		}
		p.mu.Lock()
		p.lines = append(p.lines, l)
		if l.Msg == "order booked" {
			p.booked = append(p.booked, l.Order)
		}
		close(p.said)
		p.said = make(chan struct{})
		p.mu.Unlock()
	}
}

func (p *program) log() []line {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

// await waits until the program has said so n times.
func (p *program) await(msg string, n int) {
	p.t.Helper()
	deadline := time.After(time.Minute)
	for {
		p.mu.Lock()
		said, seen := p.said, 0
		for _, l := range p.lines {
			if l.Msg == msg {
				seen++
			}
		}
		p.mu.Unlock()
		if seen >= n {
			return
		}
		select {
		case <-said:
		case <-p.ended:
			p.t.Fatalf("it ended (%v) before it said %q %d times", p.cmd.ProcessState, msg, n)
		case <-deadline:
			p.t.Fatalf("it has said %q %d times in a minute, want %d", msg, seen, n)
		}
	}
}

// terminate sends SIGTERM.
func (p *program) terminate() {
	p.t.Helper()
	p.signals++
	if p.container != "" {
		p.signalContainer()
		return
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Errorf("SIGTERM: %v", err)
	}
}

// exit waits for the end, for a minute at most, and returns the exit code.
func (p *program) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		p.t.Error("it is still running a minute later")
		p.kill()
	}
	if p.stderr.Len() > 0 {
		p.t.Logf("stderr:\n%s", &p.stderr)
	}
	return p.cmd.ProcessState.ExitCode()
}

// kill ends it if it has not ended.
func (p *program) kill() {
	if p.container != "" {
		p.removeContainer()
	}
	_ = p.cmd.Process.Kill()
	<-p.ended
	p.aside.Wait()
}

// healthcheck runs the program once more as a container's HEALTHCHECK does, and
// returns what it says.
func (p *program) healthcheck(addr string) (said string, err error) {
	cmd := exec.Command("docker", "exec", "--env", addr, p.container, "/ecs-poller", "-healthcheck")
	if p.container == "" {
		cmd = exec.Command(build(p.t), "-healthcheck")
		cmd.Env = append(slices.Clone(p.env), addr)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
