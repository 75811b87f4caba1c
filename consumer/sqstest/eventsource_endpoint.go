package sqstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// coldStart is how much longer than the function's timeout a request may take:
// Lambda allows 10 s for the initialization, which is not part of the timeout.
const coldStart = 10 * time.Second

// endpoint invokes a function over HTTP, as the Invoke API of Lambda does.
type endpoint struct {
	client  *http.Client
	url     string
	timeout time.Duration
}

func newEndpoint(cfg EventSourceConfig) *endpoint {
	// A redirect is no invocation. Followed, it would ask for a page, whose answer
	// could pass for a result in which nothing has failed.
	client := *cfg.HTTPClient
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &endpoint{
		client:  &client,
		url:     strings.TrimRight(cfg.Endpoint, "/") + "/2015-03-31/functions/" + url.PathEscape(cfg.Function) + "/invocations",
		timeout: cfg.Timeout,
	}
}

func (e *endpoint) invoke(ctx context.Context, requestID string, payload []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout+coldStart)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(payload))
	if err != nil {
		return nil, failure(FailureRefused, "%w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Amz-Invocation-Type", "RequestResponse")
	req.Header.Set("X-Amzn-Requestid", requestID) // the emulator takes it as the request's id
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, e.noAnswer(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxPayload+1))
	if err != nil {
		return nil, e.brokenOff(err)
	}
	if err := functionError(resp, body); err != nil {
		return nil, err
	}
	return body, nil
}

func (e *endpoint) noAnswer(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return e.late(err)
	}
	return failure(FailureRefused, "%w", err)
}

// brokenOff is for an answer that began and did not end: the function has run.
func (e *endpoint) brokenOff(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return e.late(err)
	}
	return failure(FailureResponse, "the answer broke off: %w", err)
}

func (e *endpoint) late(err error) error {
	return failure(FailureTimeout, "no answer within %v: %w", e.timeout+coldStart, err)
}

// timedOut is in the text of a timeout, the same on Lambda and in the emulator.
const timedOut = "Task timed out after"

// functionError finds out whether an answer is an error of the function. Lambda
// and sam local say so in a header. The emulator answers 200 with the error as
// the body, which is told from a result by having nothing but the members of an
// error, or with a line of text after a timeout.
func functionError(resp *http.Response, body []byte) error {
	thrown, isError := thrownError(body)
	header := resp.Header.Get("X-Amz-Function-Error")
	switch {
	case isError && strings.Contains(thrown.Message, timedOut):
		return failure(FailureTimeout, "%s", thrown.Message)
	case isError:
		return failure(FailureError, "%s: %s", thrown.Type, thrown.Message)
	case !json.Valid(body) && bytes.Contains(body, []byte(timedOut)):
		return failure(FailureTimeout, "%s", excerpt(body))
	case header != "":
		return failure(FailureError, "%s: %s", header, excerpt(body))
	case resp.StatusCode != http.StatusOK:
		return failure(FailureRefused, "HTTP status %d: %s", resp.StatusCode, excerpt(body))
	}
	return nil
}

// functionThrew is the body that stands for an error of a function.
type functionThrew struct {
	Message string `json:"errorMessage"`
	Type    string `json:"errorType"`
}

// thrownError reports whether a body is an error, not a result: an object with
// an errorMessage and no member that errors do not have. Runtimes differ in the
// name of the stack.
func thrownError(body []byte) (functionThrew, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || members["errorMessage"] == nil {
		return functionThrew{}, false
	}
	for name := range members {
		switch name {
		case "errorMessage", "errorType", "stackTrace", "trace", "cause", "requestId":
		default:
			return functionThrew{}, false
		}
	}
	var thrown functionThrew
	return thrown, json.Unmarshal(body, &thrown) == nil
}

// excerpt is the beginning of a body, for an error.
func excerpt(body []byte) string {
	const most = 200
	text := strings.TrimSpace(string(body))
	if len(text) > most {
		return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
	}
	return text
}
