package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// external are queues of an SQS elsewhere, known by its API alone.
type external struct {
	client     *sqs.Client
	url        string
	dead       string // URL, "" if the queue has no redrive policy
	endpoint   string
	receives   int
	visibility time.Duration
}

// newExternal looks at the queue. h makes the requests, nil for the SDK's own.
func newExternal(ctx context.Context, i invocation, h *http.Client) (*external, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	x := &external{client: newClient(i.endpoint, h, os.Getenv), url: i.queue, endpoint: i.endpoint}
	got, err := x.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &x.url, AttributeNames: []types.QueueAttributeName{
		types.QueueAttributeNameVisibilityTimeout, types.QueueAttributeNameRedrivePolicy,
	}})
	if err != nil {
		return nil, fmt.Errorf("cannot look at the queue: %w; -queue takes the URL of one at -endpoint", err)
	}
	seconds, err := strconv.Atoi(got.Attributes["VisibilityTimeout"])
	if err != nil {
		return nil, fmt.Errorf("the queue's VisibilityTimeout is %q", got.Attributes["VisibilityTimeout"])
	}
	if x.visibility = time.Duration(seconds) * time.Second; x.visibility < i.timeout {
		return nil, fmt.Errorf("the queue's visibility timeout is %v, shorter than -function-timeout (%v), which Lambda refuses; "+
			"raise the one, or lower the other", x.visibility, i.timeout)
	}
	return x, x.redrive(ctx, got.Attributes["RedrivePolicy"])
}

// newClient makes a client of an endpoint, with what the environment says of
// credentials and region. An endpoint that is none of AWS's takes any.
func newClient(endpoint string, h *http.Client, getenv func(string) string) *sqs.Client {
	c := aws.Credentials{
		AccessKeyID: getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: getenv("AWS_SESSION_TOKEN"),
	}
	if c.AccessKeyID == "" {
		c = aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "example"}
	}
	o := sqs.Options{
		BaseEndpoint: &endpoint,
		Credentials:  aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return c, nil }),
	}
	for _, region := range []string{getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"), sqstest.DefaultRegion} {
		if o.Region == "" {
			o.Region = region
		}
	}
	if h != nil {
		o.HTTPClient = h
	}
	return sqs.New(o)
}

// redrive finds the dead-letter queue that a redrive policy names.
func (x *external) redrive(ctx context.Context, policy string) error {
	if policy == "" {
		return nil
	}
	var p struct {
		Target   string `json:"deadLetterTargetArn"`
		Receives any    `json:"maxReceiveCount"` // a number or, as some write it, a text
	}
	if err := json.Unmarshal([]byte(policy), &p); err != nil {
		return fmt.Errorf("the queue's RedrivePolicy is %q: %w", policy, err)
	}
	x.receives, _ = strconv.Atoi(fmt.Sprint(p.Receives))
	name := p.Target[strings.LastIndex(p.Target, ":")+1:]
	got, err := x.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return fmt.Errorf("cannot find the dead-letter queue %s: %w", name, err)
	}
	x.dead = aws.ToString(got.QueueUrl)
	return nil
}

func (x *external) source() (*sqs.Client, string) { return x.client, x.url }

func (x *external) close() {}

func (x *external) send(ctx context.Context, m sqstest.Message) (string, error) {
	in := &sqs.SendMessageInput{
		QueueUrl: &x.url, MessageBody: &m.Body, MessageAttributes: m.Attributes,
		DelaySeconds: int32(m.Delay / time.Second), //nolint:gosec // at most 15 minutes
	}
	if m.GroupID != "" {
		in.MessageGroupId = &m.GroupID
	}
	if strings.HasSuffix(x.url, ".fifo") {
		in.MessageDeduplicationId = aws.String(rand.Text())
	}
	out, err := x.client.SendMessage(ctx, in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.MessageId), nil
}

// progress implements queues: counts of SQS are approximate, and polling them is
// no gain.
func (x *external) progress(t *trace) progress {
	p := progress{sent: len(t.known()), done: len(t.deleted()), effort: t.effort(), blind: true}
	p.queued = p.sent - p.done
	return p
}

