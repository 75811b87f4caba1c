package lambdasqs

import (
	"encoding/base64"
	"slices"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
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
	if !plain(payload) {
		return nil, false
	}
	u := usual{cursor: cursor{text: payload, escape: -1}}
	if !u.skip(`{"Records":[`) {
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

// pair is a system attribute.
type pair struct {
	known int // its place in systemNames, -1 if it has none
	name  string
	value []byte
}

// The fields of a record, in the order in which Lambda writes them.
const (
	fieldID = iota
	fieldReceipt
	fieldBody
	fieldSystem
	fieldAttributes
	fieldAttributesMD5
	fieldMD5
	fieldSource
	fieldARN
	fieldRegion
)

var fieldNames = []string{
	fieldID: `"messageId":`, fieldReceipt: `"receiptHandle":`, fieldBody: `"body":`,
	fieldSystem: `"attributes":`, fieldAttributes: `"messageAttributes":`,
	fieldAttributesMD5: `"md5OfMessageAttributes":`, fieldMD5: `"md5OfBody":`,
	fieldSource: `"eventSource":`, fieldARN: `"eventSourceARN":`, fieldRegion: `"awsRegion":`,
}

func (u *usual) record() bool {
	if !u.skip("{") {
		return false
	}
	u.id, u.receipt, u.body, u.source, u.arn = nil, nil, nil, nil, nil
	u.system, u.attributes, u.scratch = u.system[:0], nil, u.scratch[:0]
	seen, field := 0, -1
	for more := true; more; more = u.skip(",") {
		field = u.member(fieldNames, field+1)
		if field < 0 || seen&(1<<field) != 0 || !u.field(field) {
			return false
		}
		seen |= 1 << field
	}
	return u.skip("}")
}

// field reads the value of a field of a record.
func (u *usual) field(field int) bool {
	var ignored []byte
	dst := &ignored
	switch field {
	case fieldSystem:
		return u.readSystem()
	case fieldAttributes:
		return u.readAttributes()
	case fieldID:
		dst = &u.id
	case fieldReceipt:
		dst = &u.receipt
	case fieldBody:
		dst = &u.body
	case fieldSource:
		dst = &u.source
	case fieldARN:
		dst = &u.arn
	}
	return u.string(dst)
}

// The system attributes there are, in the order in which Lambda writes them.
const (
	systemReceives = iota
	systemTrace
	systemSent
	systemSequence
	systemGroup
	systemSender
	systemDeduplication
	systemFirstReceived
	systemDeadLetterSource
)

var systemNames = []string{
	systemReceives: `"ApproximateReceiveCount":`, systemTrace: `"AWSTraceHeader":`, systemSent: `"SentTimestamp":`,
	systemSequence: `"SequenceNumber":`, systemGroup: `"MessageGroupId":`, systemSender: `"SenderId":`,
	systemDeduplication: `"MessageDeduplicationId":`, systemFirstReceived: `"ApproximateFirstReceiveTimestamp":`,
	systemDeadLetterSource: `"DeadLetterQueueSourceArn":`,
}

func (u *usual) readSystem() bool {
	if !u.skip("{") {
		return false
	}
	known := -1
	for more := true; more; more = u.skip(",") {
		known = u.member(systemNames, known+1)
		p := pair{known: known}
		if known >= 0 {
			p.name = systemNames[known][1 : len(systemNames[known])-2]
		} else {
			p.name = string(u.name())
		}
		if p.name == "" || !u.string(&p.value) {
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
	r.mark, r.message.QueueARN, r.message.Attributes = u.lastSource, u.lastARN, u.attributes
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
	if len(u.system) > 0 {
		r.message.System = make(map[string]string, len(u.system))
	}
	var known [systemDeadLetterSource + 1]string
	for i := range u.system {
		p := &u.system[i]
		value := cut(len(p.value))
		r.message.System[p.name] = value
		if p.known >= 0 {
			known[p.known] = value
		}
	}
	sqsqueue.Describe(&r.message, known[systemGroup], known[systemDeduplication], known[systemSent], known[systemFirstReceived], known[systemReceives])
}
