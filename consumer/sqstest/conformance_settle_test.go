package sqstest_test

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// garbage is a receipt handle that no queue ever issued.
var garbage = types.Message{ReceiptHandle: aws.String("MessageReceiptHandle")}

var visibilityRows = []row{
	{name: "2.2/a change counts from the call", wait: 3 * time.Second, run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receiveFor(url, 43_000))
		e.wait(time.Second)
		e.change(url, m, 1)
		e.bodies("a second after the change", e.await(url), "a")
	}},
	{name: "2.2/a change to 0 shows the message at once", run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receive(url))
		e.bodies("hidden", e.receive(url))
		e.change(url, m, 0)
		e.bodies("shown", e.receive(url), "a")
	}},
	{name: "2.2/a change is for this receive only", wait: 3 * time.Second, run: func(e *env) {
		url := e.queue(attrs{"VisibilityTimeout": "1"})
		e.send(url, "a")
		m := e.one("receive", e.receive(url))
		e.change(url, m, 43_000)
		e.bodies("hidden", e.receive(url))
		e.change(url, m, 0)
		e.bodies("second receive", e.receive(url), "a")
		e.bodies("hidden for the queue's own second", e.await(url), "a")
	}},
	{name: "2.2/a timeout is 0 to 43,200 seconds", run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receive(url))
		e.refused("one second more", e.tryChange(url, m, 43_201), "InvalidParameterValue",
			"Value 43201 for parameter VisibilityTimeout is invalid.")
	}},
	{name: "2.2/a lapsed handle hides the message again on a standard queue", wait: 2 * time.Second, run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receiveFor(url, 1))
		e.wait(1500 * time.Millisecond)
		e.accepted("late change", e.tryChange(url, m, 300))
		e.bodies("hidden again", e.receive(url))
	}},
	{name: "2.2/a lapsed handle changes nothing on a FIFO queue", wait: 2 * time.Second, run: func(e *env) {
		url := e.fifo(nil)
		e.sendFIFO(url, "g", "a")
		m := e.one("receive", e.receiveFor(url, 1))
		e.wait(1500 * time.Millisecond)
		e.refused("late change", e.tryChange(url, m, 300), "InvalidParameterValue", "parameter ReceiptHandle")
		e.bodies("visible", e.receive(url), "a")
	}},
	{name: "2.2/older handle still changes visibility on a standard queue", wait: 2 * time.Second, run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		first := e.one("receive", e.receiveFor(url, 1))
		e.wait(1500 * time.Millisecond)
		e.one("second receive", e.receiveFor(url, 300))
		e.bodies("hidden", e.receive(url))
		e.accepted("change with the first handle", e.tryChange(url, first, 0))
		e.bodies("shown under its new owner", e.receive(url), "a")
	}},
	{name: "2.2/a deleted message cannot be changed", run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receive(url))
		e.delete(url, m)
		e.refused("change", e.tryChange(url, m, 10), "InvalidParameterValue",
			"for parameter ReceiptHandle is invalid. Reason: "+
				"Message does not exist or is not available for visibility timeout change.")
	}},
	{name: "2.2/a handle that was never issued is invalid", run: func(e *env) {
		url := e.queue(nil)
		e.refused("change", e.tryChange(url, garbage, 10), "ReceiptHandleIsInvalid", "")
	}},
	{name: "2.2/the handle of another queue is invalid", run: func(e *env) {
		url, other := e.queue(nil), e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receive(url))
		e.refused("change", e.tryChange(other, m, 10), "ReceiptHandleIsInvalid", "")
	}},
	{name: "2.2/twelve hours after the receive is the end", wait: 12 * time.Hour, run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receiveFor(url, 43_000))
		e.accepted("right after the receive", e.tryChange(url, m, 43_195))
		e.wait(11 * time.Hour)
		e.refused("over the end", e.tryChange(url, m, 3_601), "InvalidParameterValue",
			"Value 3601 for parameter VisibilityTimeout is invalid. Reason: "+
				"Total VisibilityTimeout for the message is beyond the limit [43200 seconds]")
		e.accepted("up to the end", e.tryChange(url, m, 3_595))
	}},
	{name: "2.2/the full 43,200 seconds fail even right after the receive", run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receive(url))
		e.refused("change", e.tryChange(url, m, 43_200), "InvalidParameterValue", "beyond the limit [43200 seconds]")
	}},
	{name: "2.2/each receive has twelve hours of its own", wait: 24 * time.Hour, run: func(e *env) {
		url := e.queue(attrs{"MessageRetentionPeriod": "1209600"})
		e.send(url, "a")
		e.wait(13 * time.Hour)
		m := e.one("receive", e.receive(url))
		e.change(url, m, 43_000)
		e.wait(11 * time.Hour)
		e.change(url, m, 0)
		again := e.one("second receive", e.receive(url))
		e.accepted("a long time again", e.tryChange(url, again, 43_000))
	}},
}

var deleteRows = []row{
	{name: "2.3/a lapsed handle deletes on a standard queue", wait: 4 * time.Second, run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receiveFor(url, 1))
		e.wait(1500 * time.Millisecond)
		e.accepted("late delete", e.tryDelete(url, m))
		e.bodies("gone", e.receiveInput(&sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 1}))
		e.same("messages left", e.attribute(url, "ApproximateNumberOfMessages"), "0")
	}},
	{name: "2.3/a repeated delete succeeds", run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		m := e.one("receive", e.receive(url))
		e.accepted("first", e.tryDelete(url, m))
		e.accepted("second", e.tryDelete(url, m))
	}},
	{name: "2.3/a handle that was never issued is invalid", run: func(e *env) {
		e.refused("delete", e.tryDelete(e.queue(nil), garbage), "ReceiptHandleIsInvalid", "")
	}},
	{name: "2.3/a lapsed handle does not delete on a FIFO queue", wait: 2 * time.Second, run: func(e *env) {
		url := e.fifo(nil)
		e.sendFIFO(url, "g", "a")
		m := e.one("receive", e.receiveFor(url, 1))
		e.wait(1500 * time.Millisecond)
		e.refused("late delete", e.tryDelete(url, m), "InvalidParameterValue",
			"for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.")
		e.bodies("still there", e.receive(url), "a")
	}},
	{name: "2.3/an extended handle deletes on a FIFO queue", wait: 2 * time.Second, run: func(e *env) {
		url := e.fifo(nil)
		e.sendFIFO(url, "g", "a")
		m := e.one("receive", e.receiveFor(url, 30))
		e.change(url, m, 60)
		e.wait(1500 * time.Millisecond)
		e.accepted("delete", e.tryDelete(url, m))
		e.bodies("gone", e.receive(url))
	}},
}
