package sqstest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// invoker invokes the function once. An error is an *invokeError.
type invoker func(ctx context.Context, requestID string, payload []byte) ([]byte, error)

// invokeError is why an invocation failed as a whole.
type invokeError struct {
	kind FailureKind
	err  error
}

func (e *invokeError) Error() string { return string(e.kind) + ": " + e.err.Error() }
func (e *invokeError) Unwrap() error { return e.err }

func failure(kind FailureKind, format string, args ...any) error {
	return &invokeError{kind: kind, err: fmt.Errorf(format, args...)}
}

// run invokes the function with one batch, deletes what may go and returns the
// records that stay because the function did not do them.
func (e *EventSource) run(ctx context.Context, batch []*record) (kept []*record) {
	v := Invocation{RequestID: newUUID(), Event: event(batch), Started: time.Now()}
	for _, r := range batch {
		v.Records = append(v.Records, r.message)
		v.IDs = append(v.IDs, r.id)
	}
	response, failed, err := e.answer(ctx, v, batch)
	v.Duration = time.Since(v.Started)
	v.Response, v.Err = response, err
	if why, ok := errors.AsType[*invokeError](err); ok {
		v.Failure = why.kind
	}
	var done []*record
	for _, r := range batch {
		if err != nil || failed[r.id] {
			kept = append(kept, r)
		} else {
			done = append(done, r)
		}
	}
	v.DeleteErrors = e.delete(ctx, done)
	for _, r := range batch {
		if err != nil || failed[r.id] || v.DeleteErrors[r.id] != nil {
			v.Kept = append(v.Kept, r.id)
		} else {
			v.Deleted = append(v.Deleted, r.id)
		}
	}
	e.record(&v, len(kept))
	if e.cfg.Observe != nil {
		e.cfg.Observe(v)
	}
	return kept
}

// record counts an invocation.
func (e *EventSource) record(v *Invocation, undone int) {
	e.count(func(s *Stats) {
		s.Invocations++
		s.Records += len(v.IDs)
		s.Deleted += len(v.Deleted)
		s.DeleteErrors += len(v.DeleteErrors)
		if v.Failure != "" {
			s.Failures[v.Failure]++
		} else {
			s.Reported += undone
		}
	})
}

// answer invokes the function and reads what it says: the ids that failed, or
// an error for the whole batch.
func (e *EventSource) answer(ctx context.Context, v Invocation, batch []*record) ([]byte, map[string]bool, error) {
	response, err := e.invoke(ctx, v.RequestID, v.Event)
	if err != nil {
		return nil, nil, err
	}
	if len(response) > MaxPayload {
		return nil, nil, failure(FailureError, "the answer has %d bytes, more than %d", len(response), MaxPayload)
	}
	if e.cfg.WithoutReportBatchItemFailures {
		return response, nil, nil
	}
	failed, err := failedItems(response, batch)
	if err != nil {
		return response, nil, &invokeError{kind: FailureResponse, err: err}
	}
	return response, failed, nil
}

// States of a handler's call.
const (
	callRunning = iota
	callLate
	callEnded
)

// inProcess calls the handler as the Lambda runtime does: with a deadline, the
// request's id in the context, and an end to a panic.
func (e *EventSource) inProcess(ctx context.Context, requestID string, payload []byte) ([]byte, error) {
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		AwsRequestID: requestID, InvokedFunctionArn: e.queue.functionARN(e.cfg.Function),
	})
	deadline := time.Now().Add(e.cfg.Timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	type result struct {
		response []byte
		err      error
	}
	done := make(chan result, 1)
	var state atomic.Int32
	e.handlers.Go(func() {
		var r result
		defer func() {
			if state.Swap(callEnded) == callLate {
				e.late.Add(-1)
			}
			done <- r
		}()
		r.err = failure(FailurePanic, "the handler ended its goroutine (runtime.Goexit)")
		defer func() {
			if p := recover(); p != nil {
				r.err = failure(FailurePanic, "%v\n%s", p, debug.Stack())
			}
		}()
		r.response, r.err = e.cfg.Handler.Invoke(ctx, payload)
		if r.err != nil {
			r.response, r.err = nil, failure(FailureError, "%w", r.err)
		}
	})
	select {
	case r := <-done:
		// A return at the deadline is too late. Both channels may be ready then,
		// and the result must not depend on which one is seen first.
		if time.Now().Before(deadline) {
			return r.response, r.err
		}
	case <-ctx.Done():
		e.late.Add(1)
		if !state.CompareAndSwap(callRunning, callLate) {
			e.late.Add(-1)
		}
	}
	return nil, failure(FailureTimeout, "Task timed out after %.2f seconds", e.cfg.Timeout.Seconds())
}

// functionARN makes an ARN for the function: in the queue's account and region,
// as a mapping needs it.
func (q *sourceQueue) functionARN(name string) string {
	p := strings.Split(q.arn, ":") // of six parts, see open
	return strings.Join([]string{p[0], p[1], "lambda", p[3], p[4], "function", name}, ":")
}
