package envelope_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/envelope"
)

// nowhere is a host whose messages come from the examples.
type nowhere struct{}

func (nowhere) Queue() consumer.Queue { return consumer.Queue{} }
func (nowhere) Extend(_ context.Context, ds []*consumer.Delivery, _ time.Duration) []error {
	return make([]error, len(ds))
}
func (nowhere) Settle(_ context.Context, os []consumer.Outcome) []error {
	return make([]error, len(os))
}
func (nowhere) Flush(context.Context) error { return nil }

// handOver runs messages as a host would, and prints what becomes of them.
func handOver(h consumer.Handler, cfg consumer.Config, bodies ...string) {
	cfg.Concurrency, cfg.Logger = 1, slog.New(slog.DiscardHandler)
	c, err := consumer.New(h, cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	var ds []*consumer.Delivery
	for i, body := range bodies {
		ds = append(ds, &consumer.Delivery{Message: &consumer.Message{ID: fmt.Sprintf("m-%d", i+1), Body: body, ReceiveCount: 1}})
	}
	for _, o := range c.Process(context.Background(), nowhere{}, ds) {
		fmt.Printf("%s: %v\n", o.Delivery.ID, o.Verdict)
		if e, ok := errors.AsType[*envelope.Error](o.Err); ok {
			fmt.Printf("  want %s, found %s\n  %s\n", e.Want, e.Found, e.Advice)
		}
	}
}

// A topic delivers to the queue without raw message delivery.
func ExampleSNS() {
	type order struct{ ID string }
	handler := envelope.SNS(consumer.JSON(func(ctx context.Context, o order, m *consumer.Message) error {
		n, _ := envelope.NotificationFrom(ctx)
		fmt.Println("order", o.ID, "for", m.Attributes["tenant"].StringValue, "by", n.TopicARN)
		return nil
	}))
	handOver(handler, consumer.Config{},
		`{"Type":"Notification","MessageId":"n-1","TopicArn":"arn:aws:sns:eu-central-1:111122223333:orders",
		  "Message":"{\"id\":\"o-7\"}","MessageAttributes":{"tenant":{"Type":"String","Value":"acme"}}}`,
		`{"id":"o-8"}`)
	// Output:
	// order o-7 for acme by arn:aws:sns:eu-central-1:111122223333:orders
	// m-1: done
	// m-2: rejected
	//   want an SNS notification, found a JSON object of another kind
	//   if raw message delivery is on, use the handler without envelope.SNS; if it is on for some subscriptions only, use envelope.SNSOrRaw
}

// SNS is a middleware as well, where the handler is to know nothing of it.
func ExampleSNS_middleware() {
	handler := consumer.HandlerFunc(func(_ context.Context, m *consumer.Message) error {
		fmt.Println("handle", m.Body)
		return nil
	})
	handOver(handler, consumer.Config{Middleware: []consumer.Middleware{envelope.SNS}},
		`{"Type":"Notification","TopicArn":"arn:aws:sns:eu-central-1:111122223333:orders","Message":"hi"}`)
	// Output:
	// handle hi
	// m-1: done
}

// Some subscriptions of the queue have raw message delivery, some have not.
func ExampleSNSOrRaw() {
	handler := envelope.SNSOrRaw(consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
		_, wrapped := envelope.NotificationFrom(ctx)
		fmt.Println("handle", m.Body, wrapped)
		return nil
	}))
	handOver(handler, consumer.Config{},
		`{"Type":"Notification","MessageId":"n-1","TopicArn":"arn:aws:sns:eu-central-1:111122223333:orders","Message":"hi"}`, `ho`)
	// Output:
	// handle hi true
	// handle ho false
	// m-1: done
	// m-2: done
}

// The key of a message is found before it is unwrapped.
func ExampleSNSKey() {
	key, err := envelope.SNSKey(consumer.JSONField("order", "id"))(&consumer.Message{
		Body: `{"Type":"Notification","TopicArn":"arn:aws:sns:eu-central-1:111122223333:orders","Message":"{\"order\":{\"id\":\"o-7\"}}"}`,
	})
	fmt.Println(key, err)
	// Output:
	// {json.order.id o-7} <nil>
}

// A rule sends events to the queue.
func ExampleEventBridge() {
	type order struct{ ID string }
	handler := envelope.EventBridge(func(_ context.Context, e envelope.Event[order], _ *consumer.Message) error {
		fmt.Println(e.DetailType, "of", e.Source, "at", e.Time.Format(time.TimeOnly), e.Detail.ID)
		return nil
	})
	handOver(handler, consumer.Config{},
		`{"version":"0","id":"e-1","source":"shop.orders","detail-type":"Order Placed","time":"2026-11-30T08:15:30Z","detail":{"id":"o-7"}}`,
		`{"version":"0","id":"e-2","source":"shop.orders","detail-type":"Order Placed","time":"2026-11-30T08:15:31Z"}`)
	// Output:
	// Order Placed of shop.orders at 08:15:30 o-7
	// m-1: done
	// m-2: rejected
	//   want an EventBridge event, found one without a detail
	//   if the rule's target has an input path or an input transformer, use consumer.JSON
}

// A bucket notifies the queue. The first message is what S3 sends when that is set
// up.
func ExampleS3() {
	handler := envelope.S3(func(_ context.Context, r envelope.S3Record, _ *consumer.Message) error {
		fmt.Printf("%s: %s in %s, %d bytes\n", r.Event, r.Key, r.Bucket, r.Size)
		return nil
	})
	handOver(handler, consumer.Config{},
		`{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2026-11-30T08:15:30.250Z","Bucket":"pictures"}`,
		`{"Records":[{"eventSource":"aws:s3","eventName":"ObjectCreated:Put",
		  "s3":{"bucket":{"name":"pictures"},"object":{"key":"year%3D2026/red+flower.jpg","size":1024}}}]}`)
	// Output:
	// ObjectCreated:Put: year=2026/red flower.jpg in pictures, 1024 bytes
	// m-1: done
	// m-2: done
}

// A bucket notifies a topic, and that the queue.
func ExampleS3_throughSNS() {
	handler := envelope.SNS(envelope.S3(func(_ context.Context, r envelope.S3Record, _ *consumer.Message) error {
		fmt.Println(r.Key)
		return nil
	}))
	handOver(handler, consumer.Config{},
		`{"Type":"Notification","TopicArn":"arn:aws:sns:eu-central-1:111122223333:pictures","Subject":"Amazon S3 Notification",
		  "Message":"{\"Records\":[{\"eventSource\":\"aws:s3\",\"s3\":{\"bucket\":{\"name\":\"pictures\"},\"object\":{\"key\":\"a%2Bb\"}}}]}"}`)
	// Output:
	// a+b
	// m-1: done
}
