package dynamostore

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Codes of cancellation reasons (API reference, TransactWriteItems).
const (
	codeNone      = "None"
	codeCondition = "ConditionalCheckFailed"
)

// passing reports whether the reason for a cancellation passes by itself.
func passing(code string) bool {
	switch code {
	case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
		return true
	}
	return false
}

// TransactError says which item of a [Store.Transact] could not be written.
// Nothing was written. The claim is still held.
type TransactError struct {
	// Index is the position of the item among the arguments: the first one that
	// failed for good, or if none did, the first one that failed.
	Index int
	// Code is DynamoDB's: ConditionalCheckFailed, ItemCollectionSizeLimitExceeded
	// or ValidationError; or, after retries, TransactionConflict, ThrottlingError
	// or ProvisionedThroughputExceeded.
	Code string
	// Message is DynamoDB's. It may be empty.
	Message string
	// Item is what was there, if the item has ReturnValuesOnConditionCheckFailure
	// ALL_OLD and its condition failed.
	Item map[string]types.AttributeValue
	// Reasons are DynamoDB's for all arguments, by position; the Code of an item
	// that did not fail is "None".
	Reasons []types.CancellationReason

	err error
}

// newTransactError returns nil if none of the user's items failed.
func newTransactError(users []types.CancellationReason, err error) *TransactError {
	index := -1
	for i, r := range users {
		code := aws.ToString(r.Code)
		if code == "" || code == codeNone {
			continue
		}
		if !passing(code) {
			index = i
			break
		}
		if index < 0 {
			index = i
		}
	}
	if index < 0 {
		return nil
	}
	r := users[index]
	return &TransactError{
		Index: index, Code: aws.ToString(r.Code), Message: aws.ToString(r.Message), Item: r.Item, Reasons: users, err: err,
	}
}

// Error names the item, code and message.
func (e *TransactError) Error() string {
	msg := fmt.Sprintf("dynamostore: transact: item %d of %d: %s", e.Index, len(e.Reasons), e.Code)
	if e.Message != "" {
		msg += ": " + e.Message
	}
	return msg
}

// Unwrap gives the SDK's *types.TransactionCanceledException, whose reasons have
// one more at the end: the completion's.
func (e *TransactError) Unwrap() error { return e.err }
