package sqstest_test

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func (e *env) sendAttribute(url, name string, v types.MessageAttributeValue) error {
	_, err := e.client.SendMessage(e.ctx, &sqs.SendMessageInput{
		QueueUrl: &url, MessageBody: aws.String("a"),
		MessageAttributes: map[string]types.MessageAttributeValue{name: v},
	})
	return err
}

func textAttribute(dataType, value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: &dataType, StringValue: &value}
}

var attributeRows = []row{
	{name: "2.6/a message has at most ten attributes", run: func(e *env) {
		url := e.queue(nil)
		in := &sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: aws.String("a"), MessageAttributes: map[string]types.MessageAttributeValue{},
		}
		for name := range strings.SplitSeq("abcdefghijk", "") {
			in.MessageAttributes[name] = textAttribute("String", "v")
		}
		_, err := e.client.SendMessage(e.ctx, in)
		e.refused("eleven", err, "InvalidParameterValue", "Number of message attributes [11] exceeds the allowed maximum [10].")
		delete(in.MessageAttributes, "k")
		e.sendInput(in)
	}},
	{name: "2.6/an attribute is not empty", run: func(e *env) {
		e.refused("send", e.sendAttribute(e.queue(nil), "Reason", textAttribute("String", "")), "InvalidParameterValue",
			"Message (user) attribute 'Reason' must contain a non-empty value of type 'String'.")
	}},
	{name: "2.6/an attribute has a known type", run: func(e *env) {
		url := e.queue(nil)
		e.refused("Text", e.sendAttribute(url, "k", textAttribute("Text", "v")), "InvalidParameterValue", "")
		e.refused("a number that is none", e.sendAttribute(url, "k", textAttribute("Number", "ten")), "InvalidParameterValue", "")
		e.accepted("a label", e.sendAttribute(url, "k", textAttribute("String.uuid", "v")))
		e.accepted("a number", e.sendAttribute(url, "k", textAttribute("Number", "-1.5e3")))
	}},
	{name: "2.6/an attribute name is checked", run: func(e *env) {
		url := e.queue(nil)
		for _, bad := range []string{"AWS.x", "amazon.x", ".x", "x.", "a..b", "a b", strings.Repeat("x", 257)} {
			e.refused(bad, e.sendAttribute(url, bad, textAttribute("String", "v")), "InvalidParameterValue", "")
		}
	}},
	{name: "2.6/a binary attribute comes back byte for byte", run: func(e *env) {
		url := e.queue(nil)
		value := []byte{0, 1, 0xff, '\n'}
		e.accepted("send", e.sendAttribute(url, "k", types.MessageAttributeValue{
			DataType: aws.String("Binary"), BinaryValue: value,
		}))
		m := e.one("receive", e.receiveInput(&sqs.ReceiveMessageInput{QueueUrl: &url, MessageAttributeNames: []string{"k"}}))
		e.same("checksum", aws.ToString(m.MD5OfMessageAttributes), "9fecfca188a05230647bef1557bd06c5")
		if diff := cmp.Diff(value, m.MessageAttributes["k"].BinaryValue); diff != "" {
			e.failf("value differs: %s", diff)
		}
	}},
}

