package sqstest_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// deleteBatch deletes with garbage handles under these entry ids.
func (e *env) deleteBatch(url string, ids ...string) (*sqs.DeleteMessageBatchOutput, error) {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: []types.DeleteMessageBatchRequestEntry{}}
	for _, id := range ids {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: &id, ReceiptHandle: garbage.ReceiptHandle})
	}
	return e.client.DeleteMessageBatch(e.ctx, in)
}

func numbered(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint("id", i)
	}
	return ids
}

const badEntryID = "A batch entry id can only contain alphanumeric characters, hyphens and underscores. " +
	"It can be at most 80 letters long."

var batchRows = []row{
	{name: "2.4/ten entries are the most", run: func(e *env) {
		_, err := e.deleteBatch(e.queue(nil), numbered(11)...)
		e.refused("eleven", err, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
			"Maximum number of entries per request are 10. You have sent 11.")
		if !as[*types.TooManyEntriesInBatchRequest](err) {
			e.failf("the error is %T", err)
		}
	}},
	{name: "2.4/no entries are refused", run: func(e *env) {
		_, err := e.deleteBatch(e.queue(nil))
		e.refused("none", err, "AWS.SimpleQueueService.EmptyBatchRequest", "There should be at least one")
	}},
	{name: "2.4/entry ids are checked", run: func(e *env) {
		url := e.queue(nil)
		for _, id := range []string{"", "a:b", "a b", strings.Repeat("x", 81)} {
			_, err := e.deleteBatch(url, id)
			e.refused("id "+id, err, "AWS.SimpleQueueService.InvalidBatchEntryId", badEntryID)
		}
		_, err := e.deleteBatch(url, strings.Repeat("x", 80), "A-b_9")
		e.accepted("good ids", err)
	}},
	{name: "2.4/entry ids are distinct", run: func(e *env) {
		_, err := e.deleteBatch(e.queue(nil), "a", "a")
		e.refused("twice", err, "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", "Id a repeated.")
	}},
	{name: "2.4/each entry succeeds or fails by itself", run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receive(url))
		out, err := e.client.DeleteMessageBatch(e.ctx, &sqs.DeleteMessageBatchInput{
			QueueUrl: &url, Entries: []types.DeleteMessageBatchRequestEntry{
				{Id: aws.String("bad"), ReceiptHandle: garbage.ReceiptHandle},
				{Id: aws.String("good"), ReceiptHandle: m.ReceiptHandle},
			},
		})
		e.accepted("batch", err)
		if len(out.Successful) != 1 || len(out.Failed) != 1 {
			e.failf("%d succeeded, %d failed", len(out.Successful), len(out.Failed))
		}
		e.same("good", *out.Successful[0].Id, "good")
		e.same("bad", *out.Failed[0].Id, "bad")
		e.same("code", *out.Failed[0].Code, "ReceiptHandleIsInvalid")
		e.same("sender fault", out.Failed[0].SenderFault, true)
	}},
	{name: "2.4/a visibility batch works entry by entry", run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a", "b")
		ms := e.receive(url)
		e.bodies("receive", ms, "a", "b")
		out, err := e.client.ChangeMessageVisibilityBatch(e.ctx, &sqs.ChangeMessageVisibilityBatchInput{
			QueueUrl: &url, Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
				{Id: aws.String("0"), ReceiptHandle: ms[0].ReceiptHandle, VisibilityTimeout: 300},
				{Id: aws.String("1"), ReceiptHandle: ms[1].ReceiptHandle, VisibilityTimeout: 0},
			},
		})
		e.accepted("batch", err)
		e.same("succeeded", len(out.Successful), 2)
		e.bodies("shown", e.receive(url), "b")
	}},
	{name: "2.4/a send batch is stored in order", run: func(e *env) {
		url := e.queue(nil)
		out, err := e.client.SendMessageBatch(e.ctx, sendBatch(url, "a", "b", "c"))
		e.accepted("batch", err)
		e.same("succeeded", len(out.Successful), 3)
		e.bodies("receive", e.receive(url), "a", "b", "c")
	}},
	{name: "2.4/a batch is at most 1 MiB in all", run: func(e *env) {
		url := e.queue(nil)
		half := strings.Repeat("x", 1<<19)
		_, err := e.client.SendMessageBatch(e.ctx, sendBatch(url, half, half+"y"))
		e.refused("one byte more", err, "AWS.SimpleQueueService.BatchRequestTooLong",
			"Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.")
		_, err = e.client.SendMessageBatch(e.ctx, sendBatch(url, half, half))
		e.accepted("exactly", err)
	}},
	{name: "2.4/an oversized entry fails alone", run: func(e *env) {
		url := e.queue(attrs{"MaximumMessageSize": "1024"})
		out, err := e.client.SendMessageBatch(e.ctx, sendBatch(url, strings.Repeat("x", 1025), "small"))
		e.accepted("batch", err)
		if len(out.Successful) != 1 || len(out.Failed) != 1 {
			e.failf("%d succeeded, %d failed", len(out.Successful), len(out.Failed))
		}
		e.same("code", *out.Failed[0].Code, "InvalidParameterValue")
		e.same("text", aws.ToString(out.Failed[0].Message), "One or more parameters cannot be validated. "+
			"Reason: Message must be shorter than 1024 bytes.")
		e.same("sender fault", out.Failed[0].SenderFault, true)
	}},
}

