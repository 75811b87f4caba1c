// Package dlq parks rejected messages on a dead-letter queue by a send of our
// own, so that they leave their queue at once, with the reason attached, and
// without using up the receives that SQS's redrive policy counts.
package dlq

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
)

// Queue is a dead-letter queue to park on; it is a [consumer.DeadLetter]. It is
// safe for concurrent use.
type Queue struct {
	client *sqs.Client
	url    string
}

var _ consumer.DeadLetter = (*Queue)(nil)

// New returns the dead-letter queue at url. It needs sqs:SendMessage there, and
// kms:GenerateDataKey and kms:Decrypt if it is encrypted with a key of its own.
// The queue should keep messages for 14 days, and cannot be the one that is
// consumed: Park fails then. A FIFO queue parks on a FIFO queue, to keep groups
// apart and in order. [consumer.New] says if client is nil or url is not one.
func New(client *sqs.Client, url string) *Queue {
	return &Queue{client: client, url: url}
}

// Validate reports what is wrong with the arguments of [New].
func (q *Queue) Validate() error {
	if q == nil || q.client == nil {
		return errors.New("the SQS client of the dead-letter queue is nil; pass one to dlq.New")
	}
	if u, err := url.Parse(q.url); err != nil || u.Scheme == "" || u.Host == "" {
		return fmt.Errorf("the URL of the dead-letter queue is %q; pass dlq.New the whole URL, with scheme and host", q.url)
	}
	return nil
}

// Fits reports whether messages of a queue can be parked here: like the
// dead-letter queue of a redrive policy, it must be of the same type.
func (q *Queue) Fits(from consumer.Queue) error {
	switch fifo := sqsqueue.IsFIFO(q.url); {
	case q.is(from):
		return fmt.Errorf("%s is the queue that is consumed itself; use another one", q.url)
	case fifo && !from.FIFO:
		return fmt.Errorf("%s is a FIFO queue and %s is not; use a standard queue as its dead-letter queue", q.url, from.Name)
	case !fifo && from.FIFO:
		return fmt.Errorf("%s is not a FIFO queue and %s is one; use a FIFO queue as its dead-letter queue, "+
			"to keep groups apart and in order", q.url, from.Name)
	}
	return nil
}

// What SQS takes (message quotas, Amazon SQS Developer Guide).
const (
	maxAttributes = 10
	maxSize       = 1 << 20
)

// Park implements [consumer.DeadLetter]. The copy has the body byte for byte,
// the attributes, the message group and the trace header of the original. One
// attribute more, [AttributeName], says where it comes from and why; it is left
// out where the message has no room for it. Park returns nil once SQS has
// confirmed the copy.
//
// A crash after that and before the original is acknowledged parks the message
// again. On a FIFO dead-letter queue SQS drops the second copy if it comes
// within five minutes: the deduplication id is made of the original message id
// and its time of sending.
func (q *Queue) Park(ctx context.Context, from consumer.Queue, o consumer.Outcome) error {
	if q.is(from) {
		return fmt.Errorf("the dead-letter queue is the queue that is consumed, %s: "+
			"parking there would go round in circles; pass dlq.New another one", from.ARN)
	}
	m := o.Delivery.Message
	p := provenance(from, o)
	in := &sqs.SendMessageInput{MessageBody: &m.Body, MessageAttributes: attributes(m)}
	if trace := m.System["AWSTraceHeader"]; trace != "" {
		in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: &trace},
		}
	}
	if group := m.GroupID; group != "" {
		in.MessageGroupId = &group
	}
	if sqsqueue.IsFIFO(q.url) {
		in.MessageDeduplicationId = aws.String(p.MessageID + "-" + strconv.FormatInt(m.Life(), 10))
		if in.MessageGroupId == nil {
			in.MessageGroupId = &m.ID
		}
	}
	target := sqsqueue.New(q.client, q.url, "")
	if !attach(in, p) {
		return target.Send(ctx, in)
	}
	err := target.Send(ctx, in)
	if sqsqueue.Classify(err) == sqsqueue.ClassTooLong {
		// The queue takes less than SQS allows; the message matters more.
		delete(in.MessageAttributes, AttributeName)
		return target.Send(ctx, in)
	}
	return err
}

// is reports whether q is the queue from: its account and name, in a region that
// is not another one.
func (q *Queue) is(from consumer.Queue) bool {
	id, err := sqsqueue.ParseARN(from.ARN)
	u, urlErr := url.Parse(q.url)
	if err != nil || urlErr != nil || !strings.HasSuffix(u.Path, "/"+id.Account+"/"+id.Name) {
		return false
	}
	for label := range strings.SplitSeq(u.Hostname(), ".") {
		if region.MatchString(label) {
			return label == id.Region
		}
	}
	return true
}

// region is the name of an AWS region, as hosts of SQS have it. An emulator's or
// a proxy's host need not have one.
var region = regexp.MustCompile(`^[a-z]{2,4}(-[a-z]+)?-(north|south|east|west|central|northeast|southeast|northwest|southwest)-[0-9]+$`)

func attributes(m *consumer.Message) map[string]types.MessageAttributeValue {
	attrs := make(map[string]types.MessageAttributeValue, len(m.Attributes)+1)
	for name, a := range m.Attributes {
		v := types.MessageAttributeValue{DataType: aws.String(a.DataType)}
		if strings.HasPrefix(a.DataType, "Binary") {
			v.BinaryValue = a.BinaryValue
		} else {
			v.StringValue = aws.String(a.StringValue)
		}
		attrs[name] = v
	}
	return attrs
}

// attach adds the provenance to a message that has room for it, in place of an
// earlier one; without room that one stays, since it names the original.
func attach(in *sqs.SendMessageInput, p Provenance) bool {
	value := p.encode()
	size, others := len(*in.MessageBody)+len(AttributeName)+len("String")+len(value), 0
	for name, a := range in.MessageAttributes {
		if name != AttributeName {
			others++
			size += len(name) + len(*a.DataType) + len(aws.ToString(a.StringValue)) + len(a.BinaryValue)
		}
	}
	if others >= maxAttributes || size > maxSize {
		return false
	}
	in.MessageAttributes[AttributeName] = types.MessageAttributeValue{
		DataType: aws.String("String"), StringValue: &value,
	}
	return true
}
