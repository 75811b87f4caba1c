package sqstest

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

type deleteRequest struct{ sqs.DeleteMessageInput }

func (r *deleteRequest) queueURL() string { return deref(r.QueueUrl) }
func (r *deleteRequest) public() any      { return &r.DeleteMessageInput }

type deleteBatchRequest struct{ sqs.DeleteMessageBatchInput }

func (r *deleteBatchRequest) queueURL() string { return deref(r.QueueUrl) }
func (r *deleteBatchRequest) public() any      { return &r.DeleteMessageBatchInput }

type visibilityRequest struct {
	sqs.ChangeMessageVisibilityInput
	VisibilityTimeout *int32
}

func (r *visibilityRequest) queueURL() string { return deref(r.QueueUrl) }

func (r *visibilityRequest) public() any {
	r.ChangeMessageVisibilityInput.VisibilityTimeout = deref(r.VisibilityTimeout)
	return &r.ChangeMessageVisibilityInput
}

type visibilityBatchRequest struct {
	sqs.ChangeMessageVisibilityBatchInput
}

func (r *visibilityBatchRequest) queueURL() string { return deref(r.QueueUrl) }
func (r *visibilityBatchRequest) public() any      { return &r.ChangeMessageVisibilityBatchInput }

// onQueue runs f on the queue with the server locked, and wakes its pollers.
func (x *exchange) onQueue(url string, f func(q *queue, now time.Time) (any, *Error)) (any, error) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	q, err := s.lookup(url, now)
	if err != nil {
		return nil, err
	}
	defer q.notify()
	out, err := f(q, now)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// find resolves a receipt handle. The message is nil if it is gone; a handle
// that was never issued for this queue is an error.
func (x *exchange) find(q *queue, handle string) (*message, receipt, *Error) {
	r, ok := parseReceipt(handle)
	if !ok || r.queue != q.id {
		return nil, receipt{}, errReceiptInvalid(handle)
	}
	m := q.byKey[r.message]
	if m == nil {
		return nil, r, nil
	}
	if x.fault.ExpireHandles {
		m.deadHandles = m.receives
	}
	if r.receive <= m.deadHandles {
		return m, r, errReceiptExpired(handle)
	}
	return m, r, nil
}

// delete acts on one handle. What AWS does: repeating a delete succeeds; on a
// standard queue a handle that is older than the latest receive succeeds and
// deletes nothing, and a handle whose visibility has lapsed still deletes; on a
// FIFO queue both are refused.
func (x *exchange) delete(q *queue, handle string) (Entry, *Error) {
	entry := Entry{Receipt: handle}
	m, r, err := x.find(q, handle)
	if m != nil {
		entry.MessageID = m.id
	}
	if err != nil || m == nil {
		return entry, err
	}
	latest := r.receive == m.receives
	if q.fifo && (!latest || m.state != stateInFlight) {
		return entry, errReceiptExpired(handle)
	}
	if latest {
		q.drop(m)
	}
	return entry, nil
}

// changeVisibility acts on one handle. On a standard queue any handle of the
// message will do, old ones too, whether the message is in flight or not; on a
// FIFO queue only the latest one, and in flight. The 12 hours count from the
// receive that issued the handle. At the very limit it is refused, since on AWS
// some time has always passed.
func (x *exchange) changeVisibility(q *queue, now time.Time, handle string, timeout int32) (Entry, *Error) {
	visibility := time.Duration(timeout) * time.Second
	entry := Entry{Receipt: handle, Visibility: visibility}
	if err := checkVisibility(timeout); err != nil {
		return entry, err
	}
	m, r, err := x.find(q, handle)
	if m != nil {
		entry.MessageID = m.id
	}
	switch {
	case err != nil:
		return entry, err
	case m == nil, q.fifo && (r.receive != m.receives || m.state != stateInFlight):
		return entry, errNotAvailable(handle)
	case timeout > 0 && !now.Add(visibility).Before(r.at.Add(maxVisibility)):
		return entry, errValue(timeout, "VisibilityTimeout",
			"Total VisibilityTimeout for the message is beyond the limit [43200 seconds]")
	case timeout == 0:
		q.show(m)
	default:
		q.hide(m, now.Add(visibility))
	}
	return entry, nil
}

func checkVisibility(timeout int32) *Error {
	if timeout < 0 || timeout > int32(maxVisibility/time.Second) {
		return errValue(timeout, "VisibilityTimeout", "VisibilityTimeout must be an integer between 0 and 43200")
	}
	return nil
}

func deleteMessage(_ context.Context, x *exchange, in *deleteRequest) (any, error) {
	if in.ReceiptHandle == nil {
		return nil, errMissing("ReceiptHandle")
	}
	return x.onQueue(in.queueURL(), func(q *queue, _ time.Time) (any, *Error) {
		entry, err := x.delete(q, *in.ReceiptHandle)
		return nil, x.noted(entry, err)
	})
}

func changeMessageVisibility(_ context.Context, x *exchange, in *visibilityRequest) (any, error) {
	switch {
	case in.ReceiptHandle == nil:
		return nil, errMissing("ReceiptHandle")
	case in.VisibilityTimeout == nil:
		return nil, errMissing("VisibilityTimeout")
	}
	return x.onQueue(in.queueURL(), func(q *queue, now time.Time) (any, *Error) {
		entry, err := x.changeVisibility(q, now, *in.ReceiptHandle, *in.VisibilityTimeout)
		return nil, x.noted(entry, err)
	})
}

// noted records the only entry of a call that is no batch.
func (x *exchange) noted(entry Entry, err *Error) *Error {
	if err != nil {
		entry.Code = err.Code
	}
	x.note(entry)
	return err
}

func deleteMessageBatch(_ context.Context, x *exchange, in *deleteBatchRequest) (any, error) {
	ids := make([]string, len(in.Entries))
	for i, e := range in.Entries {
		ids[i] = deref(e.Id)
	}
	if err := checkBatchIDs("DeleteMessageBatch", ids); err != nil {
		return nil, err
	}
	return x.onQueue(in.queueURL(), func(q *queue, _ time.Time) (any, *Error) {
		return x.runBatch(ids, func(i int) (any, Entry, *Error) {
			entry, err := x.delete(q, deref(in.Entries[i].ReceiptHandle))
			return idAnswer{ids[i]}, entry, err
		}), nil
	})
}

func changeMessageVisibilityBatch(_ context.Context, x *exchange, in *visibilityBatchRequest) (any, error) {
	ids := make([]string, len(in.Entries))
	for i, e := range in.Entries {
		ids[i] = deref(e.Id)
	}
	if err := checkBatchIDs("ChangeMessageVisibilityBatch", ids); err != nil {
		return nil, err
	}
	return x.onQueue(in.queueURL(), func(q *queue, now time.Time) (any, *Error) {
		return x.runBatch(ids, func(i int) (any, Entry, *Error) {
			e := in.Entries[i]
			entry, err := x.changeVisibility(q, now, deref(e.ReceiptHandle), e.VisibilityTimeout)
			return idAnswer{ids[i]}, entry, err
		}), nil
	})
}
