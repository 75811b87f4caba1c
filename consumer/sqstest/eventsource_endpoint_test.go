package sqstest_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// Answers of Invoke endpoints: Lambda's own, sam local's, and those of the
// runtime interface emulator, which answers 200 to nearly everything.
var endpointAnswers = []struct {
	name    string
	status  int
	header  string // X-Amz-Function-Error
	body    string
	failure sqstest.FailureKind
	reason  string
}{
	{"success", 200, "", `{"batchItemFailures":[]}`, "", ""},
	{"empty answer", 200, "", ``, "", ""},
	{"invalid answer", 200, "", `{"batchItemFailures":[{"id":"x"}]}`, sqstest.FailureResponse, "no itemIdentifier"},
	{"function error of Lambda", 200, "Unhandled",
		`{"errorMessage":"boom","errorType":"errorString"}`,
		sqstest.FailureError, "errorString: boom",
	},
	{"function error without a text", 200, "Unhandled", ``, sqstest.FailureError, "Unhandled"},
	{"timeout of Lambda", 200, "Unhandled",
		`{"errorMessage":"2026-11-30T10:00:00.000Z 6f1c Task timed out after 3.00 seconds"}`,
		sqstest.FailureTimeout, "Task timed out after 3.00",
	},
	{"function error of the emulator", 200, "",
		`{"errorMessage":"boom","errorType":"errorString"}`,
		sqstest.FailureError, "errorString: boom",
	},
	{"panic of the emulator", 200, "",
		`{"errorMessage":"oh no","errorType":"string","stackTrace":[{"path":"main.go","line":3,"label":"f"}]}`,
		sqstest.FailureError, "string: oh no",
	},
	{"timeout of the emulator", 200, "", `Task timed out after 3.00 seconds`, sqstest.FailureTimeout, "3.00 seconds"},
	{"process that died", 502, "",
		`{"errorMessage":"RequestId: 1 Error: exit status 2","errorType":"Runtime.ExitError"}`,
		sqstest.FailureError, "Runtime.ExitError",
	},
	{"a result that has an errorMessage", 200, "", `{"errorMessage":"none","batchItemFailures":[]}`, "", ""},
	{"throttled", 429, "",
		`{"Reason":"ReservedFunctionConcurrentInvocationLimitExceeded"}`,
		sqstest.FailureRefused, "HTTP status 429",
	},
	{"no such function", 404, "", `{"Message":"Function not found"}`, sqstest.FailureRefused, "Function not found"},
	{"long page", 503, "", strings.Repeat("x", 300), sqstest.FailureRefused, "x… (300 bytes)"},
	{"busy emulator", 400, "", ``, sqstest.FailureRefused, "HTTP status 400"},
}

func TestEndpointAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range endpointAnswers {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := sqstest.NewServer(sqstest.Config{})
			defer s.Close()
			q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: time.Hour})
			ids := q.Send("a", "b")
			lambda := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.header != "" {
					w.Header().Set("X-Amz-Function-Error", c.header)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer lambda.Close()
			v := invokeOnce(t, s, q, sqstest.EventSourceConfig{Endpoint: lambda.URL})
			if c.failure == "" {
				ids = nil
			}
			checkOutcome(t, q, v, ids, c.failure, c.reason)
		})
	}
}

// The request is the Invoke API's, and a partial failure leaves what it lists.
func TestEndpointRequest(t *testing.T) {
	t.Parallel()
	s := sqstest.NewServer(sqstest.Config{})
	defer s.Close()
	q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: time.Hour})
	ids := q.Send("a", "b")
	var mu sync.Mutex
	var method, path, kind, requestID string
	lambda := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		method, path, kind, requestID = r.Method, r.URL.EscapedPath(), r.Header.Get("Content-Type"), r.Header.Get("X-Amzn-Requestid")
		mu.Unlock()
		var e events.SQSEvent
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil || len(e.Records) != 2 {
			t.Errorf("event with %d records: %v", len(e.Records), err)
			return
		}
		_, _ = w.Write(listing(e.Records[1].MessageId))
	}))
	defer lambda.Close()
	v := invokeOnce(t, s, q, sqstest.EventSourceConfig{Endpoint: lambda.URL + "/", Function: "orders:live"})
	checkOutcome(t, q, v, ids[1:], "", "")
	mu.Lock()
	defer mu.Unlock()
	if method != "POST" || path != "/2015-03-31/functions/orders:live/invocations" || kind != "application/json" {
		t.Errorf("request is %s %s with %q", method, path, kind)
	}
	if requestID == "" || requestID != v.RequestID {
		t.Errorf("request id is %q, want %q", requestID, v.RequestID)
	}
}

