package sqsqueue_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

func TestSend(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault       sqstest.Fault
		calls, sent int
		class       sqsqueue.Class
	}{
		"confirmed":        {sqstest.Fault{}, 1, 1, sqsqueue.ClassNone},
		"denied":           {sqstest.Fault{Times: -1, Err: sqstest.AccessDenied()}, 1, 0, sqsqueue.ClassDenied},
		"KMS throttles":    {sqstest.Fault{Times: 2, Err: sqstest.KMSThrottled()}, 3, 1, sqsqueue.ClassNone},
		"KMS throttles on": {sqstest.Fault{Times: -1, Err: sqstest.KMSThrottled()}, 3, 0, sqsqueue.ClassRetryable},
		"SQS fails on":     {sqstest.Fault{Times: -1, Err: sqstest.InternalError()}, 3, 0, sqsqueue.ClassRetryable},
		"response is lost": {sqstest.Fault{Times: 1, LoseResponse: true}, 2, 2, sqsqueue.ClassNone}, // at least once
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := sqstest.NewServer(sqstest.Config{})
				defer s.Close()
				q, err := s.CreateQueue("sink", sqstest.QueueConfig{})
				if err != nil {
					t.Fatal(err)
				}
				s.Inject(tt.fault)
				err = sqsqueue.New(s.Client(), q.URL(), "").Send(t.Context(), &sqs.SendMessageInput{MessageBody: new("x")})
				if got := sqsqueue.Classify(err); got != tt.class {
					t.Errorf("error %v of class %d, want %d", err, got, tt.class)
				}
				if calls := s.Calls()["SendMessage"]; calls != tt.calls || q.Len() != tt.sent {
					t.Errorf("%d calls, %d messages; want %d and %d", calls, q.Len(), tt.calls, tt.sent)
				}
			})
		})
	}
}

func TestSend_ReturnsWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sqstest.NewServer(sqstest.Config{})
		defer s.Close()
		q, err := s.CreateQueue("sink", sqstest.QueueConfig{})
		if err != nil {
			t.Fatal(err)
		}
		s.Inject(sqstest.Fault{Times: -1, Delay: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		err = sqsqueue.New(s.Client(), q.URL(), "").Send(ctx, &sqs.SendMessageInput{MessageBody: new("x")})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}
