package sqstest

import (
	"fmt"
	"net/http"
)

// Error is an error answer of SQS. A fault can answer one (see [Fault.Err]);
// the constructors below make the usual ones as AWS spells them, and a literal
// makes any other.
type Error struct {
	// Code is the code that clients see (smithy.APIError.ErrorCode), for
	// example "InvalidParameterValue" or "AWS.SimpleQueueService.NonExistentQueue".
	// It travels in the x-amzn-query-error header.
	Code string
	// Type is the name of the error's shape, which decides the Go type that the
	// SDK makes of it, for example "QueueDoesNotExist". Default: Code.
	Type string
	// Message is the text.
	Message string
	// Status is the HTTP status. Default: 400, or 500 with Receiver.
	Status int
	// Receiver says that the fault is the service's, not the sender's. In a
	// batch it makes SenderFault false: the entry is worth trying again.
	Receiver bool
}

// Error returns the code and the text.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

func (e *Error) status() int {
	switch {
	case e.Status != 0:
		return e.Status
	case e.Receiver:
		return http.StatusInternalServerError
	default:
		return http.StatusBadRequest
	}
}

func (e *Error) shape() string {
	if e.Type != "" {
		return e.Type
	}
	return e.Code
}

func (e *Error) side() string {
	if e.Receiver {
		return "Receiver"
	}
	return "Sender"
}

// Throttled is RequestThrottled: the SDK retries it, three calls in all.
func Throttled() *Error {
	return &Error{Code: "RequestThrottled", Message: "Rate exceeded", Status: http.StatusForbidden}
}

// KMSThrottled is what an encrypted queue answers when KMS throttles. The SDK
// does not retry it.
func KMSThrottled() *Error {
	return &Error{
		Code: "KMS.ThrottlingException", Type: "KmsThrottled",
		Message: "You have exceeded the rate at which you may call KMS. Reduce the frequency of your calls.",
	}
}

// OverLimit is what a short poll gets when too many messages are in flight. The
// SDK does not retry it.
func OverLimit() *Error {
	return &Error{
		Code: "OverLimit", Status: http.StatusForbidden,
		Message: "Too many messages in flight: delete some, or wait for their visibility timeouts.",
	}
}

// AccessDenied is a missing permission. The SDK does not retry it.
func AccessDenied() *Error {
	return &Error{
		Code: "AccessDenied", Type: "AccessDeniedException", Status: http.StatusForbidden,
		Message: "User is not authorized to perform this action on the resource: no identity-based policy allows it.",
	}
}

// InternalError is a failure of SQS itself, HTTP 500. The SDK retries it.
func InternalError() *Error {
	return &Error{
		Code: "InternalFailure", Status: http.StatusInternalServerError, Receiver: true,
		Message: "The request processing has failed because of an unknown error, exception or failure.",
	}
}

// ServiceUnavailable is an overloaded or absent SQS, HTTP 503. The SDK retries
// it.
func ServiceUnavailable() *Error {
	return &Error{
		Code: "ServiceUnavailable", Status: http.StatusServiceUnavailable, Receiver: true,
		Message: "The request has failed due to a temporary failure of the server.",
	}
}

const simpleQueueService = "AWS.SimpleQueueService."

func errNoQueue() *Error {
	return &Error{
		Code: simpleQueueService + "NonExistentQueue", Type: "QueueDoesNotExist",
		Message: "The specified queue does not exist.",
	}
}

func errParameter(format string, args ...any) *Error {
	return &Error{
		Code: "InvalidParameterValue", Type: "InvalidParameterValueException",
		Message: fmt.Sprintf(format, args...),
	}
}

func errValue(value any, parameter, reason string) *Error {
	return errParameter("Value %v for parameter %s is invalid. Reason: %s", value, parameter, reason)
}

func errMissing(parameter string) *Error {
	return &Error{
		Code: "MissingParameter", Type: "MissingRequiredParameterException",
		Message: fmt.Sprintf("The request must contain the parameter %s.", parameter),
	}
}

func errReceiptInvalid(handle string) *Error {
	return &Error{
		Code: "ReceiptHandleIsInvalid", Status: http.StatusNotFound,
		Message: fmt.Sprintf("The input receipt handle %q is not a valid receipt handle.", handle),
	}
}

func errReceiptExpired(handle string) *Error {
	return errValue(handle, "ReceiptHandle", "The receipt handle has expired.")
}

func errNotAvailable(handle string) *Error {
	return errValue(handle, "ReceiptHandle",
		"Message does not exist or is not available for visibility timeout change.")
}

func errNotFound(parameter string) *Error {
	return &Error{
		Code: "ResourceNotFoundException", Status: http.StatusNotFound,
		Message: fmt.Sprintf("The resource that you specified for the %s parameter doesn't exist.", parameter),
	}
}

func errAttributeName(format string, args ...any) *Error {
	return &Error{Code: "InvalidAttributeName", Message: fmt.Sprintf(format, args...)}
}

func errAttributeValue(name, reason string) *Error {
	text := fmt.Sprintf("Invalid value for the parameter %s.", name)
	if reason != "" {
		text += " Reason: " + reason
	}
	return &Error{Code: "InvalidAttributeValue", Message: text}
}

func errBatch(name, format string, args ...any) *Error {
	return &Error{Code: simpleQueueService + name, Type: name, Message: fmt.Sprintf(format, args...)}
}