var queueRows = []row{
	{name: "2.10/the defaults of a queue", run: func(e *env) {
		url := e.queue(nil)
		want := [][2]string{
			{"VisibilityTimeout", "30"}, {"DelaySeconds", "0"}, {"MessageRetentionPeriod", "345600"},
			{"ReceiveMessageWaitTimeSeconds", "0"}, {"MaximumMessageSize", "1048576"}, {"SqsManagedSseEnabled", "true"},
		}
		for _, w := range want {
			e.same(w[0], e.attribute(url, types.QueueAttributeName(w[0])), w[1])
		}
	}},
	{name: "2.10/counts tell visible, in flight and delayed messages apart", run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a", "b")
		e.sendInput(&sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("c"), DelaySeconds: 600})
		e.receiveInput(&sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 1})
		e.same("visible", e.attribute(url, "ApproximateNumberOfMessages"), "1")
		e.same("in flight", e.attribute(url, "ApproximateNumberOfMessagesNotVisible"), "1")
		e.same("delayed", e.attribute(url, "ApproximateNumberOfMessagesDelayed"), "1")
	}},
	{name: "2.10/creating a queue twice is fine with the same attributes", run: func(e *env) {
		name := aws.String(e.prefix + "-twice")
		in := &sqs.CreateQueueInput{QueueName: name, Attributes: attrs{"DelaySeconds": "1"}}
		first, err := e.client.CreateQueue(e.ctx, in)
		e.accepted("first", err)
		second, err := e.client.CreateQueue(e.ctx, in)
		e.accepted("second", err)
		e.same("URL", *second.QueueUrl, *first.QueueUrl)
		in.Attributes = attrs{"DelaySeconds": "2"}
		_, err = e.client.CreateQueue(e.ctx, in)
		e.refused("other attributes", err, "QueueAlreadyExists",
			"A queue already exists with the same name and a different value for attribute DelaySeconds")
	}},
	{name: "2.10/queue names are checked", run: func(e *env) {
		for _, name := range []string{"a b", "a.b", strings.Repeat("x", 81), "x.fifo"} {
			_, err := e.client.CreateQueue(e.ctx, &sqs.CreateQueueInput{QueueName: &name})
			e.refused(name, err, "InvalidParameterValue", "")
		}
	}},
	{name: "2.10/FIFO attributes are for FIFO queues", run: func(e *env) {
		url := e.queue(nil)
		for _, name := range []string{"FifoQueue", "ContentBasedDeduplication"} {
			_, err := e.client.SetQueueAttributes(e.ctx, &sqs.SetQueueAttributesInput{
				QueueUrl: &url, Attributes: attrs{name: "true"},
			})
			e.refused(name, err, "InvalidAttributeName", "Unknown Attribute "+name+".")
		}
	}},
	{name: "2.10/attribute values are checked", run: func(e *env) {
		url := e.queue(nil)
		bad := [][2]string{
			{"VisibilityTimeout", "43201"}, {"DelaySeconds", "901"}, {"MessageRetentionPeriod", "59"},
			{"ReceiveMessageWaitTimeSeconds", "21"}, {"MaximumMessageSize", "1023"}, {"KmsDataKeyReusePeriodSeconds", "59"},
		}
		for _, b := range bad {
			name, value := b[0], b[1]
			_, err := e.client.SetQueueAttributes(e.ctx, &sqs.SetQueueAttributesInput{
				QueueUrl: &url, Attributes: attrs{name: value},
			})
			e.refused(name, err, "InvalidAttributeValue", "Invalid value for the parameter "+name)
		}
	}},
	{name: "2.10/throughput for each group needs deduplication for each group", run: func(e *env) {
		url := e.fifo(nil)
		_, err := e.client.SetQueueAttributes(e.ctx, &sqs.SetQueueAttributesInput{
			QueueUrl: &url, Attributes: attrs{"FifoThroughputLimit": "perMessageGroupId"},
		})
		e.refused("set", err, "InvalidAttributeValue", "FifoThroughputLimit")
	}},
	{name: "2.11/the two kinds of encryption exclude each other", run: func(e *env) {
		url := e.queue(nil)
		_, err := e.client.SetQueueAttributes(e.ctx, &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: attrs{
			"KmsMasterKeyId": "key", "SqsManagedSseEnabled": "true",
		}})
		e.refused("both", err, "InvalidAttributeName", "You can use one type of server-side encryption (SSE) at one time.")
	}},
	{name: "2.10/a purge empties the queue, once a minute", run: func(e *env) {
		url := e.queue(nil)
		e.send(url, "a")
		_, err := e.client.PurgeQueue(e.ctx, &sqs.PurgeQueueInput{QueueUrl: &url})
		e.accepted("purge", err)
		e.bodies("receive", e.receive(url))
		_, err = e.client.PurgeQueue(e.ctx, &sqs.PurgeQueueInput{QueueUrl: &url})
		e.refused("again", err, "AWS.SimpleQueueService.PurgeQueueInProgress", "is allowed every 60 seconds.")
	}},
	{name: "2.10/a deleted queue is gone, its name is taken for a minute", wait: time.Minute, run: func(e *env) {
		url := e.queue(nil)
		_, err := e.client.DeleteQueue(e.ctx, &sqs.DeleteQueueInput{QueueUrl: &url})
		e.accepted("delete", err)
		_, err = e.client.ReceiveMessage(e.ctx, &sqs.ReceiveMessageInput{QueueUrl: &url})
		e.refused("receive", err, "AWS.SimpleQueueService.NonExistentQueue", "")
		name := url[strings.LastIndex(url, "/")+1:]
		_, err = e.client.CreateQueue(e.ctx, &sqs.CreateQueueInput{QueueName: &name})
		e.refused("create", err, "AWS.SimpleQueueService.QueueDeletedRecently", "")
		e.wait(time.Minute)
		_, err = e.client.CreateQueue(e.ctx, &sqs.CreateQueueInput{QueueName: &name})
		e.accepted("create later", err)
	}},
	{name: "2.10/queues are found by name and owner, and listed by prefix", run: findQueues},
	{name: "2.10/tags are set, removed and listed", run: func(e *env) {
		url := e.queue(nil)
		_, err := e.client.TagQueue(e.ctx, &sqs.TagQueueInput{QueueUrl: &url, Tags: attrs{"a": "1", "b": ""}})
		e.accepted("tag", err)
		_, err = e.client.UntagQueue(e.ctx, &sqs.UntagQueueInput{QueueUrl: &url, TagKeys: []string{"a", "nope"}})
		e.accepted("untag", err)
		out, err := e.client.ListQueueTags(e.ctx, &sqs.ListQueueTagsInput{QueueUrl: &url})
		e.accepted("list", err)
		e.same("tags", out.Tags, attrs{"b": ""})
	}},
}

func findQueues(e *env) {
	urls := []string{e.queue(nil), e.queue(nil), e.queue(nil)}
	name := urls[0][strings.LastIndex(urls[0], "/")+1:]
	out, err := e.client.GetQueueUrl(e.ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	e.accepted("GetQueueUrl", err)
	e.same("URL", *out.QueueUrl, urls[0])
	_, err = e.client.GetQueueUrl(e.ctx, &sqs.GetQueueUrlInput{
		QueueName: &name, QueueOwnerAWSAccountId: aws.String("999999999999"),
	})
	e.refused("of another account", err, "AWS.SimpleQueueService.NonExistentQueue", "")
	in := &sqs.ListQueuesInput{QueueNamePrefix: aws.String(e.prefix + "-"), MaxResults: aws.Int32(2)}
	first, err := e.client.ListQueues(e.ctx, in)
	e.accepted("first page", err)
	e.same("first page", first.QueueUrls, urls[:2])
	in.NextToken = first.NextToken
	second, err := e.client.ListQueues(e.ctx, in)
	e.accepted("second page", err)
	e.same("second page", second.QueueUrls, urls[2:])
	e.same("end", aws.ToString(second.NextToken), "")
}
