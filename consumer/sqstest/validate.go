package sqstest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

var (
	attributeName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,256}$`)
	batchEntryID  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)
	queueName     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)
	numberText    = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
	idText        = regexp.MustCompile(`^[\x21-\x7e]{1,128}$`)
)

// checkBody refuses what XML 1.0 cannot carry.
func checkBody(body string) *Error {
	for i, r := range body {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(body[i:]); size == 1 {
				return errContents(fmt.Sprintf("#x%X", body[i]))
			}
		}
		if !xmlChar(r) {
			return errContents(fmt.Sprintf("#x%X", r))
		}
	}
	return nil
}

func errContents(char string) *Error {
	return &Error{
		Code: "InvalidMessageContents",
		Message: "Invalid binary character '" + char + "' was found in the message body, the set of allowed " +
			"characters is #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF",
	}
}

func xmlChar(r rune) bool {
	switch {
	case r == 0x9, r == 0xA, r == 0xD:
		return true
	case r >= 0x20 && r <= 0xD7FF, r >= 0xE000 && r <= 0xFFFD, r >= 0x10000 && r <= 0x10FFFF:
		return true
	default:
		return false
	}
}

// checkAttributes applies SQS's rules for message attributes.
func checkAttributes(attrs map[string]types.MessageAttributeValue) *Error {
	if len(attrs) > 10 {
		return errParameter("Number of message attributes [%d] exceeds the allowed maximum [10].", len(attrs))
	}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if err := checkAttributeName(name); err != nil {
			return err
		}
		if err := checkAttributeValue(name, attrs[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkAttributeName(name string) *Error {
	lower := strings.ToLower(name)
	switch {
	case !attributeName.MatchString(name),
		strings.HasPrefix(name, "."), strings.HasSuffix(name, "."), strings.Contains(name, ".."):
		return errParameter("The message attribute name '%s' is invalid. Attribute name can contain A-Z, a-z, "+
			"0-9, underscore (_), hyphen (-), and period (.) characters.", name)
	case strings.HasPrefix(lower, "aws."), strings.HasPrefix(lower, "amazon."):
		return errParameter("You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. " +
			"These strings are reserved for internal use.")
	}
	return nil
}

func checkAttributeValue(name string, v types.MessageAttributeValue) *Error {
	dataType := deref(v.DataType)
	if dataType == "" {
		return errParameter("The message attribute '%s' must contain a non-empty message attribute type.", name)
	}
	base, _, _ := strings.Cut(dataType, ".")
	var empty bool
	switch base {
	case "String", "Number":
		empty = deref(v.StringValue) == ""
	case "Binary":
		empty = len(v.BinaryValue) == 0
	default:
		return errParameter("The message attribute '%s' has an invalid message attribute type, "+
			"the set of supported type prefixes is Binary, Number, and String.", name)
	}
	if len(v.StringListValues) > 0 || len(v.BinaryListValues) > 0 {
		return errParameter("Message (user) attribute '%s': list values are not supported.", name)
	}
	if empty {
		return errParameter("Message (user) attribute '%s' must contain a non-empty value of type '%s'.",
			name, choice(base == "Binary", "String", "Binary"))
	}
	switch base {
	case "Binary":
		return nil
	case "Number":
		if !numberText.MatchString(*v.StringValue) {
			return errParameter("Can't cast the value of message (user) attribute '%s' to a number.", name)
		}
	}
	return checkBody(*v.StringValue)
}

// checkID applies the rule of group and deduplication ids.
func checkID(parameter string, id *string) *Error {
	if id == nil || idText.MatchString(*id) {
		return nil
	}
	return errValue(*id, parameter,
		parameter+" can only include alphanumeric and punctuation characters. 1 to 128 in length.")
}

// messageSize is what SQS counts: body, and names, types and values of the
// attributes; system attributes do not count.
func messageSize(body string, attrs map[string]types.MessageAttributeValue) int {
	n := len(body)
	for name, v := range attrs {
		n += len(name) + len(deref(v.DataType)) + len(deref(v.StringValue)) + len(v.BinaryValue)
	}
	return n
}

// checkBatchIDs applies the rules for the entries of a batch call.
func checkBatchIDs(kind string, ids []string) *Error {
	switch {
	case len(ids) == 0:
		return errBatch("EmptyBatchRequest", "There should be at least one %sRequestEntry in the request.", kind)
	case len(ids) > maxBatch:
		return errBatch("TooManyEntriesInBatchRequest",
			"Maximum number of entries per request are 10. You have sent %d.", len(ids))
	}
	seen := make(map[string]bool, len(ids))
	for _, id := range ids {
		if !batchEntryID.MatchString(id) {
			return errBatch("InvalidBatchEntryId", "A batch entry id can only contain alphanumeric characters, "+
				"hyphens and underscores. It can be at most 80 letters long.")
		}
		if seen[id] {
			return errBatch("BatchEntryIdsNotDistinct", "Id %s repeated.", id)
		}
		seen[id] = true
	}
	return nil
}
