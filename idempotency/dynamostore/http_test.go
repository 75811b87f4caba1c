package dynamostore_test

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// newHTTPClient is a client whose connections end with the test.
func newHTTPClient(tb testing.TB) *http.Client {
	tb.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64} // no proxy: the server is on this machine
	tb.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// lossy loses the answer of the next transaction, if it is told to.
type lossy struct {
	next dynamodb.HTTPClient
	lose atomic.Bool
}

func (l *lossy) Do(req *http.Request) (*http.Response, error) {
	resp, err := l.next.Do(req)
	if err == nil && strings.HasSuffix(req.Header.Get("X-Amz-Target"), ".TransactWriteItems") && l.lose.CompareAndSwap(true, false) {
		resp.Body.Close()
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return resp, err
}

// oneAtATime sends a request when the one before is answered.
type oneAtATime struct {
	next dynamodb.HTTPClient
	turn chan struct{}
}

func (o *oneAtATime) Do(req *http.Request) (*http.Response, error) {
	select {
	case o.turn <- struct{}{}:
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	defer func() { <-o.turn }()
	return o.next.Do(req)
}
