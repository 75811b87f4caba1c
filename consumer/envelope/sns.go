package envelope

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// Notification is what SNS says about a message that it delivers without raw
// message delivery. The message itself and its attributes are in the
// [consumer.Message] that the handler gets.
//
// The fields are those that the SNS developer guide shows for a topic with a queue
// subscribed to it; all but TopicARN may be empty.
type Notification struct {
	// TopicARN is the topic that the message was published to.
	TopicARN string
	// ID is the id that SNS gave the message (MessageId). It is the same on every
	// queue that the topic delivers to, and in every copy.
	ID string
	// Subject is the subject that the publisher gave.
	Subject string
	// PublishedAt is when the message was published (Timestamp).
	PublishedAt time.Time
	// SequenceNumber is set for FIFO topics. It does not fit into 64 bits.
	SequenceNumber string
	// SignatureVersion, Signature and SigningCertURL are what a check of the
	// signature would need. This package makes none.
	SignatureVersion, Signature, SigningCertURL string
	// UnsubscribeURL ends the subscription when it is visited.
	UnsubscribeURL string
}

type notificationKey struct{}

// NotificationFrom returns the notification that the message of this handler was
// unwrapped from, by [SNS] or [SNSOrRaw]; of several, the innermost. It is false
// for a message that was delivered raw. The notification is shared: do not change
// it.
func NotificationFrom(ctx context.Context) (*Notification, bool) {
	n, ok := ctx.Value(notificationKey{}).(*Notification)
	return n, ok
}

// SNS makes a handler for what a topic delivers without raw message delivery, out
// of one for the messages that were published. It can also stand in
// [consumer.Config.Middleware].
//
// The handler gets a copy of the message whose Body is what was published, byte
// for byte, and whose Attributes are the SNS message attributes; with raw message
// delivery it would be the same. [consumer.ParkedAttribute] is the exception: it
// is taken from the message as it was received, and never from the publisher. All
// other fields, and Attempt, are those of the SQS message.
//
// One wrapping is taken off, the outermost. What an event bus sent through a topic is
// for SNS(EventBridge(h)), and what S3 did for SNS(S3(h)): a handler that is given
// a wrapping that it does not know may find nothing in it and call that done. One that
// validates what it decodes does not.
//
// A body whose Type is not Notification, or that has no TopicArn, no Message, or
// an attribute without a Type and a Value that fits it, is a permanent failure, an
// [*Error]. So is what SNS sends to have a subscription confirmed, to a queue that
// another account has subscribed: somebody has to look at it.
func SNS(h consumer.Handler) consumer.Handler { return unwrapping(h, unwrapSNS) }

// SNSOrRaw is [SNS] for a queue whose subscriptions are not all alike: a body that
// is no notification is handed on untouched, and [NotificationFrom] is false.
//
// A notification is known by a Type of Notification, a TopicArn and a MessageId,
// spelled like that. A message that was published with such a body to a
// subscription with raw message delivery is unwrapped as well, although it was not
// meant to be: whoever can publish can have a handler see a TopicARN of his choice.
// Where that matters, set all subscriptions alike and use [SNS] or neither.
//
// A body of that Type that has only one of the two others, or any member twice, and
// what SNS sends to have a subscription confirmed, are permanent failures as with SNS:
// a handler might take them for empty work.
func SNSOrRaw(h consumer.Handler) consumer.Handler { return unwrapping(h, unwrapSNSOrRaw) }

// SNSKey takes the key from the message that [SNS] gives the handler, for instance
// SNSKey(consumer.JSONField("order", "id")). A body that SNS would not unwrap is an
// error, which rejects the message.
func SNSKey(k consumer.KeyFunc) consumer.KeyFunc { return keyOf(k, unwrapSNS) }

// SNSOrRawKey takes the key from the message that [SNSOrRaw] gives the handler.
// The same work has the same key, whether it came raw or not.
func SNSOrRawKey(k consumer.KeyFunc) consumer.KeyFunc { return keyOf(k, unwrapSNSOrRaw) }

// unwrapper gives the message inside of m, and the notification it was in; m itself
// and nil if it was in none.
type unwrapper func(m *consumer.Message) (*consumer.Message, *Notification, error)

func unwrapping(h consumer.Handler, unwrap unwrapper) consumer.Handler {
	if f, ok := h.(consumer.HandlerFunc); h == nil || (ok && f == nil) {
		return nil // consumer.New says so, at construction
	}
	return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
		inner, n, err := unwrap(m)
		if err != nil {
			return err
		}
		if n != nil {
			ctx = context.WithValue(ctx, notificationKey{}, n)
		}
		return h.Handle(ctx, inner)
	})
}

func keyOf(k consumer.KeyFunc, unwrap unwrapper) consumer.KeyFunc {
	return func(m *consumer.Message) (consumer.Key, error) {
		inner, _, err := unwrap(m)
		if err != nil {
			return consumer.Key{}, err
		}
		return k(inner)
	}
}

