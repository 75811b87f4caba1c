package sqstest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// receivedMessage is types.Message on the wire.
type receivedMessage struct {
	Attributes             map[string]string         `json:"Attributes,omitempty"`
	Body                   string                    `json:"Body"`
	MD5OfBody              string                    `json:"MD5OfBody"`
	MD5OfMessageAttributes string                    `json:"MD5OfMessageAttributes,omitempty"`
	MessageAttributes      map[string]attributeValue `json:"MessageAttributes,omitempty"`
	MessageID              string                    `json:"MessageId"`
	ReceiptHandle          string                    `json:"ReceiptHandle"`

	message     *message
	hiddenUntil time.Time // for a repeated receive attempt
}

// attributeValue is types.MessageAttributeValue on the wire.
type attributeValue struct {
	DataType    string  `json:"DataType"`
	StringValue *string `json:"StringValue,omitempty"`
	BinaryValue []byte  `json:"BinaryValue,omitempty"`
}

// systemAttributes are the names that can be asked for.
var systemAttributes = []string{
	"SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp",
	"SequenceNumber", "MessageDeduplicationId", "MessageGroupId", "AWSTraceHeader", "DeadLetterQueueSourceArn",
}

// senderID is the one identity that sends.
const senderID = "AIDASQSTESTSENDER0001"

// filter says which attributes a receive asked for. Without asking, SQS returns
// none.
type filter struct {
	system        map[string]bool
	names         []string
	prefixes      []string
	allAttributes bool
}

func newFilter(in *receiveRequest) (*filter, error) {
	f := &filter{system: make(map[string]bool)}
	var asked []string
	for _, n := range in.MessageSystemAttributeNames {
		asked = append(asked, string(n))
	}
	for _, n := range in.AttributeNames { //nolint:staticcheck // deprecated, but clients still send it
		asked = append(asked, string(n))
	}
	for _, name := range asked {
		switch {
		case name == "All":
			for _, n := range systemAttributes {
				f.system[n] = true
			}
		case slices.Contains(systemAttributes, name):
			f.system[name] = true
		default:
			return nil, errAttributeName("Unknown Attribute %s.", name)
		}
	}
	for _, name := range in.MessageAttributeNames {
		prefix, isPrefix := strings.CutSuffix(name, ".*")
		switch {
		case name == "All":
			f.allAttributes = true
		case isPrefix: // ".*" is the empty prefix, so all too
			f.prefixes = append(f.prefixes, prefix)
		default:
			f.names = append(f.names, name)
		}
	}
	return f, nil
}

// apply makes the answer for m without its receipt handle.
func (f *filter) apply(m *message) receivedMessage {
	r := receivedMessage{Body: m.body, MessageID: m.id}
	if len(f.system) > 0 {
		r.Attributes = make(map[string]string, len(f.system))
		for name := range f.system {
			if v := m.system(name); v != "" {
				r.Attributes[name] = v
			}
		}
	}
	if len(m.attrs) == 0 {
		return r
	}
	chosen := m.attrs
	if !f.allAttributes {
		chosen = make(map[string]types.MessageAttributeValue)
		for name, v := range m.attrs {
			if f.wants(name) {
				chosen[name] = v
			}
		}
	}
	if len(chosen) == 0 {
		return r
	}
	r.MD5OfMessageAttributes = attributesMD5(chosen)
	r.MessageAttributes = make(map[string]attributeValue, len(chosen))
	for name, v := range chosen {
		r.MessageAttributes[name] = attributeValue{
			DataType: deref(v.DataType), StringValue: v.StringValue, BinaryValue: v.BinaryValue,
		}
	}
	return r
}

func (f *filter) wants(name string) bool {
	if slices.Contains(f.names, name) {
		return true
	}
	return slices.ContainsFunc(f.prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// system spells a system attribute, "" if the message has none of that name.
func (m *message) system(name string) string {
	switch name {
	case "SenderId":
		return senderID
	case "SentTimestamp":
		return millis(m.sentAt)
	case "ApproximateReceiveCount":
		return strconv.Itoa(m.receives)
	case "ApproximateFirstReceiveTimestamp":
		return millis(m.firstReceivedAt)
	case "SequenceNumber":
		return m.sequence
	case "MessageDeduplicationId":
		return m.dedup
	case "MessageGroupId":
		return m.group
	case "AWSTraceHeader":
		return m.trace
	case "DeadLetterQueueSourceArn":
		return m.source
	default:
		return ""
	}
}

func millis(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}
