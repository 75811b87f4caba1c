package sqstest

import (
	"bytes"
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// record is a received message on its way through an invocation.
type record struct {
	message types.Message
	id      string
	group   string
	encoded []byte // its element of the event
}

// eventRecord is one element of Records, as recordings of AWS have it.
type eventRecord struct {
	MessageID         string                    `json:"messageId"`
	ReceiptHandle     string                    `json:"receiptHandle"`
	Body              string                    `json:"body"`
	Attributes        map[string]string         `json:"attributes"`
	MessageAttributes map[string]eventAttribute `json:"messageAttributes"`
	// MD5OfMessageAttributes is null on a standard queue and absent on a FIFO
	// queue if there are no attributes: recordings have both.
	MD5OfMessageAttributes **string `json:"md5OfMessageAttributes,omitempty"`
	MD5OfBody              string   `json:"md5OfBody"`
	EventSource            string   `json:"eventSource"`
	EventSourceARN         string   `json:"eventSourceARN"`
	AWSRegion              string   `json:"awsRegion"`
}

// eventAttribute is a message attribute in an event. The lists are not used by
// SQS; they are empty and there.
type eventAttribute struct {
	StringValue      *string  `json:"stringValue,omitempty"`
	BinaryValue      *[]byte  `json:"binaryValue,omitempty"`
	StringListValues []string `json:"stringListValues"`
	BinaryListValues []string `json:"binaryListValues"`
	DataType         string   `json:"dataType"`
}

// newRecord encodes a message once: its size decides where a batch is cut.
func (q *sourceQueue) newRecord(m types.Message) *record {
	r := eventRecord{
		MessageID:         deref(m.MessageId),
		ReceiptHandle:     deref(m.ReceiptHandle),
		Body:              deref(m.Body),
		Attributes:        m.Attributes,
		MessageAttributes: make(map[string]eventAttribute, len(m.MessageAttributes)),
		MD5OfBody:         deref(m.MD5OfBody),
		EventSource:       "aws:sqs",
		EventSourceARN:    q.arn,
		AWSRegion:         q.region,
	}
	if r.Attributes == nil {
		r.Attributes = map[string]string{}
	}
	if m.MD5OfMessageAttributes != nil || !q.fifo {
		r.MD5OfMessageAttributes = &m.MD5OfMessageAttributes
	}
	for name, v := range m.MessageAttributes {
		a := eventAttribute{
			StringValue: v.StringValue, DataType: deref(v.DataType),
			StringListValues: []string{}, BinaryListValues: []string{},
		}
		if v.BinaryValue != nil {
			a.BinaryValue = &v.BinaryValue
		}
		r.MessageAttributes[name] = a
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // as Lambda
	_ = enc.Encode(r)        // texts cannot fail
	return &record{
		message: m, id: r.MessageID, group: r.Attributes["MessageGroupId"],
		encoded: bytes.TrimRight(buf.Bytes(), "\n"),
	}
}

const (
	eventHead = `{"Records":[`
	eventTail = `]}`
)

// eventSize is the size of the event with these records, in bytes.
func eventSize(records []*record) int {
	n := len(eventHead) + len(eventTail)
	for i, r := range records {
		n += len(r.encoded)
		if i > 0 {
			n++ // the comma
		}
	}
	return n
}

// event makes the payload of an invocation.
func event(records []*record) []byte {
	out := make([]byte, 0, eventSize(records))
	out = append(out, eventHead...)
	for i, r := range records {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, r.encoded...)
	}
	return append(out, eventTail...)
}

// cut splits records into batches of at most limit bytes. A record that is
// larger by itself is a batch.
func cut(records []*record, limit int) [][]*record {
	var out [][]*record
	start, size := 0, len(eventHead)+len(eventTail)
	for i, r := range records {
		added := len(r.encoded)
		if i > start {
			added++
		}
		if i > start && size+added > limit {
			out = append(out, records[start:i])
			start, size = i, len(eventHead)+len(eventTail)
			added = len(r.encoded)
		}
		size += added
	}
	return append(out, records[start:])
}
