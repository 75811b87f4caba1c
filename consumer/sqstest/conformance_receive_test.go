package sqstest_test

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

var receiveRows = []row{
	{name: "2.1/an empty queue answers without messages", run: func(e *env) {
		url := e.queue(nil)
		out, err := e.client.ReceiveMessage(e.ctx, &sqs.ReceiveMessageInput{QueueUrl: &url})
		e.accepted("receive", err)
		if out.Messages != nil {
			e.failf("Messages is %v, want nil", out.Messages)
		}
	}},
	{name: "2.1/one message by default, ten at most", run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a", "b")
		e.bodies("default", e.receiveInput(&sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 1}), "a")
		_, err := e.client.ReceiveMessage(e.ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 11})
		e.refused("eleven", err, "InvalidParameterValue",
			"Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.")
	}},
	{name: "2.1/a wait is 0 to 20 seconds", run: func(e *env) {
		url := e.queue(nil)
		_, err := e.client.ReceiveMessage(e.ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 21})
		e.refused("21 s", err, "InvalidParameterValue",
			"Value 21 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.")
		_, err = e.client.ReceiveMessage(e.ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: -1})
		e.refused("-1 s", err, "InvalidParameterValue", "Value -1 for parameter WaitTimeSeconds is invalid.")
	}},
	{name: "2.1/no attributes unless asked", run: func(e *env) {
		url := e.queue(nil)
		e.sendInput(attributed(url))
		out, err := e.client.ReceiveMessage(e.ctx, &sqs.ReceiveMessageInput{QueueUrl: &url})
		e.accepted("receive", err)
		m := e.one("receive", out.Messages)
		e.same("system attributes", len(m.Attributes), 0)
		e.same("message attributes", len(m.MessageAttributes), 0)
		e.same("checksum", aws.ToString(m.MD5OfMessageAttributes), "")
	}},
	{name: "2.1/system attributes by name and All", run: systemAttributeNames},
	{name: "2.1/times are epoch milliseconds, the receive count starts at 1", run: func(e *env) {
		url := e.queue(nil)
		before := time.Now().Add(-time.Minute)
		e.send(url, "a")
		m := e.one("receive", e.receiveFor(url, 1))
		e.same("receive count", receives(m), "1")
		for _, name := range []string{"SentTimestamp", "ApproximateFirstReceiveTimestamp"} {
			ms, err := strconv.ParseInt(m.Attributes[name], 10, 64)
			if at := time.UnixMilli(ms); err != nil || at.Before(before) || at.After(time.Now().Add(time.Minute)) {
				e.failf("%s is %q", name, m.Attributes[name])
			}
		}
		again := e.one("second receive", e.await(url))
		e.same("second count", receives(again), "2")
		e.same("first receive time", again.Attributes["ApproximateFirstReceiveTimestamp"],
			m.Attributes["ApproximateFirstReceiveTimestamp"])
		e.same("send time", again.Attributes["SentTimestamp"], m.Attributes["SentTimestamp"])
	}, wait: 2 * time.Second},
	{name: "2.1/message attributes by name, prefix and All", run: messageAttributeNames},
	{name: "2.1/a long poll returns when a message comes", wait: 3 * time.Second, run: func(e *env) {
		url := e.queue(nil)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			time.Sleep(time.Second)
			_, _ = e.client.SendMessage(e.ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("late")})
		}()
		ms := e.receiveInput(&sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 20})
		<-sent
		e.bodies("long poll", ms, "late")
	}},
	{name: "2.1/a long poll returns when a visibility ends", wait: 2 * time.Second, run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		e.receiveFor(url, 1)
		e.bodies("long poll", e.await(url), "a")
	}},
	{name: "2.1/a long poll returns when a delay ends", wait: 2 * time.Second, run: func(e *env) {
		url := e.queue(nil)
		began := time.Now()
		e.sendInput(&sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("a"), DelaySeconds: 1})
		e.hiddenSince(began, e.receive(url))
		e.bodies("long poll", e.await(url), "a")
	}},
	{name: "2.1/a long poll that finds nothing is an empty answer", wait: time.Second, run: func(e *env) {
		url := e.queue(nil)
		began := time.Now()
		e.bodies("long poll", e.receiveInput(&sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 1}))
		if took := time.Since(began); took < 900*time.Millisecond {
			e.failf("it returned after %v, want 1 s", took)
		}
	}},
	{name: "2.1/the queue's own wait holds for a receive without one", wait: time.Second, run: func(e *env) {
		url := e.queue(attrs{"ReceiveMessageWaitTimeSeconds": "1"})
		began := time.Now()
		e.bodies("receive", e.receive(url))
		if took := time.Since(began); took < 900*time.Millisecond {
			e.failf("it returned after %v, want 1 s", took)
		}
	}},
	{name: "2.1/a queue's delay holds for every message", wait: 2 * time.Second, run: func(e *env) {
		url := e.queue(attrs{"DelaySeconds": "1"})
		began := time.Now()
		e.send(url, "a")
		e.hiddenSince(began, e.receive(url))
		e.bodies("later", e.await(url), "a")
	}},
	{name: "2.1/a trace header travels as a system attribute", run: func(e *env) {
		url := e.queue(nil)
		const trace = "Root=1-6a1b2c3d-0123456789abcdef01234567;Parent=89abcdef01234567;Sampled=1"
		out := e.sendInput(&sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: aws.String("a"),
			MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
				"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String(trace)},
			},
		})
		e.same("checksum of system attributes", aws.ToString(out.MD5OfMessageSystemAttributes),
			"74f344fd3e64b9858ddb766f2c57461c")
		e.same("trace", e.one("receive", e.receive(url)).Attributes["AWSTraceHeader"], trace)
	}},
}

