package sqstest_test

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// bury sends a message and uses up its one receive, so that the next receive
// moves it.
func (e *env) bury(url string) (id string) {
	id = e.send(url, "poison")[0]
	e.change(url, e.one("only allowed receive", e.receive(url)), 0)
	return id
}

var deadLetterRows = []row{
	{name: "2.8/the move happens at the next receive", wait: 2 * time.Second, run: func(e *env) {
		dead := e.queue(nil)
		url := e.queue(e.withDeadLetter(dead, 1))
		e.bury(url)
		e.wait(time.Second)
		e.same("nothing moved by itself", e.attribute(dead, "ApproximateNumberOfMessages"), "0")
		e.bodies("the next receive", e.receive(url))
		e.bodies("moved", e.receive(dead), "poison")
	}},
	{name: "2.8/id, attributes and receive count go along", run: func(e *env) {
		dead := e.queue(nil)
		url := e.queue(e.withDeadLetter(dead, 1))
		in := attributed(url)
		sent := e.sendInput(in)
		before := e.one("only allowed receive", e.receive(url))
		e.change(url, before, 0)
		e.bodies("the next receive", e.receive(url))
		m := e.one("dead letter", e.receiveInput(&sqs.ReceiveMessageInput{
			QueueUrl: &dead, MessageAttributeNames: []string{"All"},
		}))
		e.same("id", *m.MessageId, *sent.MessageId)
		e.same("receive count", receives(m), "2")
		e.same("source", m.Attributes["DeadLetterQueueSourceArn"], e.arn(url))
		e.same("send time", m.Attributes["SentTimestamp"], before.Attributes["SentTimestamp"])
		e.same("attributes", len(m.MessageAttributes), 3)
	}},
	{name: "2.8/a handle of the source queue is of no use after the move", run: func(e *env) {
		dead := e.queue(nil)
		url := e.queue(e.withDeadLetter(dead, 1))
		e.send(url, "a")
		m := e.one("receive", e.receive(url))
		e.change(url, m, 0)
		e.bodies("the next receive", e.receive(url))
		e.accepted("delete", e.tryDelete(url, m))
		e.refused("change", e.tryChange(url, m, 1), "InvalidParameterValue", "Message does not exist")
		e.bodies("still in the dead-letter queue", e.receive(dead), "a")
	}},
	{name: "2.8/a FIFO message is deduplicated by its id and dated anew", wait: time.Hour, run: func(e *env) {
		dead := e.fifo(nil)
		url := e.fifo(e.withDeadLetter(dead, 1))
		id := e.sendFIFO(url, "g", "a")[0]
		before := e.one("receive", e.receive(url))
		e.wait(time.Hour)
		e.bodies("the next receive", e.receive(url))
		m := e.one("dead letter", e.receive(dead))
		e.same("id", *m.MessageId, id)
		e.same("deduplication id", m.Attributes["MessageDeduplicationId"], id)
		e.same("group", m.Attributes["MessageGroupId"], "g")
		if m.Attributes["SentTimestamp"] == before.Attributes["SentTimestamp"] {
			e.failf("the send time was kept")
		}
	}},
	{name: "2.8/a standard message expires by its original send time", wait: 2 * time.Hour, run: func(e *env) {
		dead := e.queue(attrs{"MessageRetentionPeriod": "7200"})
		url := e.queue(e.withDeadLetter(dead, 1))
		e.bury(url)
		e.wait(time.Hour)
		e.bodies("the next receive", e.receive(url))
		e.wait(time.Hour)
		e.bodies("expired an hour after the move", e.receive(dead))
	}},
	{name: "2.8/the dead-letter queue must be there and of the same kind", run: func(e *env) {
		_, err := e.client.CreateQueue(e.ctx, &sqs.CreateQueueInput{
			QueueName: aws.String(e.prefix + "-f.fifo"), Attributes: map[string]string{
				"FifoQueue": "true", "RedrivePolicy": e.withDeadLetter(e.queue(nil), 1)["RedrivePolicy"],
			},
		})
		e.refused("another kind", err, "InvalidParameterValue", "Dead-letter queue must be same type of queue as the source.")
	}},
	{name: "2.8/denyAll keeps sources away", run: func(e *env) {
		dead := e.queue(attrs{"RedriveAllowPolicy": `{"redrivePermission":"denyAll"}`})
		_, err := e.client.CreateQueue(e.ctx, &sqs.CreateQueueInput{
			QueueName: aws.String(e.prefix + "-src"), Attributes: e.withDeadLetter(dead, 1),
		})
		e.refused("create", err, "InvalidParameterValue", "RedrivePolicy")
	}},
	{name: "2.8/the sources of a dead-letter queue are listed", run: func(e *env) {
		dead := e.queue(nil)
		url := e.queue(e.withDeadLetter(dead, 3))
		out, err := e.client.ListDeadLetterSourceQueues(e.ctx, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &dead})
		e.accepted("list", err)
		e.same("sources", out.QueueUrls, []string{url})
	}},
	{name: "2.8/an empty redrive policy removes it", run: func(e *env) {
		url := e.queue(e.withDeadLetter(e.queue(nil), 1))
		_, err := e.client.SetQueueAttributes(e.ctx, &sqs.SetQueueAttributesInput{
			QueueUrl: &url, Attributes: attrs{"RedrivePolicy": ""},
		})
		e.accepted("set", err)
		e.bury(url)
		e.bodies("not moved", e.receive(url), "poison")
	}},
}

func (e *env) startMove(source string, destination *string, rate *int32) (string, error) {
	out, err := e.client.StartMessageMoveTask(e.ctx, &sqs.StartMessageMoveTaskInput{
		SourceArn: &source, DestinationArn: destination, MaxNumberOfMessagesPerSecond: rate,
	})
	if err != nil {
		return "", err
	}
	return *out.TaskHandle, nil
}

