package sqstest_test

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// emulatorRows are what at least one well-known emulator does otherwise than
// AWS; a row above may say the same in other words.
var emulatorRows = []row{
	{name: "9/errors carry the code of the query protocol", run: func(e *env) {
		_, err := e.client.GetQueueUrl(e.ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(e.prefix + "-not")})
		e.refused("GetQueueUrl", err, "AWS.SimpleQueueService.NonExistentQueue", "")
	}},
	{name: "9/delete twice", run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receive(url))
		e.delete(url, m, m)
	}},
	{name: "9/delete with an older handle does nothing", wait: 2 * time.Second, run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		first := e.one("receive", e.receiveFor(url, 1))
		e.wait(1500 * time.Millisecond)
		second := e.one("second receive", e.receive(url))
		e.accepted("delete with the first handle", e.tryDelete(url, first))
		e.change(url, second, 0)
		e.bodies("still there", e.receive(url), "a")
	}},
	{name: "9/FIFO delete after the timeout fails", wait: 2 * time.Second, run: func(e *env) {
		url := e.fifo(nil)
		e.sendFIFO(url, "g", "a")
		m := e.one("receive", e.receiveFor(url, 1))
		e.wait(1500 * time.Millisecond)
		e.refused("delete", e.tryDelete(url, m), "InvalidParameterValue", "The receipt handle has expired.")
	}},
	{name: "9/change with an older handle works", wait: 2 * time.Second, run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		first := e.one("receive", e.receiveFor(url, 1))
		e.wait(1500 * time.Millisecond)
		e.one("second receive", e.receive(url))
		e.accepted("change", e.tryChange(url, first, 0))
		e.bodies("shown", e.receive(url), "a")
	}},
	{name: "9/change on a deleted message names the parameter", run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receive(url))
		e.delete(url, m)
		e.refused("change", e.tryChange(url, m, 1), "InvalidParameterValue", "parameter ReceiptHandle")
	}},
	{name: "9/change when no longer in flight hides again", wait: 2 * time.Second, run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receiveFor(url, 1))
		e.wait(1500 * time.Millisecond)
		e.same("in flight", e.attribute(url, "ApproximateNumberOfMessagesNotVisible"), "0")
		e.change(url, m, 300)
		e.bodies("hidden", e.receive(url))
		e.same("in flight again", e.attribute(url, "ApproximateNumberOfMessagesNotVisible"), "1")
	}},
	{name: "9/the twelve hours count from the receive, not from the send", wait: 6 * time.Second, run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		e.wait(6 * time.Second)
		m := e.one("receive", e.receive(url))
		e.accepted("43,196 s after the receive", e.tryChange(url, m, 43_196))
	}},
	{name: "9/beyond twelve hours an entry fails, not the batch", run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a", "b")
		ms := e.receive(url)
		e.bodies("receive", ms, "a", "b")
		out, err := e.client.ChangeMessageVisibilityBatch(e.ctx, &sqs.ChangeMessageVisibilityBatchInput{
			QueueUrl: &url, Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
				{Id: aws.String("long"), ReceiptHandle: ms[0].ReceiptHandle, VisibilityTimeout: 43_200},
				{Id: aws.String("short"), ReceiptHandle: ms[1].ReceiptHandle, VisibilityTimeout: 10},
			},
		})
		e.accepted("batch", err)
		if len(out.Successful) != 1 || len(out.Failed) != 1 {
			e.failf("%d succeeded, %d failed", len(out.Successful), len(out.Failed))
		}
		e.same("code", *out.Failed[0].Code, "InvalidParameterValue")
	}},
	{name: "9/FIFO blocking is positional", run: func(e *env) {
		url := e.three(map[string]int32{"m1": 0})
		e.bodies("m1 visible, m2 and m3 hidden", e.receive(url), "m1")
	}},
	{name: "9/FIFO deduplication outlives the message", run: func(e *env) {
		url := e.fifo(nil)
		e.sendFIFO(url, "g", "a")
		e.delete(url, e.one("receive", e.receive(url)))
		e.sendFIFO(url, "g", "a")
		e.bodies("dropped", e.receive(url))
	}},
	{name: "9/a failed entry says whose fault it is", run: func(e *env) {
		out, err := e.deleteBatch(e.queue(nil), "0")
		e.accepted("batch", err)
		e.same("failed", len(out.Failed), 1)
		e.same("sender fault", out.Failed[0].SenderFault, true)
	}},
	{name: "9/a second move task is InvalidParameterValue", wait: 3 * time.Second, run: func(e *env) {
		_, dead, _ := e.grave(3)
		_, err := e.startMove(e.arn(dead), nil, aws.Int32(1))
		e.accepted("first", err)
		_, err = e.startMove(e.arn(dead), nil, nil)
		e.refused("second", err, "InvalidParameterValue", "There is already a task running.")
	}},
	{name: "9/a receive's visibility timeout is honoured", wait: 2 * time.Second, run: func(e *env) {
		url := e.queue(attrs{"VisibilityTimeout": "43200"})
		e.send(url, "a")
		e.one("receive", e.receiveFor(url, 1))
		e.bodies("after a second", e.await(url), "a")
	}},
}