func sendBatch(url string, bodies ...string) *sqs.SendMessageBatchInput {
	in := &sqs.SendMessageBatchInput{QueueUrl: &url}
	for i, body := range bodies {
		in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{
			Id: aws.String(fmt.Sprint(i)), MessageBody: &body,
		})
	}
	return in
}

var errorRows = []row{
	{name: "2.5/an absent queue has its own type and code", run: func(e *env) {
		url := e.queue(nil) + "-not"
		for i, err := range []error{e.tryDelete(url, garbage), e.tryChange(url, garbage, 1)} {
			what := []string{"delete", "change"}[i]
			e.refused(what, err, "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
			if !as[*types.QueueDoesNotExist](err) {
				e.failf("%s: the error is %T", what, err)
			}
		}
		_, err := e.client.GetQueueUrl(e.ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(e.prefix + "-not")})
		e.refused("GetQueueUrl", err, "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
	}},
	{name: "2.5/an invalid receipt handle has its own type", run: func(e *env) {
		err := e.tryDelete(e.queue(nil), garbage)
		if !as[*types.ReceiptHandleIsInvalid](err) {
			e.failf("the error is %T %v", err, err)
		}
	}},
	{name: "2.5/an expired handle has a code and no type", run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receive(url))
		e.delete(url, m)
		err := e.tryChange(url, m, 1)
		e.refused("change", err, "InvalidParameterValue", "parameter ReceiptHandle")
	}},
}

var limitRows = []row{
	{name: "2.6/a message is at most 1 MiB", run: func(e *env) {
		url := e.queue(nil)
		_, err := e.client.SendMessage(e.ctx, &sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: aws.String(strings.Repeat("x", 1<<20+1)),
		})
		e.refused("one byte more", err, "InvalidParameterValue",
			"One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.")
		e.send(url, strings.Repeat("x", 1<<20))
	}},
	{name: "2.6/a queue may allow less, attributes count", run: func(e *env) {
		url := e.queue(attrs{"MaximumMessageSize": "1024"})
		in := &sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: aws.String(strings.Repeat("x", 1024-11)),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"name": {DataType: aws.String("String"), StringValue: aws.String("v")},
			},
		}
		e.sendInput(in)
		in.MessageBody = aws.String(*in.MessageBody + "x")
		_, err := e.client.SendMessage(e.ctx, in)
		e.refused("one byte more", err, "InvalidParameterValue", "Message must be shorter than 1024 bytes.")
	}},
	{name: "2.6/a message without a body is refused", run: func(e *env) {
		url := e.queue(nil)
		_, err := e.client.SendMessage(e.ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("")})
		e.refused("empty", err, "MissingParameter", "The request must contain the parameter MessageBody.")
	}},
	{name: "2.6/a body is XML 1.0 characters", run: func(e *env) {
		url := e.queue(nil)
		_, err := e.client.SendMessage(e.ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("a\x00b")})
		e.refused("NUL", err, "InvalidMessageContents", "")
		const odd = "tab\tnewline\n <&> \u2028 \U0001F600"
		e.send(url, odd)
		e.bodies("the odd but allowed", e.receive(url), odd)
	}},
	{name: "2.6/too many in flight: a short poll fails", inFlight: 3, run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a", "b", "c", "d")
		e.bodies("first", e.receive(url), "a", "b", "c")
		_, err := e.client.ReceiveMessage(e.ctx, &sqs.ReceiveMessageInput{QueueUrl: &url})
		e.refused("short poll", err, "OverLimit", "")
		if !as[*types.OverLimit](err) {
			e.failf("the error is %T", err)
		}
	}},
	{name: "2.6/too many in flight: a long poll finds nothing", inFlight: 1, wait: 20 * time.Second, run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a", "b")
		e.one("first", e.receiveFor(url, 60))
		e.bodies("long poll", e.receiveInput(&sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 20}))
	}},
	{name: "2.6/too many in flight: no error on a FIFO queue", inFlight: 1, run: func(e *env) {
		url := e.fifo(nil)
		e.sendFIFO(url, "g", "a")
		e.sendFIFO(url, "h", "b")
		m := e.one("first", e.receive(url))
		e.bodies("short poll", e.receive(url))
		e.delete(url, m)
		e.bodies("after the delete", e.receive(url), "b")
	}},
	{name: "2.6/a message expires after the retention period, hidden or not", wait: 2 * time.Minute, run: func(e *env) {
		url := e.queue(attrs{"MessageRetentionPeriod": "60"})
		e.send(url, "a", "b")
		e.one("hide one", e.receiveInput(&sqs.ReceiveMessageInput{
			QueueUrl: &url, VisibilityTimeout: 300, MaxNumberOfMessages: 1,
		}))
		e.wait(61 * time.Second)
		e.bodies("receive", e.receive(url))
		e.same("visible", e.attribute(url, "ApproximateNumberOfMessages"), "0")
		e.same("in flight", e.attribute(url, "ApproximateNumberOfMessagesNotVisible"), "0")
	}},
}
