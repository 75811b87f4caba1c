package poller_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// damage changes the body "5" to "5?" on its way, once.
func damage(next http.RoundTripper) http.RoundTripper {
	var done atomic.Bool
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		res, err := next.RoundTrip(req)
		if err != nil || actionOf(req) != "ReceiveMessage" {
			return res, err
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(body), `"Body":"5"`) && done.CompareAndSwap(false, true) {
			body = bytes.Replace(body, []byte(`"Body":"5"`), []byte(`"Body":"5?"`), 1)
		}
		res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return res, nil
	})
}

// withoutARN takes the queue's ARN out of its attributes.
func withoutARN(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		res, err := next.RoundTrip(req)
		if err != nil || actionOf(req) != "GetQueueAttributes" {
			return res, err
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		body = bytes.Replace(body, []byte("QueueArn"), []byte("QueueXrn"), 1)
		res.Body = io.NopCloser(bytes.NewReader(body))
		return res, nil
	})
}