// look implements queues. A message that has not been deleted and is not found on
// the dead-letter queue is still in the queue, unless that is quiet.
func (x *external) look(ctx context.Context, t *trace, quiet bool) (queue, dead []sqstest.MessageState, err error) {
	known := make(map[string]bool)
	for _, id := range t.known() {
		known[id] = true
	}
	found := make(map[string]bool)
	states, err := x.peek(ctx)
	for _, m := range states {
		id, parked := t.place(m)
		if !known[id] { // of another day
			continue
		}
		found[id] = true
		if !parked {
			m = sqstest.MessageState{ID: id}
		}
		dead = append(dead, m)
	}
	deleted := t.deleted()
	for id := range known {
		if !quiet && deleted[id] == 0 && !found[id] {
			queue = append(queue, sqstest.MessageState{ID: id})
		}
	}
	return queue, dead, err
}

func (x *external) introduce(w io.Writer) {
	printf(w, "Queue %s\nat %s (visibility timeout %v", printable(x.url), printable(x.endpoint), x.visibility)
	if x.dead == "" {
		printf(w, ").\nIt has no dead-letter queue: what the function parks anywhere counts as done.\n")
		return
	}
	printf(w, ", maxReceiveCount %d) with dead-letter queue\n%s.\n", x.receives, printable(x.dead))
}

func (x *external) reportCalls(w io.Writer) {
	table(w, func(t io.Writer) { row(t, "by the function", "not known: they are not counted there") })
}

// advise implements queues: what is not known is no reason for advice.
func (x *external) advise(io.Writer, int) {}

const (
	lookTime = time.Minute
	lookMost = 10_000           // messages
	lookHide = 90 * time.Second // longer than the look
)

var errUnseen = errors.New("not all of the dead-letter queue was seen, so messages may be there that are called done or lost")

// peek receives all that is on the dead-letter queue and lets go of it again.
func (x *external) peek(ctx context.Context) (states []sqstest.MessageState, err error) {
	if x.dead == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var receipts []string
	for empty := 0; empty < 2 && len(states) < lookMost; {
		out, err := x.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &x.dead, MaxNumberOfMessages: 10, WaitTimeSeconds: 1,
			VisibilityTimeout: int32(lookHide / time.Second), MessageAttributeNames: []string{"All"},
		})
		if err != nil {
			return states, errors.Join(fmt.Errorf("cannot look into the dead-letter queue: %w", err), x.release(ctx, receipts))
		}
		empty++
		for _, m := range out.Messages {
			empty = 0
			receipts = append(receipts, aws.ToString(m.ReceiptHandle))
			states = append(states, sqstest.MessageState{
				ID: aws.ToString(m.MessageId), Body: aws.ToString(m.Body), Attributes: m.MessageAttributes,
			})
		}
	}
	unseen, err := x.remaining(ctx)
	if err == nil && unseen {
		err = errUnseen
	}
	return states, errors.Join(err, x.release(ctx, receipts))
}

// remaining reports whether there is more on the dead-letter queue that could be
// received: messages of a FIFO group wait for those that are hidden.
func (x *external) remaining(ctx context.Context) (bool, error) {
	got, err := x.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &x.dead, AttributeNames: []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages,
	}})
	if err != nil {
		return false, fmt.Errorf("cannot look at the dead-letter queue: %w", err)
	}
	return got.Attributes["ApproximateNumberOfMessages"] != "0", nil
}

// release makes what was received visible again, whatever has become of ctx.
func (x *external) release(ctx context.Context, receipts []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	var failed []error
	for len(receipts) > 0 {
		n := min(len(receipts), 10)
		in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &x.dead}
		for i, r := range receipts[:n] {
			in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &r})
		}
		receipts = receipts[n:]
		out, err := x.client.ChangeMessageVisibilityBatch(ctx, in)
		if err == nil && len(out.Failed) > 0 {
			err = errors.New(aws.ToString(out.Failed[0].Message))
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("messages of the dead-letter queue stay hidden for %v: %w", lookHide, err))
		}
	}
	return errors.Join(failed...)
}
