package lambdasqs_test

import (
	"context"
	"encoding/base64"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// rig is a queue with messages, and a function that consumes it. It lives in a
// synctest bubble.
type rig struct {
	t      *testing.T
	server *sqstest.Server
	queue  *sqstest.Queue
}

func newRig(t *testing.T, name string, cfg sqstest.QueueConfig) *rig {
	t.Helper()
	r := &rig{t: t, server: sqstest.NewServer(sqstest.Config{})}
	t.Cleanup(r.server.Close)
	r.queue = r.create(name, cfg)
	return r
}

func (r *rig) create(name string, cfg sqstest.QueueConfig) *sqstest.Queue {
	r.t.Helper()
	q, err := r.server.CreateQueue(name, cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	return q
}

// send puts one message per body into the queue, the first letter as its group.
func (r *rig) send(bodies ...string) {
	for _, body := range bodies {
		r.queue.SendGroup(body[:1], body)
	}
}

// receive receives n messages as the mapping does, without its calls counting.
func (r *rig) receive(n int) (records []record) {
	r.t.Helper()
	client := r.server.Client(func(o *sqs.Options) { o.AppID = sqstest.EventSourceCaller })
	url := r.queue.URL()
	for len(records) < n {
		out, err := client.ReceiveMessage(context.Background(), &sqs.ReceiveMessageInput{
			QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: 20,
			MessageAttributeNames:       []string{"All"},
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
		})
		if err != nil {
			r.t.Fatal(err)
		}
		for _, m := range out.Messages {
			records = append(records, r.record(m))
		}
	}
	return records
}

func (r *rig) record(m types.Message) record {
	attributes := make(map[string]attribute)
	for name, v := range m.MessageAttributes {
		a := attribute{DataType: *v.DataType, StringValue: v.StringValue, StringListValues: []string{}, BinaryListValues: []string{}}
		if v.BinaryValue != nil {
			a.BinaryValue = new(base64.StdEncoding.EncodeToString(v.BinaryValue))
		}
		attributes[name] = a
	}
	return record{
		MessageID: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body,
		Attributes: m.Attributes, MessageAttributes: attributes,
		EventSource: "aws:sqs", EventSourceARN: r.queue.ARN(), AWSRegion: sqstest.DefaultRegion,
	}
}

// changes returns the visibilities that were asked for, in seconds, by message
// body, and the number of calls it took.
func (r *rig) changes(records []record) (seconds map[string]int, calls int) {
	seconds = make(map[string]int)
	for _, c := range r.server.Log() {
		if c.Action != "ChangeMessageVisibilityBatch" {
			continue
		}
		calls++
		for _, e := range c.Entries {
			for _, rec := range records {
				if rec.ReceiptHandle == e.Receipt {
					seconds[rec.Body] = int(e.Visibility / time.Second)
				}
			}
		}
	}
	return seconds, calls
}

// remove deletes a message, as Lambda does with what an answer does not list.
func (r *rig) remove(rec record) {
	r.t.Helper()
	client := r.server.Client(func(o *sqs.Options) { o.AppID = sqstest.EventSourceCaller })
	url := r.queue.URL()
	if _, err := client.DeleteMessage(context.Background(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: &rec.ReceiptHandle}); err != nil {
		r.t.Fatal(err)
	}
}

// texts returns the bodies of records.
func texts(records []record) (all []string) {
	for _, rec := range records {
		all = append(all, rec.Body)
	}
	return all
}
