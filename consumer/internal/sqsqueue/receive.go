package sqsqueue

import (
	"context"
	"crypto/md5" //nolint:gosec // it is the checksum that SQS gives
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
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
// visibility, which is counted from when the answer began to come. id makes a second receive by the same id, after one whose answer was
// lost, return the same messages; it is for FIFO queues, and empty for others.
// It returns when ctx ends, and after [ReceiveTimeout] at the latest.
func (q *Queue) Receive(ctx context.Context, n int, visibility time.Duration, id string) (_ []*consumer.Delivery, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, ReceiveTimeout)
	defer cancel()
	var answered time.Time
	ctx = context.WithValue(ctx, answerTime{}, &answered)
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
	if answered.IsZero() { // cannot be
		answered = time.Now().Add(-ReceiveTimeout)
	}
	return deliveries(out.Messages, answered.Add(visibility)), nil
}

// unchecked leaves checksums to us: the SDK lets one that is wrong fail the whole
// call, and hides the other nine messages until their timeout.
func unchecked(o *sqs.Options) { o.DisableMessageChecksumValidation = true }

// received is one message of a receive. Each is a piece of memory of its own, so
// that one that is kept keeps no other.
type received struct {
	consumer.Delivery

	message consumer.Message
}

func deliveries(from []types.Message, until time.Time) []*consumer.Delivery {
	ds := make([]*consumer.Delivery, len(from))
	sum := checksum{Hash: md5.New()} //nolint:gosec // see above
	for i := range from {
		f, to := &from[i], new(received)
		to.message = consumer.Message{
			ID:         aws.ToString(f.MessageId),
			Body:       aws.ToString(f.Body),
			System:     f.Attributes,
			Attributes: attributes(f.MessageAttributes),
		}
		Derive(&to.message)
		to.Delivery = consumer.Delivery{Message: &to.message, Receipt: aws.ToString(f.ReceiptHandle), VisibleUntil: until}
		if want := aws.ToString(f.MD5OfBody); want != "" && !sum.is(to.message.Body, want) {
			to.Invalid = fmt.Errorf("message %s: %w", to.message.ID, ErrChecksum)
		}
		ds[i] = &to.Delivery
	}
	return ds
}

// checksum compares checksums, without allocating anything for each.
type checksum struct {
	hash.Hash

	text []byte
	sum  [md5.Size]byte
	hex  [2 * md5.Size]byte
}

func (c *checksum) is(body, want string) bool {
	c.Reset()
	c.text = append(c.text[:0], body...)
	_, _ = c.Write(c.text) // never fails
	hex.Encode(c.hex[:], c.Sum(c.sum[:0]))
	return strings.EqualFold(want, string(c.hex[:])) // the conversion is not kept
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
