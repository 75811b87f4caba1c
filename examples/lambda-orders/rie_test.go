package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// functionTimeout is what the emulator enforces: it answers for the function
// when so much has passed.
const functionTimeout = 3 * time.Second

// lambdaRuntime is the built function under AWS's runtime interface emulator:
// the process, the runtime API and the timeout that it has on Lambda.
type lambdaRuntime struct {
	endpoint string // http://127.0.0.1:port, where the emulator takes invocations
	output   *output
}

// startRuntime builds the function as for Lambda and starts it. It skips the
// test where the emulator is not at hand.
func startRuntime(t *testing.T, sqsURL string, env ...string) *lambdaRuntime {
	t.Helper()
	emulator := os.Getenv("ACKWISE_RIE")
	if emulator == "" {
		t.Skip("NOT TESTED on the Lambda runtime: ACKWISE_RIE does not name the runtime interface emulator. " +
			"`make test` installs it and runs this test.")
	}
	bootstrap := build(t)
	env = append(env,
		"AWS_LAMBDA_FUNCTION_TIMEOUT=3",
		"AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=AKIDEXAMPLE",
		"AWS_SECRET_ACCESS_KEY=example",
		"AWS_EC2_METADATA_DISABLED=true",
		"AWS_ENDPOINT_URL_SQS="+sqsURL,
		"HOME="+t.TempDir(), // no AWS configuration of the user's own
		"NO_PROXY=127.0.0.1",
	)
	// A free port may be taken by somebody else before the emulator gets to it.
	for range 5 {
		r, cmd := start(t, emulator, bootstrap, env)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if err := r.await(t.Context(), ended); err != nil {
			t.Logf("the emulator did not start: %v\n%s", err, r.output)
			stop(t, cmd, ended)
			continue
		}
		t.Cleanup(func() {
			stop(t, cmd, ended)
			if t.Failed() {
				t.Logf("output of emulator and function:\n%s", r.output)
			}
		})
		return r
	}
	t.Fatal("the emulator did not start")
	return nil
}

// build makes the executable that a deployment would have.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bootstrap")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

func start(t *testing.T, emulator, bootstrap string, env []string) (*lambdaRuntime, *exec.Cmd) {
	t.Helper()
	address := freeAddress(t)
	r := &lambdaRuntime{endpoint: "http://" + address, output: &output{}}
	cmd := exec.Command(emulator,
		"--runtime-api-address", freeAddress(t),
		"--runtime-interface-emulator-address", address,
		bootstrap)
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = r.output, r.output
	// The function inherits the output. It ends by itself when the emulator is
	// gone; Wait reports if it has not.
	cmd.WaitDelay = 15 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r, cmd
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

// await returns when the emulator listens. The function itself starts with the
// first invocation.
func (r *lambdaRuntime) await(ctx context.Context, ended chan error) error {
	deadline := time.After(20 * time.Second)
	for {
		conn, err := net.DialTimeout("tcp", strings.TrimPrefix(r.endpoint, "http://"), time.Second)
		if err == nil {
			return conn.Close()
		}
		select {
		case err := <-ended:
			ended <- err
			return errors.Join(errors.New("it ended"), err)
		case <-deadline:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends emulator and function and waits for both.
func stop(t *testing.T, cmd *exec.Cmd, ended chan error) {
	t.Helper()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	killer := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
	defer killer.Stop()
	if err := <-ended; errors.Is(err, exec.ErrWaitDelay) {
		t.Error("the function is still running although the emulator has ended")
	}
}

// post invokes the function with a payload and returns status and answer.
func (r *lambdaRuntime) post(t *testing.T, payload string) (status int, answer string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	res, err := client.Post(r.endpoint+"/2015-03-31/functions/function/invocations", "application/json", strings.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// output collects what a process writes, for failure messages.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
