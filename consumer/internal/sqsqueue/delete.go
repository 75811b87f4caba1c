package sqsqueue

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/retry"
)

// insist is for a delete: the work is done, and a message that stays is work that
// is done again. So whatever may pass is tried again for as long as ctx allows,
// a network that is down included.
var insist = repeat{
	Policy: retry.Policy{
		Tries:   1000,
		Backoff: retry.HalfJitter(retry.Exponential(100*time.Millisecond, 5*time.Second)),
		MaxWait: 5 * time.Second,
	},
	worth: func(err error) bool {
		switch Classify(err) {
		case ClassRetryable, ClassOverLimit:
			return true
		case ClassOther:
			return !answered(err)
		default:
			return false
		}
	},
}

// Delete deletes up to [MaxBatch] messages by their receipts, in one call, and
// tries what has failed again until ctx ends, unless that cannot help. tell is
// called once for each of them, by its position, as soon as it is gone, or is not
// tried any more: one that has to be tried for long does not keep the others.
func (q *Queue) Delete(ctx context.Context, receipts []string, tell func(i int, err error)) {
	eachEntry(ctx, insist, len(receipts), func(ctx context.Context, todo []int) ([]types.BatchResultErrorEntry, []string, error) {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: &q.url, Entries: make([]types.DeleteMessageBatchRequestEntry, 0, len(todo))}
		for _, i := range todo {
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{
				Id:            &entryIDs[i],
				ReceiptHandle: &receipts[i],
			})
		}
		out, err := q.client.DeleteMessageBatch(ctx, in, q.options)
		if err != nil {
			return nil, nil, err
		}
		done := make([]string, 0, len(out.Successful))
		for _, e := range out.Successful {
			done = append(done, aws.ToString(e.Id))
		}
		return out.Failed, done, nil
	}, tell)
}
