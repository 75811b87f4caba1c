package sqstest_test

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// three sends m1, m2, m3 to one group, receives all of them hidden for 30 s, and
// changes the visibility of those given.
func (e *env) three(change map[string]int32) string {
	url := e.fifo(nil)
	e.sendFIFO(url, "g", "m1", "m2", "m3")
	ms := e.receiveFor(url, 30)
	e.bodies("receive", ms, "m1", "m2", "m3")
	for _, m := range ms {
		if seconds, ok := change[*m.Body]; ok {
			e.change(url, m, seconds)
		}
	}
	return url
}

var fifoRows = []row{
	{name: "2.7/a hidden message blocks the later ones of its group", run: func(e *env) {
		url := e.fifo(nil)
		e.sendFIFO(url, "g", "m1")
		e.bodies("first", e.receive(url), "m1")
		e.sendFIFO(url, "g", "m2")
		e.bodies("blocked", e.receive(url))
		e.sendFIFO(url, "h", "n1")
		e.bodies("another group is free", e.receive(url), "n1")
	}},
	{name: "2.7/showing the first frees the first only", run: func(e *env) {
		url := e.three(map[string]int32{"m1": 0})
		e.bodies("m1 alone", e.receive(url), "m1")
		e.bodies("nothing after it", e.receive(url))
	}},
	{name: "2.7/the visible ones before a hidden one come back", run: func(e *env) {
		url := e.three(map[string]int32{"m1": 0, "m2": 0})
		e.bodies("m1 and m2", e.receive(url), "m1", "m2")
	}},
	{name: "2.7/a hidden first one blocks visible later ones", run: func(e *env) {
		url := e.three(map[string]int32{"m2": 0, "m3": 0})
		e.bodies("blocked", e.receive(url))
	}},
	{name: "2.7/an extended first one blocks its group until it returns", wait: time.Minute, run: func(e *env) {
		url := e.three(map[string]int32{"m1": 45})
		e.wait(31 * time.Second)
		e.bodies("m2 and m3 visible, m1 not", e.receive(url))
		e.wait(15 * time.Second)
		e.bodies("all of them", e.receive(url), "m1", "m2", "m3")
	}},
	{name: "2.7/an extended second one lets the first come alone", wait: time.Minute, run: func(e *env) {
		url := e.three(map[string]int32{"m2": 45})
		e.wait(31 * time.Second)
		e.bodies("m1", e.receive(url), "m1")
	}},
	{name: "2.7/an extended third one lets the others come", wait: time.Minute, run: func(e *env) {
		url := e.three(map[string]int32{"m3": 45})
		e.wait(31 * time.Second)
		e.bodies("m1 and m2", e.receive(url), "m1", "m2")
	}},
	{name: "2.7/one of two deleted leaves the group blocked", run: func(e *env) {
		url := e.fifo(nil)
		e.sendFIFO(url, "g", "m1", "m2")
		ms := e.receive(url)
		e.bodies("receive", ms, "m1", "m2")
		e.sendFIFO(url, "g", "m3")
		e.delete(url, ms[0])
		e.bodies("blocked by m2", e.receive(url))
		e.delete(url, ms[1])
		e.bodies("free at once", e.receive(url), "m3")
	}},
	{name: "2.7/one receive takes group by group", run: func(e *env) {
		url := e.fifo(nil)
		e.sendFIFO(url, "g1", "g1-m1")
		e.sendFIFO(url, "g2", "g2-m1")
		e.sendFIFO(url, "g1", "g1-m2", "g1-m3")
		e.bodies("receive", e.receive(url), "g1-m1", "g1-m2", "g1-m3", "g2-m1")
	}},
	{name: "2.7/the next message of a group comes once the first is deleted", run: func(e *env) {
		url := e.fifo(nil)
		e.sendFIFO(url, "g", "m1", "m2")
		m := e.one("one", e.receiveInput(&sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 1}))
		e.bodies("blocked", e.receive(url))
		e.delete(url, m)
		e.bodies("next", e.receive(url), "m2")
	}},
	{name: "2.7/a move to the dead-letter queue unblocks the group", run: func(e *env) {
		dead := e.fifo(nil)
		url := e.fifo(e.withDeadLetter(dead, 1))
		e.sendFIFO(url, "g", "m1")
		e.change(url, e.one("only allowed receive", e.receive(url)), 0)
		e.sendFIFO(url, "g", "m2")
		e.bodies("m1 moves, m2 comes", e.receive(url), "m2")
		e.bodies("dead letter", e.receive(dead), "m1")
	}},
	{name: "2.7/a delay of its own is refused", run: func(e *env) {
		url := e.fifo(nil)
		_, err := e.client.SendMessage(e.ctx, &sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: aws.String("a"), MessageGroupId: aws.String("g"),
			MessageDeduplicationId: aws.String("d"), DelaySeconds: 2,
		})
		e.refused("send", err, "InvalidParameterValue", "Value 2 for parameter DelaySeconds is invalid. Reason: "+
			"The request include parameter that is not valid for this queue type.")
	}},
	{name: "2.7/the queue's delay holds", wait: 2 * time.Second, run: func(e *env) {
		url := e.fifo(attrs{"DelaySeconds": "1"})
		began := time.Now()
		e.sendFIFO(url, "g", "a")
		e.hiddenSince(began, e.receive(url))
		e.bodies("later", e.await(url), "a")
	}},
	{name: "2.7/system attributes of a FIFO message", run: func(e *env) {
		url := e.fifo(nil)
		sent := e.sendInput(&sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: aws.String("a"), MessageGroupId: aws.String("grp"),
			MessageDeduplicationId: aws.String("ded"),
		})
		e.same("length of a sequence number", len(aws.ToString(sent.SequenceNumber)), 20)
		m := e.one("receive", e.receive(url))
		e.same("group", m.Attributes["MessageGroupId"], "grp")
		e.same("deduplication", m.Attributes["MessageDeduplicationId"], "ded")
		e.same("sequence", m.Attributes["SequenceNumber"], *sent.SequenceNumber)
	}},
}

