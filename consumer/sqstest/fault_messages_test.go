package sqstest_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

func TestFaultEntries(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.q.Send("a", "b", "c")
		ms := b.mustReceive(3)
		b.s.Inject(sqstest.Fault{Entries: []sqstest.EntryFault{
			{Index: 0},
			{Index: 2, Code: "ReceiptHandleIsInvalid", Message: aws.String("no"), SenderFault: true},
			{Index: 9},
		}})
		if err := b.delete(garbage); codeOf(err) != "ReceiptHandleIsInvalid" {
			b.Errorf("a call that is no batch met the fault: %v", err)
		}
		out, err := b.deleteBatch(ms)
		if err != nil {
			b.Fatal(err)
		}
		if len(out.Successful) != 1 || *out.Successful[0].Id != "1" || len(out.Failed) != 2 {
			b.Fatalf("got %+v", out)
		}
		first, second := out.Failed[0], out.Failed[1]
		if *first.Id != "0" || *first.Code != "InternalError" || first.Message != nil || first.SenderFault {
			b.Errorf("first: %+v", first)
		}
		if *second.Id != "2" || *second.Code != "ReceiptHandleIsInvalid" || *second.Message != "no" || !second.SenderFault {
			b.Errorf("second: %+v", second)
		}
		if got := b.q.InFlight(); got != 2 {
			b.Errorf("%d messages in flight, want the 2 whose entries failed", got)
		}
	})
}

func TestFaultAllEntries(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.s.Inject(sqstest.Fault{Entries: []sqstest.EntryFault{{Index: sqstest.AllEntries}}})
		out, err := b.client.SendMessageBatch(b.Context(), sendBatch(b.url, "a", "b"))
		if err != nil {
			b.Fatal(err)
		}
		if len(out.Failed) != 2 || b.q.Len() != 0 {
			b.Errorf("%d failed, %d stored", len(out.Failed), b.q.Len())
		}
	})
}

func TestFaultTwice(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.q.Send("a")
		b.s.Inject(sqstest.Fault{Action: "ReceiveMessage", Twice: true})
		first := b.mustReceive(1)[0]
		second := b.mustReceive(1)[0]
		b.mustReceive(0)
		if *first.MessageId != *second.MessageId || *first.ReceiptHandle == *second.ReceiptHandle {
			b.Error("want the same message under another handle")
		}
		if receives(second) != "2" {
			b.Errorf("receive count %s, want 2", receives(second))
		}
	})
}

func TestRedeliver(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		id := b.q.Send("a")[0]
		if b.q.Redeliver(id) {
			b.Error("a message that is not in flight cannot be delivered again")
		}
		m := b.mustReceive(1)[0]
		for range 2 { // once is as good as twice
			if !b.q.Redeliver(id) {
				b.Error("the message is in flight")
			}
		}
		b.mustReceive(1)
		b.mustReceive(0)
		b.q.Redeliver(id)
		if err := b.delete(m); err != nil { // an older handle: deletes nothing
			b.Error(err)
		}
		b.mustReceive(1)
	})
}

// TestRedeliverWakesPollers: a long poll that waits gets the second delivery.
func TestRedeliverWakesPollers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		id := b.q.Send("a")[0]
		b.mustReceive(1)
		got := make(chan int)
		go func() {
			ms, _ := b.receive(5)
			got <- len(ms)
		}()
		b.settle()
		b.q.Redeliver(id)
		if n := <-got; n != 1 {
			b.Errorf("received %d, want 1", n)
		}
	})
}

func TestFaultExpireHandles(t *testing.T) {
	t.Parallel()
	const expired = "Reason: The receipt handle has expired."
	inBubble(t, func(b *bench) {
		id := b.q.Send("a")[0]
		m := b.mustReceive(1)[0]
		b.s.Inject(sqstest.Fault{Action: "ChangeMessageVisibility", ExpireHandles: true})
		_, err := b.client.ChangeMessageVisibility(b.Context(), &sqs.ChangeMessageVisibilityInput{
			QueueUrl: &b.url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 60,
		})
		if codeOf(err) != "InvalidParameterValue" || !strings.Contains(err.Error(), expired) {
			b.Errorf("change: %v", err)
		}
		if err := b.delete(m); codeOf(err) != "InvalidParameterValue" {
			b.Errorf("a later delete with the same handle: %v", err)
		}
		b.q.Redeliver(id)
		if err := b.delete(b.mustReceive(1)[0]); err != nil {
			b.Errorf("a newer handle: %v", err)
		}
		if b.q.ExpireHandles(id) {
			b.Error("the message is gone")
		}
	})
}

func TestExpireHandles(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		id := b.q.Send("a")[0]
		m := b.mustReceive(1)[0]
		if !b.q.ExpireHandles(id) {
			b.Error("the message is there")
		}
		if err := b.delete(m); codeOf(err) != "InvalidParameterValue" {
			b.Errorf("delete: %v", err)
		}
		if b.q.InFlight() != 1 {
			b.Error("the message itself must stay as it is")
		}
	})
}

// TestFaultCorruptMD5: one damaged checksum fails the whole call, and all of its
// messages stay hidden.
func TestFaultCorruptMD5(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.q.Send("a", "b")
		b.s.Inject(sqstest.Fault{Action: "ReceiveMessage", CorruptMD5: true})
		if _, err := b.receive(0); err == nil || !strings.Contains(err.Error(), "checksum") {
			b.Errorf("got %v, want the SDK's checksum error", err)
		}
		if b.q.InFlight() != 2 {
			b.Error("the messages must be in flight")
		}
		b.s.Inject(sqstest.Fault{Action: "SendMessage", CorruptMD5: true})
		_, err := b.client.SendMessage(b.Context(), &sqs.SendMessageInput{QueueUrl: &b.url, MessageBody: aws.String("c")})
		if err == nil {
			b.Error("a send with a damaged checksum succeeded")
		}
	})
}

// TestFaultCombines: several effects of one fault work together.
func TestFaultCombines(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.q.Send("a")
		b.s.Inject(sqstest.Fault{Action: "ReceiveMessage", Twice: true, LoseResponse: true})
		ms := b.mustReceive(1) // the SDK's second try gets the second delivery
		var codes []string
		for _, c := range b.s.Log() {
			codes = append(codes, c.Code)
		}
		if diff := cmp.Diff([]string{sqstest.CodeLost, ""}, codes); diff != "" {
			b.Error(diff)
		}
		if receives(ms[0]) != "2" {
			b.Errorf("receive count %s, want 2", receives(ms[0]))
		}
	})
}
