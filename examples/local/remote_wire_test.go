package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
)

// console is standard output, to be read while it is written.
type console struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(b)
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// cell finds a row of the introduction and returns what it says.
func (c *console) cell(name string) string {
	m := regexp.MustCompile(`(?m)^  ` + name + ` +(\S+)`).FindStringSubmatch(c.String())
	if m == nil {
		return ""
	}
	return m[1]
}

// functionOverHTTP is a function that finds its queues by what was printed, as a
// user would, and calls them over the network.
func functionOverHTTP(t *testing.T, c *console) http.Handler {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	adapter := sync.OnceValues(func() (*lambdasqs.Adapter, error) {
		base := c.cell("AWS_ENDPOINT_URL")
		client := newClient(base, &http.Client{Transport: transport}, func(name string) string { return c.cell(name) })
		cons, err := consumer.New(consumer.JSON(func(_ context.Context, o order, m *consumer.Message) error { return fails(o, m) }),
			consumer.Config{DeadLetter: dlq.New(client, c.cell("the dead-letter queue")), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		return lambdasqs.New(cons, lambdasqs.Config{SQS: client})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, err := adapter()
		if err != nil {
			t.Error(err)
			return
		}
		payload, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		answer, err := a.Invoke(r.Context(), payload)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(answer)
	})
}

// fails has the order "invalid" parked; the others are done.
func fails(o order, _ *consumer.Message) error {
	if o.simulate == "invalid" {
		return errRefusedAddress
	}
	return nil
}

const invocations = "/2015-03-31/functions/orders/invocations"

// Over sockets: what is printed is all that the function needs.
func TestInvokeOverTheWire(t *testing.T) {
	t.Parallel()
	var stdout console
	var stderr bytes.Buffer
	server := httptest.NewServer(functionOverHTTP(t, &stdout))
	defer server.Close()
	start := time.Now()
	code := run(t.Context(), []string{"-invoke", server.URL + invocations, "-f", "-"}, strings.NewReader(`{"id":"A-1"}
{"id":"A-2","simulate":"invalid"}
{"body":"{\"id\":"}
`), &stdout, &stderr)
	r := result{code: code, stdout: stdout.String(), stderr: stderr.String(), took: time.Since(start)}
	r.want(t, exitOK, "done 1", "parked 2", "function 1 the address does not exist", "by the function SendMessage 2")
	if r.stderr != "" {
		t.Errorf("standard error: %s", r.stderr)
	}
}

// An address that is taken, and one that is none.
func TestInvokeCannotListen(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, address := range []string{l.Addr().String(), "127.0.0.1:99999", "nowhere"} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"-invoke", someURL, "-listen", address, "-f", "-"}, strings.NewReader(two), &stdout, &stderr); code != exitUsage {
			t.Errorf("%s: exit code %d", address, code)
		}
		if !strings.Contains(stderr.String(), "-listen takes an address that is free") || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: standard error: %q", address, &stderr)
		}
	}
}

// With -wait the function may be started after the program, and told where the
// queue is.
func TestInvokeWaits(t *testing.T) {
	t.Parallel()
	var stdout console
	var stderr bytes.Buffer
	server := &http.Server{Addr: freeAddress(t), Handler: functionOverHTTP(t, &stdout), ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	time.AfterFunc(300*time.Millisecond, func() { ended <- server.ListenAndServe() })
	defer func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	code := run(t.Context(), []string{"-invoke", "http://" + server.Addr + invocations, "-wait", "20s", "-f", "-"}, strings.NewReader(two), &stdout, &stderr)
	r := result{code: code, stdout: stdout.String(), stderr: stderr.String()}
	r.want(t, exitOK, "done 2", "0 of which failed as a whole")
}

// proxied ends its first connections, as the proxy of a container engine does
// until something listens in the container.
type proxied struct {
	net.Listener
	ends int
}

func (p *proxied) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	for ; err == nil && p.ends > 0; p.ends-- {
		_ = conn.Close()
		conn, err = p.Listener.Accept()
	}
	return conn, err
}

func TestInvokeWaitsBehindProxy(t *testing.T) {
	t.Parallel()
	var stdout console
	var stderr bytes.Buffer
	server := httptest.NewUnstartedServer(functionOverHTTP(t, &stdout))
	server.Listener = &proxied{Listener: server.Listener, ends: 2}
	server.Start()
	defer server.Close()
	code := run(t.Context(), []string{"-invoke", server.URL + invocations, "-wait", "20s", "-timeout", "30s", "-f", "-"},
		strings.NewReader(two), &stdout, &stderr)
	r := result{code: code, stdout: stdout.String(), stderr: stderr.String()}
	r.want(t, exitOK, "done 2", "0 of which failed as a whole")
}

func TestInvokeWaitsInVain(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	// Port 0 is nobody's.
	code := run(t.Context(), []string{"-invoke", "http://127.0.0.1:0" + invocations, "-wait", "150ms", "-timeout", "1s", "-f", "-"},
		strings.NewReader(two), &stdout, &stderr)
	if code != exitUnfinished {
		t.Errorf("exit code %d", code)
	}
	wantLines(t, stderr.String(), "local: nothing listens at 127.0.0.1:0 after 150ms; beginning all the same",
		cannot, "local: time ran out after 1s", "local: the function was not invoked with 2 messages")
}

// Time that runs out while the function is waited for is time that runs out.
func TestInvokeWaitsTooLong(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-invoke", "http://127.0.0.1:0" + invocations, "-wait", "1m", "-timeout", "200ms"}, nil, &stdout, &stderr)
	r := result{code: code, stdout: stdout.String(), stderr: stderr.String()}
	r.want(t, exitUnfinished, "left 60", "lost 0")
	wantLines(t, r.stderr, `local: note: 1 message with "twice"`, "local: time ran out after 200ms")
}

// Credentials and region are those of the environment, if it has any.
func TestNewClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env         map[string]string
		key, region string
	}{
		{nil, "AKIDEXAMPLE", "us-east-1"},
		{map[string]string{"AWS_ACCESS_KEY_ID": "AKIDMINE", "AWS_DEFAULT_REGION": "eu-west-1"}, "AKIDMINE", "eu-west-1"},
		{map[string]string{"AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "eu-west-1"}, "AKIDEXAMPLE", "eu-north-1"},
	} {
		o := newClient("http://h", nil, func(name string) string { return c.env[name] }).Options()
		got, err := o.Credentials.Retrieve(t.Context())
		if err != nil || got.AccessKeyID != c.key || o.Region != c.region || aws.ToString(o.BaseEndpoint) != "http://h" {
			t.Errorf("%v: key %s, region %s, endpoint %s, %v", c.env, got.AccessKeyID, o.Region, aws.ToString(o.BaseEndpoint), err)
		}
	}
}