var dedupRows = []row{
	{name: "2.7/a group and a deduplication id are needed", run: func(e *env) {
		url := e.fifo(nil)
		_, err := e.client.SendMessage(e.ctx, &sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: aws.String("a"), MessageDeduplicationId: aws.String("d"),
		})
		e.refused("no group", err, "MissingParameter", "The request must contain the parameter MessageGroupId.")
		_, err = e.client.SendMessage(e.ctx, &sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: aws.String("a"), MessageGroupId: aws.String("g"),
		})
		e.refused("no deduplication id", err, "InvalidParameterValue", "The queue should either have "+
			"ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly")
	}},
	{name: "2.7/a batch without a group or a deduplication id is refused", run: func(e *env) {
		url := e.fifo(nil)
		in := sendBatch(url, "a")
		_, err := e.client.SendMessageBatch(e.ctx, in)
		e.refused("no group", err, "InvalidParameterValue", "The request must contain the parameter MessageGroupId.")
		in.Entries[0].MessageGroupId = aws.String("g")
		_, err = e.client.SendMessageBatch(e.ctx, in)
		e.refused("no deduplication id", err, "InvalidParameterValue", "The queue should either have")
	}},
	{name: "2.7/a repeated deduplication id is accepted and dropped", run: func(e *env) {
		url := e.fifo(nil)
		first := e.sendFIFO(url, "g", "a")
		second := e.sendFIFO(url, "g", "a")
		e.same("message id", second, first)
		e.bodies("receive", e.receive(url), "a")
	}},
	{name: "2.7/a deduplication id is remembered after the delete", run: func(e *env) {
		url := e.fifo(nil)
		e.sendFIFO(url, "g", "a")
		e.delete(url, e.one("receive", e.receive(url)))
		e.sendFIFO(url, "g", "a")
		e.bodies("dropped", e.receive(url))
	}},
	{name: "2.7/a deduplication id is forgotten after five minutes", wait: 5 * time.Minute, run: func(e *env) {
		url := e.fifo(nil)
		e.sendFIFO(url, "g", "a")
		e.delete(url, e.one("receive", e.receive(url)))
		e.wait(5*time.Minute - time.Second)
		e.sendFIFO(url, "g", "a")
		e.bodies("still remembered", e.receive(url))
		e.wait(time.Second)
		e.sendFIFO(url, "g", "a")
		e.bodies("forgotten", e.receive(url), "a")
	}},
	{name: "2.7/deduplication spans the groups of a queue", run: func(e *env) {
		url := e.fifo(nil)
		e.sendFIFO(url, "g", "a")
		e.sendFIFO(url, "h", "a")
		e.bodies("receive", e.receive(url), "a")
	}},
	{name: "2.7/or each group by itself, if the queue says so", run: func(e *env) {
		url := e.fifo(attrs{"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"})
		e.sendFIFO(url, "g", "a")
		e.sendFIFO(url, "h", "a")
		e.bodies("receive", e.receive(url), "a", "a")
	}},
	{name: "2.7/an id of the former scope is still refused", run: func(e *env) {
		url := e.fifo(nil)
		e.sendFIFO(url, "g", "a")
		e.delete(url, e.one("receive", e.receive(url)))
		_, err := e.client.SetQueueAttributes(e.ctx, &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: attrs{
			"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId",
		}})
		e.accepted("new scope", err)
		e.sendFIFO(url, "h", "a")
		e.bodies("dropped", e.receive(url))
	}},
	{name: "2.7/content-based deduplication looks at the body only", run: func(e *env) {
		url := e.fifo(attrs{"ContentBasedDeduplication": "true"})
		in := &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("a"), MessageGroupId: aws.String("g")}
		e.sendInput(in)
		in.MessageAttributes = map[string]types.MessageAttributeValue{
			"k": {DataType: aws.String("String"), StringValue: aws.String("v")},
		}
		e.sendInput(in)
		m := e.one("receive", e.receive(url))
		e.same("id", m.Attributes["MessageDeduplicationId"],
			"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb")
	}},
	{name: "2.7/ids are printable and at most 128 characters", run: func(e *env) {
		url := e.fifo(nil)
		for _, bad := range []string{"", "two words", strings.Repeat("x", 129)} {
			_, err := e.client.SendMessage(e.ctx, &sqs.SendMessageInput{
				QueueUrl: &url, MessageBody: aws.String("a"), MessageGroupId: aws.String("g"), MessageDeduplicationId: &bad,
			})
			e.refused("id "+bad, err, "InvalidParameterValue", "Value "+bad+" for parameter MessageDeduplicationId "+
				"is invalid. Reason: MessageDeduplicationId can only include alphanumeric and punctuation characters. "+
				"1 to 128 in length.")
		}
	}},
	{name: "2.9/a standard queue keeps a message group and locks nothing", run: func(e *env) {
		url := e.queue(nil)
		group := aws.String("tenant")
		for _, body := range []string{"a", "b"} {
			e.sendInput(&sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body, MessageGroupId: group})
		}
		m := e.one("first", e.receiveInput(&sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 1}))
		e.same("group", m.Attributes["MessageGroupId"], "tenant")
		e.same("sequence number", m.Attributes["SequenceNumber"], "")
		e.bodies("second of the same group", e.receive(url), "b")
	}},
	{name: "2.9/a group id on a standard queue is checked", run: func(e *env) {
		url := e.queue(nil)
		_, err := e.client.SendMessage(e.ctx, &sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: aws.String("a"), MessageGroupId: aws.String("two words"),
		})
		e.refused("send", err, "InvalidParameterValue", "Value two words for parameter MessageGroupId is invalid.")
	}},
}
