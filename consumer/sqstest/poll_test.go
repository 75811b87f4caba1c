package sqstest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// settle waits until every other goroutine of the bubble waits.
func (b *bench) settle() { synctest.Wait() }

// poll is how one long poll ended.
type poll struct {
	bodies []string
	after  time.Duration
	err    error
}

// pollers starts n long polls of 20 s, one after another, and returns what
// collects them.
func (b *bench) pollers(ctx context.Context, n int) func() []poll {
	out := make([]poll, n)
	var wg sync.WaitGroup
	began := time.Now()
	for i := range n {
		wg.Go(func() {
			res, err := b.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
				QueueUrl: &b.url, WaitTimeSeconds: 20, VisibilityTimeout: 3600,
			})
			out[i].err, out[i].after = err, time.Since(began)
			if err != nil {
				return
			}
			for _, m := range res.Messages {
				out[i].bodies = append(out[i].bodies, *m.Body)
			}
		})
		b.settle()
	}
	return func() []poll {
		wg.Wait()
		return out
	}
}

// TestOneMessageWakesOnePoller: the one that has waited longest.
func TestOneMessageWakesOnePoller(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		collect := b.pollers(b.Context(), 5)
		time.Sleep(3 * time.Second)
		b.q.Send("a")
		for i, p := range collect() {
			want := poll{after: 20 * time.Second}
			if i == 0 {
				want = poll{bodies: []string{"a"}, after: 3 * time.Second}
			}
			if p.err != nil || p.after != want.after || !slices.Equal(p.bodies, want.bodies) {
				b.Errorf("poller %d: %+v, want %+v", i, p, want)
			}
		}
	})
}

// TestManyMessagesWakeManyPollers: nobody sleeps while there is something.
func TestManyMessagesWakeManyPollers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		collect := b.pollers(b.Context(), 10)
		time.Sleep(time.Second)
		_, err := b.client.SendMessageBatch(b.Context(), sendBatch(b.url, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"))
		if err != nil {
			b.Fatal(err)
		}
		for i, p := range collect() {
			if p.after != time.Second || len(p.bodies) != 1 {
				b.Errorf("poller %d: %+v", i, p)
			}
		}
	})
}

// TestPollersHandOver: the first poller watches for hidden messages to come
// back; when its time is over or its caller gives up, the next one must.
func TestPollersHandOver(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(b *bench) (cleanup func()){
		"first poll is over": func(b *bench) func() {
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = b.receive(2)
			}()
			b.settle()
			return func() { <-done }
		},
		"first caller gives up": func(b *bench) func() {
			ctx, cancel := context.WithTimeout(b.Context(), 2*time.Second)
			collect := b.pollers(ctx, 1)
			return func() {
				if p := collect()[0]; !errors.Is(p.err, context.DeadlineExceeded) {
					b.Errorf("first poller: %+v", p)
				}
				cancel()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(b *bench) {
				if _, err := b.q.SendMessage(sqstest.Message{Body: "a", Delay: 5 * time.Second}); err != nil {
					b.Fatal(err)
				}
				cleanup := leave(b)
				collect := b.pollers(b.Context(), 2)
				cleanup()
				ps := collect()
				if ps[0].after != 5*time.Second || len(ps[0].bodies) != 1 {
					b.Errorf("second poller: %+v, want the message after 5 s", ps[0])
				}
				if ps[1].after != 20*time.Second || len(ps[1].bodies) != 0 {
					b.Errorf("third poller: %+v, want nothing after 20 s", ps[1])
				}
			})
		})
	}
}

// TestPollerLearnsOfAnEarlierReturn: a message that is hidden while the poll
// waits, or shown earlier than first said, ends the poll in time.
func TestPollerLearnsOfAnEarlierReturn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.q.Send("a")
		m := b.mustReceive(1)[0] // hidden for 30 s
		collect := b.pollers(b.Context(), 1)
		_, err := b.client.ChangeMessageVisibility(b.Context(), &sqs.ChangeMessageVisibilityInput{
			QueueUrl: &b.url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 4,
		})
		if err != nil {
			b.Fatal(err)
		}
		if p := collect()[0]; p.after != 4*time.Second || len(p.bodies) != 1 {
			b.Errorf("%+v, want the message after 4 s", p)
		}
	})
}

// TestPollerMovesToDeadLetter: the message used up its receives; when it shows,
// the waiting poll moves it, and the poll on the dead-letter queue gets it.
func TestPollerMovesToDeadLetter(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		main, err := b.s.CreateQueue("main", sqstest.QueueConfig{
			Visibility: 5 * time.Second, DeadLetter: b.q, MaxReceives: 1,
		})
		if err != nil {
			b.Fatal(err)
		}
		main.Send("a")
		in := &sqs.ReceiveMessageInput{QueueUrl: aws.String(main.URL()), WaitTimeSeconds: 20}
		if _, err := b.client.ReceiveMessage(b.Context(), in); err != nil {
			b.Fatal(err)
		}
		collect := b.pollers(b.Context(), 1)
		out, err := b.client.ReceiveMessage(b.Context(), in)
		if err != nil || len(out.Messages) != 0 {
			b.Errorf("main queue: %v, %v", out, err)
		}
		if p := collect()[0]; p.after != 5*time.Second || len(p.bodies) != 1 {
			b.Errorf("dead-letter queue: %+v, want the message after 5 s", p)
		}
		if held := b.q.Messages()[0]; held.SourceARN != main.ARN() || held.ReceiveCount != 2 {
			b.Errorf("dead letter: %+v", held)
		}
	})
}

// TestPollEndsWithItsQueue: a queue that is deleted answers its waiting polls.
func TestPollEndsWithItsQueue(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		collect := b.pollers(b.Context(), 2)
		time.Sleep(time.Second)
		if _, err := b.client.DeleteQueue(b.Context(), &sqs.DeleteQueueInput{QueueUrl: &b.url}); err != nil {
			b.Fatal(err)
		}
		for i, p := range collect() {
			if codeOf(p.err) != "AWS.SimpleQueueService.NonExistentQueue" || p.after != time.Second {
				b.Errorf("poller %d: %+v", i, p)
			}
		}
	})
}

// TestFreedCapacityWakesPollers: a delete makes room under the limit in flight.
func TestFreedCapacityWakesPollers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sqstest.NewServer(sqstest.Config{MaxInFlight: 1})
		defer s.Close()
		b := newBench(t, s)
		b.q.Send("a", "b")
		m := b.mustReceive(1)[0]
		collect := b.pollers(t.Context(), 1)
		time.Sleep(2 * time.Second)
		if err := b.delete(m); err != nil {
			t.Fatal(err)
		}
		if p := collect()[0]; p.after != 2*time.Second || len(p.bodies) != 1 {
			t.Errorf("%+v, want b after 2 s", p)
		}
	})
}

// TestCloseEndsPolls: Close returns, and so do the polls.
func TestCloseEndsPolls(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.client = b.s.Client(func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} })
		collect := b.pollers(b.Context(), 2)
		b.s.Close()
		for i, p := range collect() {
			if p.err == nil || p.after != 0 {
				b.Errorf("poller %d: %+v", i, p)
			}
		}
		if _, err := b.receive(0); err == nil {
			b.Error("a closed server answered")
		}
		if _, err := b.s.Listen(""); err == nil {
			b.Error("a closed server listens")
		}
		b.s.Close()
	})
}
