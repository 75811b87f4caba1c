package sqsqueue

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// whole is an HTTP client that is given request bodies as a whole.
//
// The SDK's own kind of body (smithy-go 1.28.9, safeReadCloser) makes net/http send
// the headers by themselves, and the SDK closes it when an answer has come. If that
// is before the connection's writer has looked whether there is more of the body,
// the writer takes an io.EOF for an error and closes the connection, in the middle
// of the answer (aws-sdk-go-v2 issue 2737). The SDK makes the call again then: ten
// messages of a receive stay hidden for nothing, and a send is made twice. Measured
// on a loopback address: about one call in a hundred. It also takes one write less.
type whole struct{ sqs.HTTPClient }

// Do implements sqs.HTTPClient.
func (w whole) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return w.HTTPClient.Do(r)
	}
	buf := bytes.NewBuffer(make([]byte, 0, max(r.ContentLength+bytes.MinRead, bytes.MinRead)))
	if _, err := buf.ReadFrom(r.Body); err != nil {
		return nil, err
	}
	body := buf.Bytes()
	c := *r
	c.ContentLength = int64(len(body))
	c.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	c.Body, _ = c.GetBody()
	answer, err := w.HTTPClient.Do(&c)
	if at, ok := r.Context().Value(answerTime{}).(*time.Time); ok {
		*at = time.Now()
	}
	return answer, err
}

// answerTime is the key of a *time.Time that is told when the headers of an answer
// have come. The body may take long, and SQS counts from before that.
type answerTime struct{}
