package dynamostore

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// unsureError is a failure that may have come after the write. Its text is that
// of the failure.
type unsureError struct{ error }

func (e *unsureError) Unwrap() error { return e.error }

// landings watches the attempts of a call for one that may have been written.
// The error of the call does not say: it is that of the last attempt, and a
// throttled one can follow one whose answer was lost.
type landings struct{ possible atomic.Bool }

// observe is an option of a call.
func (l *landings) observe(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		// Last in the last step: next is the HTTP client, once per attempt.
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("ackwise.Landings", l.attempt), middleware.After)
	})
}

func (l *landings) attempt(
	ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
) (middleware.DeserializeOutput, middleware.Metadata, error) {
	ended := ctx.Err() != nil
	out, metadata, err := next.HandleDeserialize(ctx, in)
	if !ended && mayHaveLanded(out.RawResponse, err) {
		l.possible.Store(true)
	}
	return out, metadata, err
}

// mayHaveLanded is false for what surely wrote nothing: an answer that finds
// fault with the request, throttling included, or no connection.
func mayHaveLanded(raw any, err error) bool {
	if resp, ok := raw.(*smithyhttp.Response); ok && err == nil {
		return resp.StatusCode < http.StatusBadRequest || resp.StatusCode >= http.StatusInternalServerError ||
			resp.StatusCode == http.StatusRequestTimeout
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return false
	}
	_, ok := errors.AsType[*net.DNSError](err)
	return !ok
}