const typeNotification = "Notification"

// isConfirmation reports whether SNS wrote this about a subscription. It does when
// one is made or ended by somebody who does not own the queue.
func isConfirmation(o object) bool {
	kind := o.text("Type")
	return (kind == "SubscriptionConfirmation" || kind == "UnsubscribeConfirmation") && o.text("TopicArn") != ""
}

func unwrapSNS(m *consumer.Message) (*consumer.Message, *Notification, error) {
	o, err := parse([]byte(m.Body))
	if err != nil || o.text("Type") != typeNotification || o.text("TopicArn") == "" {
		return nil, nil, unlike(wantSNS, o, err,
			"if raw message delivery is on, use the handler without envelope.SNS; if it is on for some subscriptions only, use envelope.SNSOrRaw")
	}
	return open(m, o)
}

func unwrapSNSOrRaw(m *consumer.Message) (*consumer.Message, *Notification, error) {
	o, err := parse([]byte(m.Body))
	switch {
	case !resemblesSNS(o):
		return m, nil, nil
	// A handler that knows nothing of these may take one for empty work, and it would
	// be gone.
	case err != nil || isConfirmation(o):
		return nil, nil, unlike(wantSNS, o, err, "")
	case o.text("Type") != typeNotification || o.text("TopicArn") == "" || o.text("MessageId") == "":
		return nil, nil, broken(wantSNS, "one whose TopicArn or MessageId is missing or not a string")
	}
	return open(m, o)
}

// resemblesSNS reports whether a body says of itself that SNS wrote it, whatever is
// wrong with the rest of it.
func resemblesSNS(o object) bool {
	switch o.text("Type") {
	case typeNotification, "SubscriptionConfirmation", "UnsubscribeConfirmation":
	default:
		return false
	}
	_, topic := o["TopicArn"]
	_, id := o["MessageId"]
	return topic || id
}

// open makes the message that a notification holds.
func open(m *consumer.Message, o object) (*consumer.Message, *Notification, error) {
	body, ok := o.str("Message")
	if !ok {
		return nil, nil, broken(wantSNS, "one whose Message is missing or not a string")
	}
	attributes, err := attributesOf(o)
	if err != nil {
		return nil, nil, err
	}
	// The publisher does not say what was parked here, this queue's consumer does.
	delete(attributes, consumer.ParkedAttribute)
	if parked, ok := m.Attributes[consumer.ParkedAttribute]; ok {
		if attributes == nil {
			attributes = make(map[string]consumer.Attribute, 1)
		}
		attributes[consumer.ParkedAttribute] = parked
	}
	if len(attributes) == 0 {
		attributes = nil // as in a message without any
	}
	inner := *m // the pipeline reads the original again; the copy keeps its attempt
	inner.Body, inner.Attributes = body, attributes
	return &inner, notificationOf(o), nil
}

func notificationOf(o object) *Notification {
	certificate := o.text("SigningCertURL")
	if certificate == "" {
		certificate = o.text("SigningCertUrl")
	}
	unsubscribe := o.text("UnsubscribeURL")
	if unsubscribe == "" {
		unsubscribe = o.text("UnsubscribeUrl")
	}
	return &Notification{
		TopicARN: o.text("TopicArn"), ID: o.text("MessageId"), Subject: o.text("Subject"),
		PublishedAt: o.instant("Timestamp"), SequenceNumber: o.text("SequenceNumber"),
		SignatureVersion: o.text("SignatureVersion"), Signature: o.text("Signature"),
		SigningCertURL: certificate, UnsubscribeURL: unsubscribe,
	}
}

// attributesOf reads the attributes of a notification, which has them in its body:
// {"name": {"Type": …, "Value": …}}, with a binary value in base64.
func attributesOf(o object) (map[string]consumer.Attribute, error) {
	const member = "MessageAttributes"
	if !o.has(member) {
		return nil, nil //nolint:nilnil // no attributes are a nil map in every message
	}
	members, err := o.object(member)
	if err != nil || members == nil {
		return nil, broken(wantSNS, "one whose MessageAttributes are not an object with each name once")
	}
	attributes := make(map[string]consumer.Attribute, len(members))
	for name := range members {
		a, err := members.object(name)
		kind, ok := a.str("Type")
		value, valued := a.str("Value")
		if err != nil || !ok || !valued {
			return nil, broken(wantSNS, "one with an attribute that lacks Type or Value")
		}
		if kind != "Binary" && !strings.HasPrefix(kind, "Binary.") {
			attributes[name] = consumer.Attribute{DataType: kind, StringValue: value}
			continue
		}
		b, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, broken(wantSNS, "one with a binary attribute that is not base64")
		}
		attributes[name] = consumer.Attribute{DataType: kind, BinaryValue: b}
	}
	return attributes, nil
}