func (e *env) lastTask(source string) types.ListMessageMoveTasksResultEntry {
	out, err := e.client.ListMessageMoveTasks(e.ctx, &sqs.ListMessageMoveTasksInput{SourceArn: &source})
	e.accepted("ListMessageMoveTasks", err)
	if len(out.Results) != 1 {
		e.failf("%d tasks, want 1", len(out.Results))
	}
	return out.Results[0]
}

// grave makes a queue with n messages in its dead-letter queue.
func (e *env) grave(n int) (url, dead string, ids []string) {
	dead = e.queue(nil)
	url = e.queue(e.withDeadLetter(dead, 1))
	for range n {
		ids = append(ids, e.bury(url))
		e.bodies("the next receive", e.receive(url))
	}
	return url, dead, ids
}

var moveTaskRows = []row{
	{name: "2.8/a move task makes messages new", wait: 2 * time.Second, run: func(e *env) {
		url, dead, ids := e.grave(1)
		_, err := e.startMove(e.arn(dead), nil, nil)
		e.accepted("start", err)
		m := e.one("back in the source", e.await(url))
		if *m.MessageId == ids[0] {
			e.failf("the message id was kept")
		}
		e.same("receive count", receives(m), "1")
		e.same("source", m.Attributes["DeadLetterQueueSourceArn"], "")
		e.wait(time.Second)
		task := e.lastTask(e.arn(dead))
		e.same("status", aws.ToString(task.Status), "COMPLETED")
		e.same("moved", task.ApproximateNumberOfMessagesMoved, int64(1))
		e.same("handle of a finished task", aws.ToString(task.TaskHandle), "")
	}},
	{name: "2.8/the source of a move task must be a dead-letter queue", run: func(e *env) {
		_, err := e.startMove(e.arn(e.queue(nil)), nil, nil)
		e.refused("start", err, "InvalidParameterValue", "Source queue must be configured as a Dead Letter Queue.")
	}},
	{name: "2.8/source and destination of a move task must exist", run: func(e *env) {
		_, dead, _ := e.grave(0)
		_, err := e.startMove(e.arn(dead)+"-not", nil, nil)
		e.refused("source", err, "ResourceNotFoundException",
			"The resource that you specified for the SourceArn parameter doesn't exist.")
		_, err = e.startMove(e.arn(dead), aws.String(e.arn(dead)+"-not"), nil)
		e.refused("destination", err, "ResourceNotFoundException",
			"The resource that you specified for the DestinationArn parameter doesn't exist.")
	}},
	{name: "2.8/one move task at a time", wait: 3 * time.Second, run: func(e *env) {
		_, dead, _ := e.grave(3)
		_, err := e.startMove(e.arn(dead), nil, aws.Int32(1))
		e.accepted("first", err)
		_, err = e.startMove(e.arn(dead), nil, nil)
		e.refused("second", err, "InvalidParameterValue", "There is already a task running.")
	}},
	{name: "2.8/a move task keeps to its rate and can be cancelled", wait: 5 * time.Second, run: func(e *env) {
		url, dead, _ := e.grave(5)
		handle, err := e.startMove(e.arn(dead), nil, aws.Int32(1))
		e.accepted("start", err)
		e.wait(1500 * time.Millisecond)
		out, err := e.client.CancelMessageMoveTask(e.ctx, &sqs.CancelMessageMoveTaskInput{TaskHandle: &handle})
		e.accepted("cancel", err)
		e.same("moved", out.ApproximateNumberOfMessagesMoved, int64(1))
		e.wait(2 * time.Second)
		e.same("moved back", len(e.receive(url)), 1)
		e.same("status", aws.ToString(e.lastTask(e.arn(dead)).Status), "CANCELLED")
		_, err = e.client.CancelMessageMoveTask(e.ctx, &sqs.CancelMessageMoveTaskInput{TaskHandle: &handle})
		e.refused("again", err, "InvalidParameterValue", "Only active tasks can be cancelled.")
	}},
	{name: "2.8/a move task to another queue", wait: 2 * time.Second, run: func(e *env) {
		_, dead, _ := e.grave(2)
		target := e.queue(nil)
		_, err := e.startMove(e.arn(dead), aws.String(e.arn(target)), nil)
		e.accepted("start", err)
		e.wait(time.Second)
		e.bodies("moved", e.receive(target), "poison", "poison")
	}},
	{name: "2.8/a move task fails when its destination is gone", wait: 3 * time.Second, run: func(e *env) {
		url, dead, _ := e.grave(2)
		_, err := e.startMove(e.arn(dead), nil, aws.Int32(1))
		e.accepted("start", err)
		_, err = e.client.DeleteQueue(e.ctx, &sqs.DeleteQueueInput{QueueUrl: &url})
		e.accepted("delete the destination", err)
		e.wait(1500 * time.Millisecond)
		task := e.lastTask(e.arn(dead))
		e.same("status", aws.ToString(task.Status), "FAILED")
		e.same("reason", aws.ToString(task.FailureReason), "AWS.SimpleQueueService.NonExistentQueue")
		e.same("messages left", e.attribute(dead, "ApproximateNumberOfMessages"), "2")
	}},
	{name: "2.8/a move task fails on a message without a source", wait: 2 * time.Second, run: func(e *env) {
		_, dead, _ := e.grave(0)
		e.send(dead, "sent here directly")
		_, err := e.startMove(e.arn(dead), nil, nil)
		e.accepted("start", err)
		e.wait(time.Second)
		task := e.lastTask(e.arn(dead))
		e.same("status", aws.ToString(task.Status), "FAILED")
		e.same("reason", aws.ToString(task.FailureReason), "CouldNotDetermineMessageSource")
	}},
}
