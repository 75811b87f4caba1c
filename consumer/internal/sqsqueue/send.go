package sqsqueue

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/retry"
)

// Send sends one message and returns once SQS has confirmed it, in up to three
// calls where SQS refuses it for the moment. It fills in the queue's URL.
func (q *Queue) Send(ctx context.Context, in *sqs.SendMessageInput) error {
	in.QueueUrl = &q.url
	return retry.Do(ctx, again.Policy, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		_, err := q.client.SendMessage(ctx, in, q.options)
		if err != nil && !worthRetrying(err) {
			return retry.Permanent(err)
		}
		return err
	})
}
