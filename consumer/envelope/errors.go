package envelope

import (
	"fmt"

	"github.com/ackwise/ackwise/retry"
)

// Error says that a body is not what it was to be unwrapped from. It comes marked
// by [retry.Permanent]. Its text holds nothing of the body, so that it can be
// logged.
type Error struct {
	// Want is what the body should have been, for instance "an SNS notification".
	Want string
	// Found is what it is, as far as that can be told.
	Found string
	// Advice is what to do about it; empty if there is nothing to advise.
	Advice string
}

// Error gives all three.
func (e *Error) Error() string {
	s := fmt.Sprintf("envelope: want %s, found %s", e.Want, e.Found)
	if e.Advice != "" {
		s += "; " + e.Advice
	}
	return s
}

// What a body is to be.
const (
	wantSNS         = "an SNS notification"
	wantEventBridge = "an EventBridge event"
	wantS3          = "an S3 notification"
	wantS3Event     = "an S3 event of EventBridge"
)

// unlike is the error for a body that is not what was wanted at all: o as it was
// parsed, or err if it could not be. otherwise is the advice unless another handler
// of this package is the right one.
func unlike(want string, o object, err error, otherwise string) error {
	e := &Error{Want: want, Advice: otherwise}
	if err != nil {
		e.Found = err.Error()
		return retry.Permanent(e)
	}
	found, advice := recognise(o)
	e.Found = found
	switch {
	case advice == "":
	case want == wantSNS && !isConfirmation(o):
		// Delivered raw, as otherwise says; the handler inside may be the right one.
	case want == wantS3Event && found == wantEventBridge:
		// The right handler for another rule.
	default:
		e.Advice = advice
	}
	return retry.Permanent(e)
}

// recognise says what an object is, and what to do to have it unwrapped; no advice
// if that is nothing of what this package unwraps.
func recognise(o object) (found, advice string) {
	switch {
	case isConfirmation(o):
		return "a message of SNS about the subscription itself",
			"confirm the subscription by the SubscribeURL in it, or subscribe as the owner of the queue"
	case o.text("Type") == typeNotification && o.text("TopicArn") != "":
		return wantSNS, "wrap the handler in envelope.SNS"
	case o.text("detail-type") != "" && o.has("detail") && o.text("source") == sourceS3:
		return wantS3Event, "use envelope.S3EventBridge"
	case o.text("detail-type") != "" && o.has("detail"):
		return wantEventBridge, "use envelope.EventBridge"
	case isTestEvent(o):
		return "a test event of S3", "use envelope.S3"
	case hasS3Record(o):
		return wantS3, "use envelope.S3"
	}
	return "a JSON object of another kind", ""
}

// broken is the error for a body that is what was wanted but for a part of it.
func broken(want, found string) error {
	return retry.Permanent(&Error{Want: want, Found: found})
}