// Run leaves no idle connection of its own behind.
func TestEndpointConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	s := sqstest.NewServer(sqstest.Config{})
	defer s.Close()
	q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
	q.Send("a")
	closed := make(chan struct{}, 10)
	lambda := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	lambda.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	lambda.Start()
	defer lambda.Close()
	invokeOnce(t, s, q, sqstest.EventSourceConfig{Endpoint: lambda.URL})
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Error("the connection is still open")
	}
}

func TestEndpointUnreachable(t *testing.T) {
	t.Parallel()
	s := sqstest.NewServer(sqstest.Config{})
	defer s.Close()
	q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: time.Hour})
	ids := q.Send("a")
	lambda := httptest.NewServer(http.NotFoundHandler())
	lambda.Close() // its port is free now
	v := invokeOnce(t, s, q, sqstest.EventSourceConfig{Endpoint: lambda.URL})
	checkOutcome(t, q, v, ids, sqstest.FailureRefused, "connect")
}

// A redirect is not followed: the page behind it, an empty success, would have the
// messages deleted that no function has seen.
func TestEndpointRedirects(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect} {
		s := sqstest.NewServer(sqstest.Config{})
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: time.Hour})
		ids := q.Send("a")
		lambda := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/login" {
				http.Redirect(w, r, "/login", code)
			}
		}))
		v := invokeOnce(t, s, q, sqstest.EventSourceConfig{Endpoint: lambda.URL})
		checkOutcome(t, q, v, ids, sqstest.FailureRefused, "HTTP status "+strconv.Itoa(code))
		lambda.Close()
		s.Close()
	}
}

// An answer that ends before its end comes from a function that has run.
func TestEndpointBreaksOff(t *testing.T) {
	t.Parallel()
	s := sqstest.NewServer(sqstest.Config{})
	defer s.Close()
	q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: time.Hour})
	ids := q.Send("a")
	lambda := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"batchItemFailures":[`)
	}))
	defer lambda.Close()
	v := invokeOnce(t, s, q, sqstest.EventSourceConfig{Endpoint: lambda.URL})
	checkOutcome(t, q, v, ids, sqstest.FailureResponse, "the answer broke off")
}

// An endpoint that never answers: the request is given up ten seconds after the
// function's timeout. Virtual time, so the endpoint is a transport.
func TestEndpointHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sqstest.NewServer(sqstest.Config{})
		defer s.Close()
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{Visibility: time.Hour})
		ids := q.Send("a")
		hang := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		v := invokeOnce(t, s, q, sqstest.EventSourceConfig{Endpoint: "http://lambda.test", HTTPClient: hang, Timeout: 3 * time.Second})
		checkOutcome(t, q, v, ids, sqstest.FailureTimeout, "no answer within 13s")
		if v.Duration != 13*time.Second {
			t.Errorf("took %v, want 13s", v.Duration)
		}
	})
}

// The emulator takes one invocation at a time, so that is the default.
func TestEndpointOneAtATime(t *testing.T) {
	t.Parallel()
	mappingBubble(t, func(b bubble) {
		t, s := b.t, b.server
		q := makeQueue(t, s, "orders", sqstest.QueueConfig{})
		q.Send("a", "b", "c")
		slow := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
		})}
		m := mapTo(t, s, q, sqstest.EventSourceConfig{Endpoint: "http://lambda.test", HTTPClient: slow, BatchSize: 1})
		m.drain()
		if got := m.elapsed(); got != 3*time.Second {
			t.Errorf("three invocations took %v, want 3s", got)
		}
	})
}
