package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	awsevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// The sample events have the checksums that SQS gives: what is in them is sent, and
// the answer compared. Whoever edits a body or an attribute is reminded of them.
func TestSampleEvents_Checksums(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../events/answers/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile("../../events/" + name)
			if err != nil {
				t.Fatal(err)
			}
			var event awsevents.SQSEvent
			if err := json.Unmarshal(b, &event); err != nil || len(event.Records) == 0 {
				t.Fatal(len(event.Records), err)
			}
			synctest.Test(t, func(t *testing.T) {
				server := sqstest.NewServer(sqstest.Config{})
				defer server.Close()
				queue := createQueue(t, server, "orders", sqstest.QueueConfig{})
				for _, r := range event.Records {
					out, err := server.Client().SendMessage(t.Context(), &sqs.SendMessageInput{
						QueueUrl: aws.String(queue.URL()), MessageBody: &r.Body, MessageAttributes: sdkAttributes(r.MessageAttributes),
					})
					if err != nil {
						t.Fatal(r.MessageId, err)
					}
					if want := aws.ToString(out.MD5OfMessageBody); r.Md5OfBody != want {
						t.Errorf("%s: md5OfBody is %q, want %q", r.MessageId, r.Md5OfBody, want)
					}
					if want := aws.ToString(out.MD5OfMessageAttributes); r.Md5OfMessageAttributes != want {
						t.Errorf("%s: md5OfMessageAttributes is %q, want %q", r.MessageId, r.Md5OfMessageAttributes, want)
					}
				}
			})
		})
	}
}

// sdkAttributes are an event's attributes as they are sent.
func sdkAttributes(attributes map[string]awsevents.SQSMessageAttribute) map[string]types.MessageAttributeValue {
	all := make(map[string]types.MessageAttributeValue, len(attributes))
	for name, a := range attributes {
		all[name] = types.MessageAttributeValue{DataType: aws.String(a.DataType), StringValue: a.StringValue, BinaryValue: a.BinaryValue}
	}
	return all
}
