package sqstest_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// TestFaultErrors holds what the SDK makes of each scripted error: its code, its
// Go type, and how often the SDK tries.
func TestFaultErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault *sqstest.Error
		code  string
		typed func(error) bool
		tries int
	}{
		{sqstest.Throttled(), "RequestThrottled", as[*types.RequestThrottled], 3},
		{sqstest.KMSThrottled(), "KMS.ThrottlingException", as[*types.KmsThrottled], 1},
		{sqstest.OverLimit(), "OverLimit", as[*types.OverLimit], 1},
		{sqstest.AccessDenied(), "AccessDenied", nil, 1},
		{sqstest.InternalError(), "InternalFailure", nil, 3},
		{sqstest.ServiceUnavailable(), "ServiceUnavailable", nil, 3},
		{&sqstest.Error{
			Code: "AWS.SimpleQueueService.MessageNotInflight", Type: "MessageNotInflight",
		}, "AWS.SimpleQueueService.MessageNotInflight", as[*types.MessageNotInflight], 1},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(b *bench) {
				b.q.Send("a")
				b.s.Inject(sqstest.Fault{Action: "ReceiveMessage", Err: c.fault, Times: -1})
				_, err := b.receive(0)
				if got := codeOf(err); got != c.code {
					b.Errorf("code %q (%v), want %q", got, err, c.code)
				}
				if c.typed != nil && !c.typed(err) {
					b.Errorf("the error has not the type of the SDK's model: %v", err)
				}
				if got := b.s.Calls()["ReceiveMessage"]; got != c.tries {
					b.Errorf("%d tries, want %d", got, c.tries)
				}
				if b.q.Visible() != 1 {
					b.Error("a refused receive took the message")
				}
			})
		})
	}
}

func TestFaultIsOneShot(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.q.Send("a")
		b.s.Inject(sqstest.Fault{Err: sqstest.Throttled()})
		b.mustReceive(1) // the SDK's second try
		if got := b.s.Calls().Total(); got != 2 {
			b.Errorf("%d calls, want 2", got)
		}
	})
}

func TestFaultSelection(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		denied := sqstest.AccessDenied()
		other, err := b.s.CreateQueue("other", sqstest.QueueConfig{})
		if err != nil {
			b.Fatal(err)
		}
		b.s.Inject(sqstest.Fault{Queue: other.Name(), Err: denied})
		b.s.Inject(sqstest.Fault{Action: "DeleteMessage", Err: denied})
		b.s.Inject(sqstest.Fault{Caller: "someone", Err: denied})
		b.s.Inject(sqstest.Fault{Err: denied, Match: func(c sqstest.Call) bool {
			in, ok := c.Input.(*sqs.ReceiveMessageInput)
			return ok && in.WaitTimeSeconds == 7
		}})
		b.mustReceive(0) // none of them
		if err := b.delete(garbage); codeOf(err) != "AccessDenied" {
			b.Errorf("by action: %v", err)
		}
		if _, err := b.receive(7); codeOf(err) != "AccessDenied" {
			b.Errorf("by match: %v", err)
		}
		_, err = b.client.ReceiveMessage(b.Context(), &sqs.ReceiveMessageInput{QueueUrl: &b.url},
			func(o *sqs.Options) { o.AppID = "someone" })
		if codeOf(err) != "AccessDenied" {
			b.Errorf("by caller: %v", err)
		}
		_, err = b.client.ReceiveMessage(b.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String(other.URL())})
		if codeOf(err) != "AccessDenied" {
			b.Errorf("by queue: %v", err)
		}
	})
}

func TestFaultAfterTimesAndRemove(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		remove := b.s.Inject(sqstest.Fault{Action: "ReceiveMessage", After: 1, Times: 2, Err: sqstest.AccessDenied()})
		var got []string
		for range 4 {
			_, err := b.receive(0)
			got = append(got, codeOf(err))
		}
		if diff := cmp.Diff([]string{"", "AccessDenied", "AccessDenied", ""}, got); diff != "" {
			b.Error(diff)
		}
		remove()
		remove = b.s.Inject(sqstest.Fault{Times: -1, Err: sqstest.AccessDenied()})
		remove()
		remove()
		b.mustReceive(0)
	})
}

// TestFaultIsClaimedOnce: of many calls at once, exactly one meets a one-shot.
func TestFaultIsClaimedOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.s.Inject(sqstest.Fault{Err: sqstest.AccessDenied()})
		var met atomic.Int32
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := b.receive(1); err != nil {
					met.Add(1)
				}
			})
		}
		wg.Wait()
		if met.Load() != 1 {
			b.Errorf("%d calls met the fault, want 1", met.Load())
		}
	})
}

// TestFaultIsClaimedOnceAtTheSameTime: two calls find the same one-shot before
// either takes it.
func TestFaultIsClaimedOnceAtTheSameTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		var both sync.WaitGroup
		both.Add(2)
		b.s.Inject(sqstest.Fault{Err: sqstest.AccessDenied(), Match: func(sqstest.Call) bool {
			both.Done()
			both.Wait()
			return true
		}})
		failed := make(chan bool)
		for range 2 {
			go func() {
				_, err := b.receive(0)
				failed <- err != nil
			}()
		}
		if first, second := <-failed, <-failed; first == second {
			b.Errorf("both calls failed: %v, want one of them", first)
		}
	})
}

// TestFaultLoseResponse: the work is done, and the SDK, not knowing it, does it
// again. A send stores two messages; a delete, being idempotent, is none the
// worse.
func TestFaultLoseResponse(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.s.Inject(sqstest.Fault{Action: "SendMessage", LoseResponse: true})
		_, err := b.client.SendMessage(b.Context(), &sqs.SendMessageInput{QueueUrl: &b.url, MessageBody: aws.String("a")})
		if err != nil {
			b.Fatal(err)
		}
		ms := b.mustReceive(2)
		b.s.Inject(sqstest.Fault{Action: "DeleteMessage", LoseResponse: true, Times: -1})
		if err := b.delete(ms[0]); err == nil {
			b.Error("a delete without an answer succeeded")
		}
		if got := b.q.Len(); got != 1 {
			b.Errorf("%d messages left, want 1", got)
		}
		var codes []string
		for _, c := range b.s.Log() {
			codes = append(codes, c.Action+" "+c.Code)
		}
		want := []string{
			"SendMessage connection lost", "SendMessage ", "ReceiveMessage ",
			"DeleteMessage connection lost", "DeleteMessage connection lost", "DeleteMessage connection lost",
		}
		if diff := cmp.Diff(want, codes); diff != "" {
			b.Error(diff)
		}
	})
}

func TestFaultDelay(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.q.Send("a")
		began := time.Now()
		b.s.Inject(sqstest.Fault{Delay: 40 * time.Second})
		b.mustReceive(1)
		if took := time.Since(began); took != 40*time.Second {
			b.Errorf("took %v, want 40 s", took)
		}
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		b.s.Inject(sqstest.Fault{Delay: time.Hour})
		_, err := b.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &b.url})
		if !errors.Is(err, context.DeadlineExceeded) {
			b.Errorf("%v, want the context's end", err)
		}
		log := b.s.Log()
		if last := log[len(log)-1]; last.Code != sqstest.CodeCanceled || last.Took != time.Second {
			b.Errorf("logged %q after %v", last.Code, last.Took)
		}
	})
}
