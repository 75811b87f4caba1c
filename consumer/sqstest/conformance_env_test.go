package sqstest_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

type attrs = map[string]string

// queue creates a standard queue.
func (e *env) queue(with attrs) string { return e.create("", with) }

// fifo creates a FIFO queue.
func (e *env) fifo(with attrs) string {
	all := attrs{"FifoQueue": "true"}
	maps.Copy(all, with)
	return e.create(".fifo", all)
}

func (e *env) create(suffix string, with attrs) string {
	name := fmt.Sprintf("%s-%d%s", e.prefix, e.names.Add(1), suffix)
	out, err := e.client.CreateQueue(e.ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: with})
	if err != nil {
		e.failf("CreateQueue: %v", err)
	}
	return *out.QueueUrl
}

// attribute reads one attribute of a queue.
func (e *env) attribute(url string, name types.QueueAttributeName) string {
	out, err := e.client.GetQueueAttributes(e.ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{name},
	})
	if err != nil {
		e.failf("GetQueueAttributes: %v", err)
	}
	return out.Attributes[string(name)]
}

func (e *env) arn(url string) string { return e.attribute(url, "QueueArn") }

// withDeadLetter is the redrive policy to a queue.
func (e *env) withDeadLetter(url string, maxReceives int) attrs {
	return attrs{"RedrivePolicy": fmt.Sprintf(
		`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, e.arn(url), maxReceives)}
}

// send sends bodies to a standard queue, one call each, and returns their ids.
func (e *env) send(url string, bodies ...string) []string {
	var ids []string
	for _, body := range bodies {
		ids = append(ids, *e.sendInput(&sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}).MessageId)
	}
	return ids
}

// sendFIFO sends bodies to a group; the deduplication id is the body.
func (e *env) sendFIFO(url, group string, bodies ...string) []string {
	var ids []string
	for _, body := range bodies {
		ids = append(ids, *e.sendInput(&sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: &body,
		}).MessageId)
	}
	return ids
}

func (e *env) sendInput(in *sqs.SendMessageInput) *sqs.SendMessageOutput {
	out, err := e.client.SendMessage(e.ctx, in)
	if err != nil {
		e.failf("SendMessage: %v", err)
	}
	return out
}

// receive makes a short poll for ten messages with all attributes.
func (e *env) receive(url string) []types.Message {
	return e.receiveInput(&sqs.ReceiveMessageInput{QueueUrl: &url})
}

// receiveFor is receive with a visibility timeout.
func (e *env) receiveFor(url string, visibility int32) []types.Message {
	return e.receiveInput(&sqs.ReceiveMessageInput{QueueUrl: &url, VisibilityTimeout: visibility})
}

// await makes long polls until a message comes, for a message that must come
// back by itself.
func (e *env) await(url string) []types.Message {
	for range 3 {
		if ms := e.receiveInput(&sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 20}); len(ms) > 0 {
			return ms
		}
	}
	e.failf("no message came back within a minute")
	return nil
}

func (e *env) receiveInput(in *sqs.ReceiveMessageInput) []types.Message {
	if in.MaxNumberOfMessages == 0 {
		in.MaxNumberOfMessages = 10
	}
	if in.MessageSystemAttributeNames == nil {
		in.MessageSystemAttributeNames = []types.MessageSystemAttributeName{"All"}
	}
	out, err := e.client.ReceiveMessage(e.ctx, in)
	if err != nil {
		e.failf("ReceiveMessage: %v", err)
	}
	return out.Messages
}

func (e *env) tryDelete(url string, m types.Message) error {
	_, err := e.client.DeleteMessage(e.ctx, &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle})
	return err
}

func (e *env) delete(url string, ms ...types.Message) {
	for _, m := range ms {
		if err := e.tryDelete(url, m); err != nil {
			e.failf("DeleteMessage: %v", err)
		}
	}
}

func (e *env) tryChange(url string, m types.Message, seconds int32) error {
	_, err := e.client.ChangeMessageVisibility(e.ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: seconds,
	})
	return err
}

func (e *env) change(url string, m types.Message, seconds int32) {
	if err := e.tryChange(url, m, seconds); err != nil {
		e.failf("ChangeMessageVisibility: %v", err)
	}
}

// wait lets time pass.
func (e *env) wait(d time.Duration) { time.Sleep(d) }

// same fails unless got is want.
func (e *env) same(what string, got, want any) {
	if diff := cmp.Diff(want, got); diff != "" {
		e.failf("%s: got %v, want %v", what, got, want)
	}
}

// bodies fails unless the messages have these bodies in this order.
func (e *env) bodies(what string, ms []types.Message, want ...string) {
	got := make([]string, len(ms))
	for i, m := range ms {
		got[i] = aws.ToString(m.Body)
	}
	if !cmp.Equal(got, want) && len(got)+len(want) > 0 {
		e.failf("%s: received %q, want %q", what, got, want)
	}
}

// hiddenSince fails if a message came back within its second. A machine that took
// longer than that for the calls proves nothing; virtual time always does.
func (e *env) hiddenSince(began time.Time, ms []types.Message) {
	if len(ms) > 0 && time.Since(began) < time.Second {
		e.failf("received %q, which should still be hidden", aws.ToString(ms[0].Body))
	}
}

// one fails unless exactly one message came, and returns it.
func (e *env) one(what string, ms []types.Message) types.Message {
	if len(ms) != 1 {
		e.failf("%s: received %d messages, want 1", what, len(ms))
	}
	return ms[0]
}

// refused fails unless err is an answer of SQS with that code and a text that
// contains text.
func (e *env) refused(what string, err error, code, text string) {
	if err == nil {
		e.failf("%s: succeeded, want %s", what, code)
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		e.failf("%s: %v, want %s", what, err, code)
	}
	if api.ErrorCode() != code {
		e.failf("%s: code %s (%s), want %s", what, api.ErrorCode(), api.ErrorMessage(), code)
	}
	if !strings.Contains(api.ErrorMessage(), text) {
		e.failf("%s: %s says %q, want %q", what, code, api.ErrorMessage(), text)
	}
}

// accepted fails unless err is nil.
func (e *env) accepted(what string, err error) {
	if err != nil {
		e.failf("%s: %s", what, codeOf(err))
	}
}

// receives returns the receive count of a message.
func receives(m types.Message) string { return m.Attributes["ApproximateReceiveCount"] }
