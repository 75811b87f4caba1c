package sqsqueue

import (
	"context"
	"crypto/md5" //nolint:gosec // it is the checksum that SQS gives
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer"
)

// MaxWait is the longest that SQS waits for a message in one receive.
const MaxWait = 20 * time.Second

// ReceiveTimeout bounds one receive, [MaxWait] included: a connection that hangs
// would hang for ever.
const ReceiveTimeout = MaxWait + 10*time.Second

// ErrChecksum says that a body is not the one that was sent.
var ErrChecksum = errors.New("the body does not have the checksum that SQS gave for it")

// Receive waits for up to n messages, with all attributes, and hides them for
// visibility. id makes a second receive by the same id, after one whose answer was
// lost, return the same messages; it is for FIFO queues, and empty for others.
// It returns when ctx ends, and after [ReceiveTimeout] at the latest.
func (q *Queue) Receive(ctx context.Context, n int, visibility time.Duration, id string) (_ []*consumer.Delivery, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, ReceiveTimeout)
	defer cancel()
	in := &sqs.ReceiveMessageInput{
		QueueUrl:                    &q.url,
		MaxNumberOfMessages:         int32(n),                        //nolint:gosec // at most ten
		VisibilityTimeout:           int32(visibility / time.Second), //nolint:gosec // at most twelve hours
		WaitTimeSeconds:             int32(MaxWait / time.Second),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	}
	if id != "" {
		in.ReceiveRequestAttemptId = &id
	}
	out, err := q.client.ReceiveMessage(ctx, in, q.options, unchecked)
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(visibility)
	ds := make([]*consumer.Delivery, len(out.Messages))
	for i := range out.Messages {
		ds[i] = q.delivery(&out.Messages[i], until)
	}
	return ds, nil
}

// unchecked leaves checksums to us: the SDK lets one that is wrong fail the whole
// call, and hides the other nine messages until their timeout.
func unchecked(o *sqs.Options) { o.DisableMessageChecksumValidation = true }

func (q *Queue) delivery(from *types.Message, until time.Time) *consumer.Delivery {
	m := &consumer.Message{
		ID:         aws.ToString(from.MessageId),
		Body:       aws.ToString(from.Body),
		System:     from.Attributes,
		Attributes: attributes(from.MessageAttributes),
	}
	Derive(m)
	d := &consumer.Delivery{Message: m, Receipt: aws.ToString(from.ReceiptHandle), VisibleUntil: until}
	sum := md5.Sum([]byte(m.Body)) //nolint:gosec // see above
	if want := aws.ToString(from.MD5OfBody); want != "" && !strings.EqualFold(want, hex.EncodeToString(sum[:])) {
		d.Invalid = fmt.Errorf("message %s: %w", m.ID, ErrChecksum)
	}
	return d
}

func attributes(from map[string]types.MessageAttributeValue) map[string]consumer.Attribute {
	if len(from) == 0 {
		return nil
	}
	to := make(map[string]consumer.Attribute, len(from))
	for name, a := range from {
		to[name] = consumer.Attribute{
			DataType:    aws.ToString(a.DataType),
			StringValue: aws.ToString(a.StringValue),
			BinaryValue: a.BinaryValue,
		}
	}
	return to
}
