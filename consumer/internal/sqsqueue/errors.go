package sqsqueue

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Class is what an error of SQS means for whoever made the call.
type Class uint8

// The classes. What is not known is ClassOther.
const (
	ClassNone        Class = iota // no error
	ClassOther                    // nothing that is known, or the network
	ClassRetryable                // SQS failed or throttled; the SDK has retried what it retries
	ClassOverLimit                // too much is in flight
	ClassHandleGone               // the receipt handle has expired, or its message is deleted
	ClassHandleBad                // what was given is no receipt handle
	ClassBeyondLimit              // the visibility would pass 12 hours since the receive
	ClassNoQueue                  // there is no such queue
	ClassDenied                   // a permission is missing, for the queue or its key
	ClassTooLong                  // the message is larger than the queue takes
)

// EntryError is the failure of one entry of a batch. It is a smithy.APIError.
type EntryError struct {
	Code, Message string
	// SenderFault says that sending the entry again as it is cannot help.
	SenderFault bool
}

// Error names code and message.
func (e *EntryError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// ErrorCode implements smithy.APIError.
func (e *EntryError) ErrorCode() string { return e.Code }

// ErrorMessage implements smithy.APIError.
func (e *EntryError) ErrorMessage() string { return e.Message }

// ErrorFault implements smithy.APIError.
func (e *EntryError) ErrorFault() smithy.ErrorFault {
	if e.SenderFault {
		return smithy.FaultClient
	}
	return smithy.FaultServer
}

// classes is by normalised code: see Code.
var classes = map[string]Class{
	"InternalFailure":              ClassRetryable,
	"InternalError":                ClassRetryable,
	"ServiceUnavailable":           ClassRetryable,
	"RequestThrottled":             ClassRetryable,
	"Throttling":                   ClassRetryable,
	"RequestTimeout":               ClassRetryable,
	"ThrottlingException":          ClassRetryable,
	"TooManyRequests":              ClassRetryable,
	"KMS.Throttling":               ClassRetryable,
	"KmsThrottled":                 ClassRetryable,
	"OverLimit":                    ClassOverLimit,
	"ReceiptHandleIsInvalid":       ClassHandleBad,
	"MessageNotInflight":           ClassHandleGone,
	"QueueDoesNotExist":            ClassNoQueue,
	"NonExistentQueue":             ClassNoQueue,
	"AccessDenied":                 ClassDenied,
	"KMS.AccessDenied":             ClassDenied,
	"KmsAccessDenied":              ClassDenied,
	"InvalidClientTokenId":         ClassDenied,
	"UnrecognizedClient":           ClassDenied,
	"SignatureDoesNotMatch":        ClassDenied,
	"InvalidSignature":             ClassDenied,
	"IncompleteSignature":          ClassDenied,
	"InvalidAddress":               ClassNoQueue,
	"BatchRequestTooLong":          ClassTooLong,
	"InvalidMessageContents":       ClassOther,
	"TooManyEntriesInBatchRequest": ClassOther,
}

// Classify says what err means. Modelled types come first: the code of some
// depends on whether the endpoint speaks of the query protocol's codes.
func Classify(err error) Class {
	switch {
	case err == nil:
		return ClassNone
	case is[*types.RequestThrottled](err), is[*types.KmsThrottled](err):
		return ClassRetryable
	case is[*types.OverLimit](err):
		return ClassOverLimit
	case is[*types.ReceiptHandleIsInvalid](err):
		return ClassHandleBad
	case is[*types.MessageNotInflight](err):
		return ClassHandleGone
	case is[*types.QueueDoesNotExist](err):
		return ClassNoQueue
	case is[*types.KmsAccessDenied](err):
		return ClassDenied
	}
	class := ClassOther
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		class = classifyAPI(api)
	}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && class == ClassOther && passing(answer.HTTPStatusCode()) {
		return ClassRetryable // from something between SQS and us, whatever its code
	}
	return class
}

// passing reports whether a status says that the same may succeed later.
func passing(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func classifyAPI(err smithy.APIError) Class {
	code := Code(err.ErrorCode())
	if c, known := classes[code]; known {
		return c
	}
	if code == "InvalidParameterValue" {
		// SQS has no structured field for these: only the text tells.
		switch msg := err.ErrorMessage(); {
		case strings.Contains(msg, "parameter VisibilityTimeout"):
			return ClassBeyondLimit
		case strings.Contains(msg, "parameter ReceiptHandle"):
			return ClassHandleGone
		case strings.Contains(msg, "must be shorter than"):
			return ClassTooLong
		}
		return ClassOther
	}
	if err.ErrorFault() == smithy.FaultServer {
		return ClassRetryable
	}
	return ClassOther
}

// Code normalises an error code: the query protocol's prefix and the suffix
// that its absence adds are taken off.
func Code(code string) string {
	return strings.TrimSuffix(strings.TrimPrefix(code, "AWS.SimpleQueueService."), "Exception")
}

// worthRetrying reports whether a call or entry may succeed if sent again as it
// is, after a wait. The SDK retries throttling and server failures of a whole
// call by itself, but neither KMS throttling nor OverLimit, and it does not look
// at entries.
func worthRetrying(err error) bool {
	if entry, ok := errors.AsType[*EntryError](err); ok {
		return !entry.SenderFault
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok && Code(api.ErrorCode()) == "KMS.Throttling" {
		return true
	}
	return is[*types.KmsThrottled](err) || Classify(err) == ClassOverLimit
}

// answered reports whether SQS has said what the error is, and not the network.
func answered(err error) bool { return is[smithy.APIError](err) }

// OfKey reports whether an error is about the key of an encrypted queue, and not
// the queue.
func OfKey(err error) bool {
	if is[*types.KmsAccessDenied](err) {
		return true
	}
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && (strings.HasPrefix(Code(api.ErrorCode()), "KMS.") || strings.HasPrefix(api.ErrorCode(), "Kms"))
}
