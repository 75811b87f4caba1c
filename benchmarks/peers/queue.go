package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/benchmarks/internal/stub"
)

// queue is the benchmark's own hold on a server's messages.
type queue interface {
	// fill makes a queue with n messages and returns its URL.
	fill(ctx context.Context, n int) (url string, err error)
	// wait returns when all of them are deleted, with the most that were in
	// hand at one time, received and not deleted, or 0 if the server does not tell.
	wait(ctx context.Context) (inHand int, err error)
	// release ends so many long polls whose consumer has gone.
	release(ctx context.Context, polls int) error
}

// newQueue returns the hold on a server.
func newQueue(o serverOrder, at addresses) queue {
	if o.Kind == stubServer {
		return stubQueue(at)
	}
	return &emulatorQueue{client: newClient(at.SQS, awshttp.NewBuildableClient())}
}

// stubQueue is where a stub server is.
type stubQueue addresses

func (q stubQueue) fill(ctx context.Context, n int) (string, error) {
	path, err := q.ask(ctx, http.MethodPost, loadPath+"?messages="+strconv.Itoa(n))
	return q.SQS + path, err
}

func (q stubQueue) wait(ctx context.Context) (int, error) {
	text, err := q.ask(ctx, http.MethodGet, waitPath)
	if err != nil {
		return 0, err
	}
	var st stub.Stats
	err = json.Unmarshal([]byte(text), &st)
	return st.InHand, err
}

// release has nothing to do: the next load ends the long polls of the one before.
func (q stubQueue) release(context.Context, int) error { return nil }

func (q stubQueue) ask(ctx context.Context, method, path string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, method, q.Control+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", path, answer.Status)
	}
	return string(text), err
}

// emulatorQueue reaches any server by the calls of SQS alone.
type emulatorQueue struct {
	client *sqs.Client
	url    string
}

func (q *emulatorQueue) fill(ctx context.Context, n int) (string, error) {
	if q.url != "" {
		if _, err := q.client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &q.url}); err != nil {
			return "", err
		}
	}
	if err := q.create(ctx); err != nil {
		return "", err
	}
	return q.url, q.send(ctx, n)
}

// create makes a queue under a name of its own, as SQS does not take a deleted
// one back at once, with a dead-letter queue, so that nobody complains of none.
func (q *emulatorQueue) create(ctx context.Context) error {
	name := fmt.Sprintf("peers-%d", time.Now().UnixNano())
	dead, err := q.client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(name + "-dead")})
	if err != nil {
		return err
	}
	about, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: dead.QueueUrl, AttributeNames: []types.QueueAttributeName{"QueueArn"},
	})
	if err != nil {
		return err
	}
	made, err := q.client.CreateQueue(ctx, &sqs.CreateQueueInput{
		QueueName: &name,
		Attributes: map[string]string{
			"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":50}`,
				about.Attributes["QueueArn"]),
			"MessageRetentionPeriod": "1209600",
		},
	})
	if err != nil {
		return err
	}
	q.url = aws.ToString(made.QueueUrl)
	return nil
}

// release answers the polls with messages that nobody will miss. moto does not
// see that their callers have gone, and works on them for all of their twenty
// seconds, while the next consumer is measured.
func (q *emulatorQueue) release(ctx context.Context, polls int) error {
	return q.send(ctx, 10*polls)
}

func (q *emulatorQueue) send(ctx context.Context, n int) error {
	for first := 0; first < n; first += 10 {
		if err := q.sendBatch(ctx, first, min(first+10, n)); err != nil {
			return err
		}
	}
	return nil
}

func (q *emulatorQueue) sendBatch(ctx context.Context, first, last int) error {
	var in sqs.SendMessageBatchInput
	in.QueueUrl = &q.url
	for i := first; i < last; i++ {
		in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(stub.Body(i)),
		})
	}
	out, err := q.client.SendMessageBatch(ctx, &in)
	if err == nil && len(out.Failed) > 0 {
		err = fmt.Errorf("sending: %s", aws.ToString(out.Failed[0].Code))
	}
	return err
}

// wait asks for the counts every few milliseconds: a load on the server, the
// same for every consumer.
func (q *emulatorQueue) wait(ctx context.Context) (int, error) {
	const every = 50 * time.Millisecond
	for {
		out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: &q.url,
			AttributeNames: []types.QueueAttributeName{
				types.QueueAttributeNameApproximateNumberOfMessages,
				types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
			},
		})
		if err != nil {
			return 0, err
		}
		left := 0
		for _, text := range out.Attributes {
			n, err := strconv.Atoi(text)
			if err != nil {
				return 0, err
			}
			left += n
		}
		if left == 0 {
			return 0, nil
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}
