package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The deployed function of examples/lambda-orders in a process of its own, under
// AWS's runtime interface emulator: it is started when the program has said where
// its queues are.
func TestInvokeRuntimeInterfaceEmulator(t *testing.T) {
	t.Parallel()
	emulator := os.Getenv("ACKWISE_RIE")
	if emulator == "" {
		t.Skip("NOT TESTED on the Lambda runtime: ACKWISE_RIE does not name the runtime interface emulator. " +
			"`make test` installs it and runs this test.")
	}
	r, log := invokeOrders(t, emulator)
	r.want(t, exitOK,
		"40 messages from standard input sent", "messages 40 sent", "done 34", "parked 4", "moved 2", "left 0", "lost 0",
		"deleted 38", "reported as failed 4", "\nafter receive messages came back after\n1 2 ",
		"A-10 function 1 order A-10 has an amount of -100 cents", "line 20 function 1 body does not decode",
		"A-15 SQS 2 the function reported it", "A-35 SQS 2 the function reported it",
		"by the function ChangeMessageVisibilityBatch ", "SendMessage 4", "0 of which failed as a whole",
		"Nothing was lost: 40 sent = 34 done + 6 in the dead-letter queue.")
	if r.stderr != "" {
		t.Errorf("standard error: %s", r.stderr)
	}
	// Their visibility timeout is three minutes: the function has shortened it.
	if r.took > 90*time.Second {
		t.Errorf("it took %v: the function does not reach the queue", r.took)
	}
	if n := strings.Count(log.String(), "charged order"); n != 34 {
		t.Errorf("the function has charged %d orders, want 34", n)
	}
	if t.Failed() {
		t.Logf("output of emulator and function:\n%s", log)
	}
}

// invokeOrders runs the program on forty orders, and the emulator when it has
// said where the queues are.
func invokeOrders(t *testing.T, emulator string) (r result, log *console) {
	t.Helper()
	bootstrap := buildOrders(t)
	address := freeAddress(t)
	var stdout console
	var stderr bytes.Buffer
	code := make(chan int, 1)
	start := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		code <- run(ctx, []string{
			"-invoke", "http://" + address + "/2015-03-31/functions/function/invocations",
			"-wait", "30s", "-receives", "2", "-timeout", "3m", "-v", "-f", "-",
		}, strings.NewReader(fortyOrders()), &stdout, &stderr)
	}()
	for stdout.cell("the dead-letter queue") == "" {
		select {
		case c := <-code:
			t.Fatalf("exit code %d: %s", c, &stderr)
		case <-time.After(10 * time.Millisecond):
		}
	}
	log = startEmulator(t, emulator, bootstrap, address, []string{
		"AWS_ENDPOINT_URL=" + stdout.cell("AWS_ENDPOINT_URL"),
		"AWS_REGION=" + stdout.cell("AWS_REGION"),
		"DLQ_URL=" + stdout.cell("the dead-letter queue"),
	})
	r = result{code: <-code, took: time.Since(start)}
	r.stdout, r.stderr = stdout.String(), stderr.String()
	return r, log
}

// fortyOrders are lines as in the sample, with what examples/lambda-orders makes
// of them: 34 are charged, two are refused and two are no orders, and of two the
// bank never answers, one of them with a panic.
func fortyOrders() string {
	var b strings.Builder
	for n := 1; n <= 40; n++ {
		order := fmt.Sprintf(`"id":"A-%d","customer":"ann","amount":100`, n)
		switch n {
		case 10, 30:
			order = strings.Replace(order, "100", "-100", 1)
		case 15:
			order += `,"simulate":"fail"`
		case 35:
			order += `,"simulate":"panic"`
		}
		switch {
		case n == 20:
			b.WriteString(`{"body":"order A-20: 2 teapots for ned"}`)
		case n == 40:
			b.WriteString(`{"body":"{\"id\":\"A-40\", "}`)
		case n%4 == 1:
			printf(&b, `{"body":{%s},"group":"shop-1","delay":"2s","attributes":{"source":"web","n":%d}}`, order, n)
		default:
			printf(&b, `{%s}`, order)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// buildOrders makes the executable that a deployment of examples/lambda-orders
// has.
func buildOrders(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bootstrap")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc", "-o", path, "../lambda-orders")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
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

// startEmulator starts the emulator at an address, and ends it with the test.
func startEmulator(t *testing.T, emulator, bootstrap, address string, env []string) *console {
	t.Helper()
	log := &console{}
	cmd := exec.Command(emulator, "--runtime-api-address", freeAddress(t), "--runtime-interface-emulator-address", address, bootstrap)
	cmd.Env = slices.Concat(env, []string{
		"AWS_LAMBDA_FUNCTION_TIMEOUT=30", "AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=example",
		"AWS_EC2_METADATA_DISABLED=true", "NO_PROXY=127.0.0.1",
		"HOME=" + t.TempDir(), // no AWS configuration of the user's own
	})
	cmd.Stdout, cmd.Stderr = log, log
	// The function inherits the output. It ends by itself when the emulator is
	// gone; Wait reports if it has not.
	cmd.WaitDelay = 15 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		killer := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		defer killer.Stop()
		if err := cmd.Wait(); errors.Is(err, exec.ErrWaitDelay) {
			t.Error("the function is still running although the emulator has ended")
		}
	})
	return log
}
