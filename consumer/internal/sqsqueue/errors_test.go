package sqsqueue_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
)

func generic(code, message string, fault smithy.ErrorFault) error {
	return &smithy.GenericAPIError{Code: code, Message: message, Fault: fault}
}

// What SQS says.
const (
	limit = "Value 43200 for parameter VisibilityTimeout is invalid. " +
		"Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"
	expired = "Value AQEB for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
	gone    = "Value AQEB for parameter ReceiptHandle is invalid. " +
		"Reason: Message does not exist or is not available for visibility timeout change."
	tooLong = "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
)

var over = "AWS.SimpleQueueService.OverLimit"

var classes = []struct {
	err   error
	class sqsqueue.Class
}{
	{nil, sqsqueue.ClassNone},
	{errors.New("connection refused"), sqsqueue.ClassOther},
	{generic("InvalidParameterValue", limit, smithy.FaultClient), sqsqueue.ClassBeyondLimit},
	{generic("InvalidParameterValue", expired, smithy.FaultClient), sqsqueue.ClassHandleGone},
	{generic("InvalidParameterValueException", gone, smithy.FaultClient), sqsqueue.ClassHandleGone},
	{generic("InvalidParameterValue", tooLong, smithy.FaultClient), sqsqueue.ClassTooLong},
	{generic("InvalidParameterValue", "Value x for parameter QueueName is invalid.", smithy.FaultClient), sqsqueue.ClassOther},
	{&types.ReceiptHandleIsInvalid{}, sqsqueue.ClassHandleBad},
	{generic("ReceiptHandleIsInvalid", "", smithy.FaultClient), sqsqueue.ClassHandleBad},
	{&types.MessageNotInflight{}, sqsqueue.ClassHandleGone},
	{generic("AWS.SimpleQueueService.MessageNotInflight", "", smithy.FaultClient), sqsqueue.ClassHandleGone},
	{&types.QueueDoesNotExist{}, sqsqueue.ClassNoQueue},
	{generic("AWS.SimpleQueueService.NonExistentQueue", "", smithy.FaultClient), sqsqueue.ClassNoQueue},
	{generic("QueueDoesNotExist", "", smithy.FaultClient), sqsqueue.ClassNoQueue},
	{&types.TooManyEntriesInBatchRequest{}, sqsqueue.ClassOther},
	{&types.RequestThrottled{}, sqsqueue.ClassRetryable},
	{generic("ThrottlingException", "", smithy.FaultClient), sqsqueue.ClassRetryable},
	{&types.KmsThrottled{}, sqsqueue.ClassRetryable},
	{generic("KMS.ThrottlingException", "", smithy.FaultClient), sqsqueue.ClassRetryable},
	{&types.OverLimit{}, sqsqueue.ClassOverLimit},
	{&types.OverLimit{ErrorCodeOverride: &over}, sqsqueue.ClassOverLimit},
	{generic(over, "", smithy.FaultClient), sqsqueue.ClassOverLimit},
	{generic("InternalFailure", "", smithy.FaultServer), sqsqueue.ClassRetryable},
	{generic("ServiceUnavailable", "", smithy.FaultServer), sqsqueue.ClassRetryable},
	{generic("SomethingNew", "", smithy.FaultServer), sqsqueue.ClassRetryable},
	{generic("SomethingNew", "", smithy.FaultClient), sqsqueue.ClassOther},
	{generic("AccessDenied", "", smithy.FaultClient), sqsqueue.ClassDenied},
	{generic("AccessDeniedException", "", smithy.FaultClient), sqsqueue.ClassDenied},
	{&types.KmsAccessDenied{}, sqsqueue.ClassDenied},
	{generic("KMS.AccessDeniedException", "", smithy.FaultClient), sqsqueue.ClassDenied},
	{generic("BatchRequestTooLong", "", smithy.FaultClient), sqsqueue.ClassTooLong},
	{&sqsqueue.EntryError{Code: "InvalidParameterValue", Message: expired, SenderFault: true}, sqsqueue.ClassHandleGone},
	{&sqsqueue.EntryError{Code: "SomethingNew", SenderFault: false}, sqsqueue.ClassRetryable},
}

// What a real client makes of SQS's answers, and what it means.
func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tt := range classes {
		name := fmt.Sprintf("%T %v", tt.err, tt.err)
		if got := sqsqueue.Classify(tt.err); got != tt.class {
			t.Errorf("%s: class %d, want %d", name, got, tt.class)
		}
		if tt.err == nil {
			continue
		}
		wrapped := &smithy.OperationError{ServiceID: "SQS", OperationName: "X", Err: tt.err}
		if got := sqsqueue.Classify(wrapped); got != tt.class {
			t.Errorf("%s, wrapped: class %d, want %d", name, got, tt.class)
		}
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"AWS.SimpleQueueService.NonExistentQueue": "NonExistentQueue", "InvalidParameterValueException": "InvalidParameterValue",
		"KMS.ThrottlingException": "KMS.Throttling", "RequestThrottled": "RequestThrottled", "": "",
	} {
		if got := sqsqueue.Code(code); got != want {
			t.Errorf("Code(%q) is %q", code, got)
		}
	}
}
