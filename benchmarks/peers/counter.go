package main

import (
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// counter counts requests by action on their way out, tries of the SDK included.
// Receives that wait for an answer when the last message is gone do not count:
// they are the next messages' calls, and a run of few messages would be charged
// for them much more than one of many.
type counter struct {
	next sqs.HTTPClient

	mu      sync.Mutex
	calls   map[string]int
	waiting int // receives without an answer
}

const receiveAction = "ReceiveMessage"

// Do implements sqs.HTTPClient.
func (c *counter) Do(r *http.Request) (*http.Response, error) {
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c.count(action)
	if r.Body != nil {
		r.Body = readOnly{r.Body}
	}
	answer, err := c.next.Do(r)
	if action == receiveAction {
		c.answered()
	}
	return answer, err
}

func (c *counter) count(action string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[action]++
	if action == receiveAction {
		c.waiting++
	}
}

func (c *counter) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting--
}

// snapshot returns the calls so far and how many receives wait.
func (c *counter) snapshot() (calls map[string]int, waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls = maps.Clone(c.calls)
	calls[receiveAction] -= c.waiting
	return calls, c.waiting
}

// readOnly hides the WriteTo of a request's body. The SDK closes the body as
// soon as it has the response, and its WriteTo then fails with io.EOF. Where
// that response came before net/http looked for the end of the body, as it does
// from a server as near and fast as these, net/http takes this for a failed
// request and closes the connection, and with it the response with the messages
// (aws-sdk-go-v2 issue 2737). Reading ends as it should.
type readOnly struct{ io.ReadCloser }
