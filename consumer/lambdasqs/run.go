package lambdasqs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
)

// ErrNotSQS says that an event is not one of SQS, or cannot be answered with
// message ids. Look at what invokes the function.
var ErrNotSQS = errors.New("lambdasqs: the event cannot be answered with message ids")

// queueBatch is the records of one queue. A mapping polls one queue, so an event has
// one batch; if it ever has more, each is run by the rules of its own queue.
type queueBatch struct {
	arn string
	ds  []*consumer.Delivery
	at  []int // where in the event; nil if the batch is the whole event
}

// run takes an event's records to their outcomes and returns the ids of those
// that failed, in the order of the event, each once.
func (a *Adapter) run(ctx context.Context, records []record) ([]string, error) {
	batches, err := split(records)
	if err != nil {
		return nil, err
	}
	if a.c.Stuck() {
		return nil, fmt.Errorf("lambdasqs: %w", consumer.ErrStuck)
	}
	switch len(batches) {
	case 0:
		return nil, nil
	case 1:
		return a.answer(records, a.runBatch(ctx, batches[0]))
	}
	outs := make([]consumer.Outcome, len(records))
	var wg sync.WaitGroup
	for _, b := range batches {
		wg.Go(func() {
			for i, o := range a.runBatch(ctx, b) {
				outs[b.at[i]] = o
			}
		})
	}
	wg.Wait()
	return a.answer(records, outs)
}

// split checks that every record can be answered for, and sorts the records by
// queue.
func split(records []record) ([]queueBatch, error) {
	if records == nil {
		return nil, fmt.Errorf("%w: it has no Records", ErrNotSQS)
	}
	arn := "" // of the records that do not say, or cannot be read that far
	for i := range records {
		r := &records[i]
		switch {
		case r.mark != "" && r.mark != "aws:sqs":
			return nil, fmt.Errorf("%w: record %d is of %q, not of aws:sqs", ErrNotSQS, i, r.mark)
		case r.message.ID == "":
			return nil, fmt.Errorf("%w: record %d has no messageId", ErrNotSQS, i)
		case arn == "":
			arn = r.message.QueueARN
		}
	}
	var batches []queueBatch
	for i := range records {
		r := &records[i]
		r.mark = r.message.ID
		if r.message.QueueARN == "" {
			r.message.QueueARN = arn
		}
		if r.delivery.Invalid != nil && r.message.GroupID == "" && sqsqueue.IsFIFO(r.message.QueueARN) {
			return nil, fmt.Errorf("%w: record %d of a FIFO queue cannot be decoded, nor can its group be read: %w", ErrNotSQS, i, r.delivery.Invalid)
		}
		batches = add(batches, r, i, len(records))
	}
	return batches, nil
}

func add(batches []queueBatch, r *record, at, size int) []queueBatch {
	for i := range batches {
		if b := &batches[i]; b.arn == r.message.QueueARN {
			b.ds = append(b.ds, &r.delivery)
			if b.at != nil {
				b.at = append(b.at, at)
			}
			return batches
		}
	}
	if len(batches) == 1 { // it was the whole event until now
		batches[0].at = make([]int, 0, size)
		for i := range at {
			batches[0].at = append(batches[0].at, i)
		}
	}
	b := queueBatch{
		arn: r.message.QueueARN,
		ds:  append(make([]*consumer.Delivery, 0, size), &r.delivery),
	}
	if len(batches) > 0 {
		b.at = append(make([]int, 0, size), at)
	}
	return append(batches, b)
}

func (a *Adapter) runBatch(ctx context.Context, b queueBatch) []consumer.Outcome {
	src := a.source(b.arn)
	if a.cfg.ExtendVisibility {
		src.extendAll(ctx, b.ds)
	}
	s := a.c.Open(src, consumer.SessionOptions{Context: ctx, Reserve: a.cfg.Reserve, SettlesAtOnce: true})
	src.stop = s.Stopped()
	return s.Run(b.ds)
}

// answer picks out the ids that failed.
func (a *Adapter) answer(records []record, outs []consumer.Outcome) ([]string, error) {
	var failed []string
	var cause error
	all := true
	for i := range outs {
		o := &outs[i]
		if o.Acknowledged() {
			all = false
			continue
		}
		if failed == nil {
			cause = o.Err
		}
		failed = append(failed, records[i].mark)
	}
	failed = once(failed)
	if len(failed) > 0 && (a.cfg.FailAny || a.cfg.FailWhole && all) {
		return nil, fmt.Errorf("lambdasqs: %d of %d messages failed, the first one with: %w", len(failed), len(outs), cause)
	}
	return failed, nil
}

// once drops what has occurred before.
func once(ids []string) []string {
	if len(ids) < 2 {
		return ids
	}
	seen := make(map[string]struct{}, len(ids))
	return slices.DeleteFunc(ids, func(id string) bool {
		_, twice := seen[id]
		seen[id] = struct{}{}
		return twice
	})
}

const (
	answerHead = `{"batchItemFailures":[`
	itemHead   = `{"itemIdentifier":`
)

// appendAnswer writes the answer, whose list is never null.
func appendAnswer(failed []string) []byte {
	answer := make([]byte, 0, len(answerHead)+2+len(failed)*(len(itemHead)+41))
	answer = append(answer, answerHead...)
	for i, id := range failed {
		if i > 0 {
			answer = append(answer, ',')
		}
		quoted, _ := json.Marshal(id) // a string cannot fail
		answer = append(answer, itemHead...)
		answer = append(answer, quoted...)
		answer = append(answer, '}')
	}
	return append(answer, ']', '}')
}
