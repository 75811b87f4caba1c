package sqstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	deleteMax   = 10 // entries in one DeleteMessageBatch
	deleteTries = 3  // of an entry whose failure is not the sender's fault
	deletePause = 200 * time.Millisecond
)

// delete deletes the messages by tens and returns the errors by message id, nil
// if there are none. A message that is not deleted comes back.
func (e *EventSource) delete(ctx context.Context, records []*record) map[string]error {
	var errs map[string]error
	for chunk := range slices.Chunk(records, deleteMax) {
		for i, err := range e.deleteChunk(ctx, chunk) {
			if errs == nil {
				errs = make(map[string]error)
			}
			errs[chunk[i].id] = err
		}
	}
	return errs
}

// deleteChunk makes one call, and up to two more for the entries that SQS says
// are worth it. It returns the errors by position.
func (e *EventSource) deleteChunk(ctx context.Context, chunk []*record) map[int]error {
	ctx, cancel := context.WithTimeout(ctx, slack)
	defer cancel()
	todo := make([]int, len(chunk))
	for i := range todo {
		todo[i] = i
	}
	errs := make(map[int]error)
	for try := 1; ; try++ {
		again := e.deleteEntries(ctx, chunk, todo, errs)
		if len(again) == 0 || try == deleteTries {
			return errs
		}
		todo = again
		pause := time.NewTimer(deletePause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return errs
		}
	}
}

var errUnanswered = errors.New("the answer does not mention the message")

// deleteEntries makes one call for the entries in todo, named by position,
// writes what became of them to errs and returns those to try again.
func (e *EventSource) deleteEntries(ctx context.Context, chunk []*record, todo []int, errs map[int]error) (again []int) {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &e.cfg.QueueURL}
	for _, i := range todo {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{
			Id: new(strconv.Itoa(i)), ReceiptHandle: chunk[i].message.ReceiptHandle,
		})
	}
	out, err := e.cfg.Client.DeleteMessageBatch(ctx, in, asEventSource)
	for _, i := range todo {
		errs[i] = errUnanswered
		if err != nil {
			errs[i] = err
		}
	}
	if err != nil {
		return nil // the SDK has tried again what was worth it
	}
	for _, s := range out.Successful {
		if i, err := strconv.Atoi(deref(s.Id)); err == nil {
			delete(errs, i)
		}
	}
	for _, f := range out.Failed {
		i, err := strconv.Atoi(deref(f.Id))
		if err != nil || i < 0 || i >= len(chunk) {
			continue
		}
		errs[i] = fmt.Errorf("%s: %s", deref(f.Code), deref(f.Message))
		if !f.SenderFault {
			again = append(again, i)
		}
	}
	return again
}
