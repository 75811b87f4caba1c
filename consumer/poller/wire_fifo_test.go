package poller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/retry"
)

// shortPolls makes w's receives wait for a second and no longer. moto looks once,
// when a long poll begins, which groups have messages in flight, and withholds them
// until it ends, even after they have been deleted: 32 messages take over a minute
// with polls of 20 s, ten for each. AWS hands them out at once, as sqstest does.
func (w *wire) shortPolls() *wire {
	short := middleware.InitializeMiddlewareFunc("shortPolls", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		if receive, ok := in.Parameters.(*sqs.ReceiveMessageInput); ok {
			receive.WaitTimeSeconds = 1
		}
		return next.HandleInitialize(ctx, in)
	})
	return &wire{w.t, sqs.New(w.client.Options(), func(o *sqs.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error { return stack.Initialize.Add(short, middleware.Before) })
	})}
}

func (w *wire) sendGroups(url string, groups, each int) {
	w.t.Helper()
	for i := range groups * each {
		body, group, id := strconv.Itoa(i/groups), strconv.Itoa(i%groups), strconv.Itoa(i)
		if _, err := w.client.SendMessage(w.t.Context(), &sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: &id,
		}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// Groups are worked off in order and one message at a time, while one of them backs
// off. What fails is the last of its group, and there is one receiver: moto hands
// out the end of a group before its beginning once both were given back, and to two
// receives at once messages of one group. sqstest does neither, and the tests with
// it have failures in the middle.
func TestWire_GroupsInOrder(t *testing.T) {
	t.Parallel()
	w := newWire(t).shortPolls()
	url := w.create(map[string]string{"FifoQueue": "true", "VisibilityTimeout": "30"})
	w.sendGroups(url, 4, 8)
	var mu sync.Mutex
	started, done := map[string][]string{}, map[string][]string{}
	running := map[string]bool{}
	w.poll(url, func(_ context.Context, m *consumer.Message) error {
		mu.Lock()
		if running[m.GroupID] {
			t.Errorf("group %s: two at once", m.GroupID)
		}
		running[m.GroupID] = true
		started[m.GroupID] = append(started[m.GroupID], m.Body)
		mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		running[m.GroupID] = false
		if m.GroupID == "2" && m.Body == "7" && m.ReceiveCount == 1 {
			return retry.After(time.Second, errors.New("busy"))
		}
		done[m.GroupID] = append(done[m.GroupID], m.Body)
		return nil
	}, consumer.Config{Retry: retry.Policy{Tries: 1}}, poller.Config{Receivers: 1}, func(int) {})
	inOrder := []string{"0", "1", "2", "3", "4", "5", "6", "7"}
	for g := range 4 {
		want(t, fmt.Sprintf("group %d", g), done[strconv.Itoa(g)], inOrder)
	}
	want(t, "what group 2 started", started["2"], append(slices.Clone(inOrder), "7"))
	want(t, "what group 3 started", started["3"], inOrder)
}
