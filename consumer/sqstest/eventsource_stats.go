package sqstest

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// FailureKind says why a whole invocation failed, so that no message of its
// batch was deleted. The zero value means that it did not.
type FailureKind string

// Why an invocation failed.
const (
	// FailureError: the function returned an error, or more than 6 MB.
	FailureError FailureKind = "function error"
	// FailurePanic: the handler panicked or ended its goroutine
	// (runtime.Goexit, as t.FailNow does). On Lambda the process dies.
	FailurePanic FailureKind = "panic"
	// FailureTimeout: the function had not returned by its timeout.
	FailureTimeout FailureKind = "timeout"
	// FailureResponse: the function returned what Lambda takes for the failure
	// of the whole batch: no JSON object, an item without an identifier, an
	// identifier that is not in the batch; or an endpoint's answer broke off.
	FailureResponse FailureKind = "invalid response"
	// FailureRefused: the endpoint could not be reached or did not invoke the
	// function, a redirect included. Lambda goes on trying with the same batch until its visibility
	// timeout has passed; here it is left at once. The receive counts in both.
	FailureRefused FailureKind = "not invoked"
)

// Invocation is what became of one batch.
type Invocation struct {
	// RequestID is AwsRequestID in the handler's lambdacontext.
	RequestID string
	// Records are the messages as they were received, in the order of the event.
	Records []types.Message
	// IDs are their message ids.
	IDs []string
	// Event is the payload that the function got.
	Event []byte
	// Response is what it returned, nil if it failed.
	Response []byte
	// Failure says why the invocation failed as a whole, "" if it did not.
	Failure FailureKind
	// Err is the error that goes with Failure. In process it is what the handler
	// returned, wrapped.
	Err error
	// Deleted are the ids of the messages that were deleted.
	Deleted []string
	// Kept are the ids of those that were not: reported, in a failed batch, or
	// not deleted because of an error.
	Kept []string
	// DeleteErrors are the errors of deletes by message id, nil if none. On a
	// FIFO queue a message cannot be deleted once its visibility has ended.
	DeleteErrors map[string]error
	// Started is when the function was invoked.
	Started time.Time
	// Duration is how long that took, deletes excluded.
	Duration time.Duration
}

// Stats are the counts of an [EventSource].
type Stats struct {
	// Invocations that have ended, and the Records in their events.
	Invocations, Records int
	// Failures are the invocations that failed as a whole, by kind.
	Failures map[FailureKind]int
	// Reported are messages listed as failed by invocations that did not fail.
	Reported int
	// Deleted are messages deleted because their work was done. On AWS the
	// queue's metric NumberOfMessagesDeleted has them and Filtered.
	Deleted int
	// Filtered are messages deleted because Filter did not match.
	Filtered int
	// DeleteErrors are deletes that failed; the messages come back.
	DeleteErrors int
	// ReceiveErrors are receives that failed, the SDK's own retries included in
	// each.
	ReceiveErrors int
	// Late are the handlers that outlived their timeout and are still running.
	Late int
}
