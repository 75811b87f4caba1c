package lambdasqs

import (
	"encoding/base64"
	"slices"
	"unicode/utf8"

	"github.com/ackwise/ackwise/consumer"
)

// decodeUsual decodes an event in the one form in which Lambda writes it: no
// white space, no unknown fields, none twice, a string wherever a string
// belongs. It understands nothing else, and says so with ok false; decodeEvent
// then decodes the event by the library. Whatever it does accept, the library
// decodes to the same.
//
// It is here because of what the library costs on ten records, which is what
// most invocations bring: two thirds of the time that decoding by encoding/json
// and a loop without any framework would leave for all the rest. The strings of
// a record share one allocation, so a message that is kept keeps no other.
func decodeUsual(payload []byte) (records []record, ok bool) {
	u := usual{cursor: cursor{text: payload}}
	if !utf8.Valid(payload) || !u.skip(`{"Records":[`) {
		return nil, false
	}
	for more := true; more; more = u.skip(",") {
		records = growSlab(records, u.at, len(payload))
		if !u.record() {
			return nil, false
		}
		u.finish(&records[len(records)-1])
	}
	return slices.Clip(records), u.skip("]}") && u.at == len(payload)
}

// usual reads records. What it reads of one stands in the payload, or in the
// cursor's scratch, until finish makes a record of it.
type usual struct {
	cursor
	id, receipt, body, source, arn []byte
	system                         []pair
	attributes                     map[string]consumer.Attribute
	buffer                         []byte
	lastSource, lastARN            string // of the record before: they are all the same
}

type pair struct{ name, value []byte }

func (u *usual) record() bool {
	if !u.skip("{") {
		return false
	}
	u.id, u.receipt, u.body, u.source, u.arn = nil, nil, nil, nil, nil
	u.system, u.attributes, u.scratch = u.system[:0], nil, u.scratch[:0]
	seen := 0
	for more := true; more; more = u.skip(",") {
		field := u.field()
		if field == 0 || seen&field != 0 {
			return false
		}
		seen |= field
	}
	return u.skip("}")
}

// field reads a member of a record and says which it was, as a bit; 0 if it is
// none of the usual, or not in the usual form.
func (u *usual) field() int {
	var ignored []byte
	bit, ok := 0, false
	switch string(u.name()) {
	case "messageId":
		bit, ok = 1<<0, u.string(&u.id)
	case "receiptHandle":
		bit, ok = 1<<1, u.string(&u.receipt)
	case "body":
		bit, ok = 1<<2, u.string(&u.body)
	case "attributes":
		bit, ok = 1<<3, u.readSystem()
	case "messageAttributes":
		bit, ok = 1<<4, u.readAttributes()
	case "md5OfBody":
		bit, ok = 1<<5, u.string(&ignored)
	case "md5OfMessageAttributes":
		bit, ok = 1<<6, u.string(&ignored)
	case "eventSource":
		bit, ok = 1<<7, u.string(&u.source)
	case "eventSourceARN":
		bit, ok = 1<<8, u.string(&u.arn)
	case "awsRegion":
		bit, ok = 1<<9, u.string(&ignored)
	}
	if !ok {
		return 0
	}
	return bit
}

func (u *usual) readSystem() bool {
	if !u.skip("{") {
		return false
	}
	for more := true; more; more = u.skip(",") {
		p := pair{name: u.name()}
		if len(p.name) == 0 || !u.string(&p.value) {
			return false
		}
		u.system = append(u.system, p)
	}
	return u.skip("}")
}

func (u *usual) readAttributes() bool {
	if u.skip("{}") {
		return true
	}
	if !u.skip("{") {
		return false
	}
	u.attributes = make(map[string]consumer.Attribute)
	for more := true; more; more = u.skip(",") {
		name := string(u.name())
		_, twice := u.attributes[name]
		a, ok := u.attribute()
		if name == "" || twice || !ok {
			return false
		}
		u.attributes[name] = a
	}
	return u.skip("}")
}

func (u *usual) attribute() (a consumer.Attribute, ok bool) {
	if !u.skip("{") {
		return a, false
	}
	seen := 0
	for more := true; more; more = u.skip(",") {
		var value []byte
		bit, ok := 0, false
		switch string(u.name()) {
		case "dataType":
			bit, ok = 1<<0, u.string(&value)
			a.DataType = string(value)
		case "stringValue":
			bit, ok = 1<<1, u.string(&value)
			a.StringValue = string(value)
		case "binaryValue":
			bit, ok = 1<<2, u.string(&value)
			b, err := base64.StdEncoding.DecodeString(string(value))
			a.BinaryValue, ok = b, ok && err == nil
		case "stringListValues":
			bit, ok = 1<<3, u.skip("[]")
		case "binaryListValues":
			bit, ok = 1<<4, u.skip("[]")
		}
		if !ok || seen&bit != 0 {
			return a, false
		}
		seen |= bit
	}
	return a, u.skip("}")
}

// finish makes the record: one string holds all that differs from record to
// record.
func (u *usual) finish(r *record) {
	if string(u.source) != u.lastSource {
		u.lastSource = string(u.source)
	}
	if string(u.arn) != u.lastARN {
		u.lastARN = string(u.arn)
	}
	r.eventSource, r.message.QueueARN, r.message.Attributes = u.lastSource, u.lastARN, u.attributes
	b := append(append(append(u.buffer[:0], u.id...), u.receipt...), u.body...)
	for _, p := range u.system {
		b = append(b, p.value...)
	}
	u.buffer = b
	rest := string(b)
	cut := func(n int) string {
		s := rest[:n]
		rest = rest[n:]
		return s
	}
	r.message.ID, r.delivery.Receipt, r.message.Body = cut(len(u.id)), cut(len(u.receipt)), cut(len(u.body))
	if len(u.system) == 0 {
		return
	}
	r.message.System = make(map[string]string, len(u.system))
	for _, p := range u.system {
		r.message.System[systemName(p.name)] = cut(len(p.value))
	}
}

// systemName makes a string of the name of a system attribute, without an
// allocation for those there are.
func systemName(name []byte) string {
	switch string(name) {
	case "ApproximateReceiveCount":
		return "ApproximateReceiveCount"
	case "SentTimestamp":
		return "SentTimestamp"
	case "SenderId":
		return "SenderId"
	case "ApproximateFirstReceiveTimestamp":
		return "ApproximateFirstReceiveTimestamp"
	case "SequenceNumber":
		return "SequenceNumber"
	case "MessageGroupId":
		return "MessageGroupId"
	case "MessageDeduplicationId":
		return "MessageDeduplicationId"
	case "AWSTraceHeader":
		return "AWSTraceHeader"
	case "DeadLetterQueueSourceArn":
		return "DeadLetterQueueSourceArn"
	default:
		return string(name)
	}
}
