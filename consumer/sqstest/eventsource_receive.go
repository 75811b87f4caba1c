package sqstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const (
	longPoll   = 20 * time.Second // the longest that SQS allows
	receiveMax = 10               // messages that SQS returns at once
	// slack is how much longer than the poll a receive may take, the SDK's own
	// retries included. Without an end a connection that hangs would hang for
	// ever: the SDK sets no read timeout.
	slack = 30 * time.Second
)

// sourceQueue is what an event source knows of its queue.
type sourceQueue struct {
	arn, region string
	fifo        bool
}

// open asks for the queue's ARN and visibility timeout, the first time.
func (e *EventSource) open(ctx context.Context) error {
	e.mu.Lock()
	known := e.queue != nil
	e.mu.Unlock()
	if known {
		return nil
	}
	got, err := e.attributes(ctx, types.QueueAttributeNameQueueArn, types.QueueAttributeNameVisibilityTimeout)
	if err != nil {
		return err
	}
	seconds, err := strconv.Atoi(got["VisibilityTimeout"])
	if err != nil {
		return fmt.Errorf("the queue's VisibilityTimeout is %q: %w", got["VisibilityTimeout"], err)
	}
	if visibility := time.Duration(seconds) * time.Second; visibility < e.cfg.Timeout {
		return fmt.Errorf("the queue's visibility timeout is %v, less than Timeout (%v), which Lambda refuses; "+
			"raise the queue's visibility timeout, or lower Timeout", visibility, e.cfg.Timeout)
	}
	parts := strings.Split(got["QueueArn"], ":")
	if len(parts) != 6 {
		return fmt.Errorf("the queue's QueueArn is %q, which is no ARN", got["QueueArn"])
	}
	q := &sourceQueue{arn: got["QueueArn"], region: parts[3], fifo: isFIFO(got["QueueArn"])}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = q
	return nil
}

func (e *EventSource) attributes(ctx context.Context, names ...types.QueueAttributeName) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, slack)
	defer cancel()
	out, err := e.cfg.Client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &e.cfg.QueueURL, AttributeNames: names,
	}, asEventSource)
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

// collect makes a batch: one receive, and with a window as many more as it
// takes to fill it. It may return both records and an error.
func (p *pump) collect(ctx context.Context) ([]*record, error) {
	cfg := &p.e.cfg
	batch, err := p.receive(ctx, min(cfg.BatchSize, receiveMax), p.pollTime())
	if err != nil || len(batch) == 0 {
		return batch, err
	}
	ends := time.Now().Add(cfg.Window)
	for len(batch) < cfg.BatchSize && eventSize(batch) < cfg.PayloadLimit {
		left := time.Until(ends)
		if left <= 0 {
			break
		}
		// Whole seconds, and never 0, which would mean the queue's default: the
		// window ends late by less than a second.
		wait := min((left + time.Second - 1).Truncate(time.Second), longPoll)
		more, err := p.receive(ctx, min(cfg.BatchSize-len(batch), receiveMax), wait)
		batch = append(batch, more...)
		if err != nil {
			return batch, err
		}
	}
	return batch, nil
}

// pollTime is how long the first receive of a batch waits.
func (p *pump) pollTime() time.Duration {
	switch {
	case p.e.server != nil:
		// await has seen that there is something. If it was only to move to the
		// dead-letter queue, or somebody else was quicker, await is to wait.
		return time.Second
	case p.drain && p.running.Load() > 0:
		// The queue may be quiet once the last invocation has ended.
		return time.Second
	default:
		return longPoll
	}
}

// receive makes one receive and deletes what the filter does not want.
func (p *pump) receive(ctx context.Context, most int, wait time.Duration) ([]*record, error) {
	e := p.e
	ctx, cancel := context.WithTimeout(ctx, wait+slack)
	defer cancel()
	out, err := e.cfg.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl:                    &e.cfg.QueueURL,
		MaxNumberOfMessages:         int32(most),               //nolint:gosec // at most 10
		WaitTimeSeconds:             int32(wait / time.Second), //nolint:gosec // at most 20
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		MessageAttributeNames:       []string{"All"},
	}, asEventSource)
	if err != nil {
		return nil, err
	}
	var wanted, unwanted []*record
	for _, m := range out.Messages {
		r := e.queue.newRecord(m)
		if e.cfg.Filter != nil && !e.cfg.Filter(deref(m.Body)) {
			unwanted = append(unwanted, r)
			continue
		}
		wanted = append(wanted, r)
	}
	if len(unwanted) > 0 {
		errs := e.delete(context.WithoutCancel(ctx), unwanted)
		e.count(func(s *Stats) {
			s.Filtered += len(unwanted) - len(errs)
			s.DeleteErrors += len(errs)
		})
	}
	return wanted, nil
}

// transient are codes of errors that pass, without the prefix that some have.
var transient = []string{"RequestThrottled", "ThrottlingException", "Throttling", "KMS.ThrottlingException", "KmsThrottled", "OverLimit"}

// passing reports whether an error of a call may be gone at the next one.
func passing(err error) bool {
	if errors.Is(err, errClosed) {
		return false
	}
	answered, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return true // no answer, or a damaged one
	}
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && response.HTTPStatusCode() >= 500 {
		return true
	}
	return slices.Contains(transient, strings.TrimPrefix(answered.ErrorCode(), simpleQueueService))
}
