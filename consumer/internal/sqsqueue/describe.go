package sqsqueue

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer"
)

// Description is what SQS says of a queue.
type Description struct {
	consumer.Queue

	// DeadLetterARN is the target of its redrive policy; empty without one.
	DeadLetterARN string
}

// Describe asks SQS about the queue, which needs sqs:GetQueueAttributes.
func (q *Queue) Describe(ctx context.Context) (_ Description, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl:       &q.url,
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	}, q.options)
	if err != nil {
		return Description{}, err
	}
	arn := out.Attributes["QueueArn"]
	d := Description{Queue: consumer.Queue{
		ARN: arn, Name: NameOf(arn), FIFO: IsFIFO(arn),
		Visibility: seconds(out.Attributes["VisibilityTimeout"]),
		Retention:  seconds(out.Attributes["MessageRetentionPeriod"]),
	}}
	d.DeadLetterARN, d.MaxReceives = redrivePolicy(out.Attributes["RedrivePolicy"])
	return d, nil
}

func seconds(s string) time.Duration {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(n) * time.Second
}

// redrivePolicy reads the JSON of a redrive policy. SQS writes the count as a
// number or as a string, the way it was given.
func redrivePolicy(s string) (target string, receives int) {
	var p struct {
		Target   string          `json:"deadLetterTargetArn"`
		Receives json.RawMessage `json:"maxReceiveCount"`
	}
	if json.Unmarshal([]byte(s), &p) != nil {
		return "", 0
	}
	var n json.Number
	if json.Unmarshal(p.Receives, &n) != nil {
		return p.Target, 0
	}
	receives, _ = strconv.Atoi(n.String())
	return p.Target, receives
}