// attributed is a message with three attributes.
func attributed(url string) *sqs.SendMessageInput {
	text := func(v string) types.MessageAttributeValue {
		return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &v}
	}
	return &sqs.SendMessageInput{
		QueueUrl: &url, MessageBody: aws.String("shirt"),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"Color": text("red"), "Color.Hex": text("#ff0000"), "Size": text("L"),
		},
	}
}

func systemAttributeNames(e *env) {
	url := e.queue(nil)
	e.send(url, "a")
	ask := func(names ...types.MessageSystemAttributeName) []string {
		m := e.one("receive", e.receiveInput(&sqs.ReceiveMessageInput{
			QueueUrl: &url, MessageSystemAttributeNames: names,
		}))
		e.change(url, m, 0)
		return slices.Sorted(maps.Keys(m.Attributes))
	}
	e.same("All", ask("All"),
		[]string{"ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount", "SenderId", "SentTimestamp"})
	e.same("one", ask("SenderId"), []string{"SenderId"})
	e.same("absent ones", ask("SenderId", "SequenceNumber"), []string{"SenderId"})
}

func messageAttributeNames(e *env) {
	url := e.queue(nil)
	out := e.sendInput(attributed(url))
	e.same("checksum of all", aws.ToString(out.MD5OfMessageAttributes), "44f35114f3a404ffeab7a0642bd0e35e")
	ask := func(names ...string) (string, []string) {
		m := e.one("receive", e.receiveInput(&sqs.ReceiveMessageInput{
			QueueUrl: &url, MessageAttributeNames: names,
		}))
		e.change(url, m, 0)
		return aws.ToString(m.MD5OfMessageAttributes), slices.Sorted(maps.Keys(m.MessageAttributes))
	}
	for _, c := range []struct {
		ask  []string
		sum  string
		want []string
	}{
		{[]string{"All"}, "44f35114f3a404ffeab7a0642bd0e35e", []string{"Color", "Color.Hex", "Size"}},
		{[]string{".*"}, "44f35114f3a404ffeab7a0642bd0e35e", []string{"Color", "Color.Hex", "Size"}},
		{[]string{"Size", "Color"}, "fdd07912c8da98c83a09cdfbf1736a3a", []string{"Color", "Size"}},
		{[]string{"Size", "Nope"}, "dc509f3d678c992ecfdb56c690084d36", []string{"Size"}},
		{[]string{"Col.*"}, "b5771600b6513509c84dc2583172f69c", []string{"Color", "Color.Hex"}},
		{[]string{"Nope"}, "", nil},
	} {
		sum, names := ask(c.ask...)
		e.same("names for "+c.ask[0], names, c.want)
		e.same("checksum for "+c.ask[0], sum, c.sum)
	}
}
