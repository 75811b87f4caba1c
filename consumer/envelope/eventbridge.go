package envelope

import (
	"context"
	"fmt"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

// Event is an event of EventBridge whose detail was decoded as a T. The fields are
// those that the EventBridge user guide lists under "Event structure"; all but
// DetailType and Detail may be empty.
type Event[T any] struct {
	// ID is the id that EventBridge gave the event, the same in every copy.
	ID string
	// Source names the application or service that the event is of.
	Source string
	// DetailType says together with Source what Detail looks like.
	DetailType string
	// Time is when the event happened, by its sender; when it was put, if the
	// sender did not say.
	Time time.Time
	// Account is the account that the event is of.
	Account string
	// Region is the region that the event is of.
	Region string
	// Resources are the ARNs of what the event is about.
	Resources []string
	// Detail is the event itself.
	Detail T
}

// EventBridge makes a handler of a function that takes the event decoded, its
// detail as a T by the rules of [consumer.JSON]: fields that T does not have are
// ignored. m is the message as it was received, whole event included; the function
// must not change it. With json.RawMessage for T the detail comes as it was
// written, for a queue with events of several types.
//
// A body without a detail-type or a detail is a permanent failure, an [*Error]: a
// rule's target with an input path or an input transformer sends something else,
// which is for consumer.JSON. A detail that does not decode as a T, or is null, is
// a permanent failure too, a [*consumer.DecodeError] that speaks of the detail as
// the body.
func EventBridge[T any](fn func(ctx context.Context, e Event[T], m *consumer.Message) error) consumer.Handler {
	if fn == nil {
		return nil // consumer.New says so, at construction
	}
	decode := detailDecoder[T]()
	return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
		o, err := parseEvent(m.Body)
		if err != nil {
			return err
		}
		detail, err := decode(ctx, o, m)
		if err != nil {
			return err
		}
		return fn(ctx, Event[T]{
			ID: o.text("id"), Source: o.text("source"), DetailType: o.text("detail-type"),
			Time: o.instant("time"), Account: o.text("account"), Region: o.text("region"),
			Resources: list[string](o, "resources"), Detail: detail,
		}, m)
	})
}

// parseEvent reads a body that has to be an event. Its detail may be null still.
func parseEvent(body string) (object, error) {
	const advice = "if the rule's target has an input path or an input transformer, use consumer.JSON"
	o, err := parse([]byte(body))
	if err != nil {
		return nil, unlike(wantEventBridge, nil, err, advice)
	}
	typed, detailed := o.text("detail-type") != "", len(o["detail"]) > 0
	switch {
	case typed && detailed:
		return o, nil
	case typed:
		return nil, retry.Permanent(&Error{Want: wantEventBridge, Found: "one without a detail", Advice: advice})
	case detailed:
		return nil, retry.Permanent(&Error{Want: wantEventBridge, Found: "one without a detail-type", Advice: advice})
	}
	return nil, unlike(wantEventBridge, o, nil, advice)
}

type detailKey struct{}

// detailDecoder has consumer.JSON decode details, so that there is one set of
// rules. It is made once for a type, which consumer.JSON looks into.
func detailDecoder[T any]() func(ctx context.Context, o object, m *consumer.Message) (T, error) {
	decoder := consumer.JSON(func(ctx context.Context, v T, _ *consumer.Message) error {
		if detail, ok := ctx.Value(detailKey{}).(*T); ok {
			*detail = v
		}
		return nil
	})
	return func(ctx context.Context, o object, m *consumer.Message) (detail T, err error) {
		inner := *m
		inner.Body = string(o["detail"])
		if err := decoder.Handle(context.WithValue(ctx, detailKey{}, &detail), &inner); err != nil {
			return detail, fmt.Errorf("envelope: detail of the event: %w", err) // permanent already
		}
		return detail, nil
	}
}
