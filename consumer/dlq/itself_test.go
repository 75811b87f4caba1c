package dlq_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// Parking on the queue that is consumed would hand the message out again, for
// ever. It is refused, by account, name and region; a host need not say which
// region it is in.
func TestPark_OnTheConsumedQueueIsRefused(t *testing.T) {
	t.Parallel()
	const arn = "arn:aws:sqs:eu-central-1:111122223333:orders"
	for url, refused := range map[string]bool{
		"https://sqs.eu-central-1.amazonaws.com/111122223333/orders":                                      true,
		"https://sqs-fips.eu-central-1.amazonaws.com/111122223333/orders":                                 true,
		"https://eu-central-1.queue.amazonaws.com/111122223333/orders":                                    true,
		"https://vpce-0123456789abcdef0-abcdefgh.sqs.eu-central-1.vpce.amazonaws.com/111122223333/orders": true,
		"http://127.0.0.1:9324/111122223333/orders":                                                       true,
		"http://sqs:9324/111122223333/orders":                                                             true,
		"http://localhost:4566/111122223333/orders":                                                       true,
		"http://sqs.eu-central-1.localhost.localstack.cloud:4566/111122223333/orders":                     true,

		"https://sqs.eu-central-1.amazonaws.com/111122223333/orders-dlq":                               false,
		"https://sqs.eu-central-1.amazonaws.com/111122223333/my-orders":                                false,
		"https://sqs.eu-central-1.amazonaws.com/444455556666/orders":                                   false,
		"https://sqs.us-east-1.amazonaws.com/111122223333/orders":                                      false,
		"https://sqs-fips.us-gov-west-1.amazonaws.com/111122223333/orders":                             false,
		"https://us-west-2.queue.amazonaws.com/111122223333/orders":                                    false,
		"https://vpce-0123456789abcdef0-abcdefgh.sqs.us-east-1.vpce.amazonaws.com/111122223333/orders": false,
		"http://sqs.us-east-1.localhost.localstack.cloud:4566/111122223333/orders":                     false,
	} {
		s := sqstest.NewServer(sqstest.Config{})
		t.Cleanup(s.Close)
		q := dlq.New(s.Client(func(o *sqs.Options) { o.RetryMaxAttempts = 1 }), url)
		o := consumer.Outcome{Delivery: &consumer.Delivery{Message: message()}, Verdict: consumer.VerdictRejected}
		err := q.Park(t.Context(), consumer.Queue{ARN: arn}, o)
		if got := err != nil && strings.Contains(err.Error(), "round in circles"); got != refused {
			t.Errorf("%s: refused %t, want %t (%v)", url, got, refused, err)
		}
		if sends := s.Calls()["SendMessage"]; refused && sends > 0 {
			t.Errorf("%s: %d sends", url, sends)
		}
	}
}

// A queue whose ARN is odd is no reason not to park.
func TestPark_FromAQueueOfUnknownIdentity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSink(t, "sink", sqstest.QueueConfig{})
		o := consumer.Outcome{Delivery: &consumer.Delivery{Message: message()}, Verdict: consumer.VerdictRejected, Err: errors.New("declined")}
		if err := s.Park(t.Context(), consumer.Queue{ARN: "orders"}, o); err != nil {
			t.Error(err)
		}
		if n := len(s.queue.Messages()); n != 1 {
			t.Errorf("%d copies", n)
		}
	})
}
