package lambdasqs

import (
	"encoding/base64"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

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
// and a loop without any framework would leave for all the rest. Nearly all of
// the text is strings, and this looks at them eight bytes at a time.
func decodeUsual(text string) (records []record, ok bool) {
	c := cursor{text: text}
	if !utf8.ValidString(text) || !c.skip(`{"Records":[`) {
		return nil, false
	}
	for more := true; more; more = c.skip(",") {
		records = growSlab(records, c.at, len(text))
		if !c.record(&records[len(records)-1]) {
			return nil, false
		}
	}
	return slices.Clip(records), c.skip("]}") && c.at == len(text)
}

// cursor is a place in a text.
type cursor struct {
	text    string
	at      int
	scratch []byte
}

// skip goes past what if that is next.
func (c *cursor) skip(what string) bool {
	if end := c.at + len(what); end <= len(c.text) && c.text[c.at:end] == what {
		c.at = end
		return true
	}
	return false
}

// string reads a string.
func (c *cursor) string(dst *string) bool {
	if !c.skip(`"`) {
		return false
	}
	begin, escaped := c.at, false
	for {
		c.at = endOfPlain(c.text, c.at)
		switch {
		case c.at >= len(c.text) || c.text[c.at] < ' ':
			return false
		case c.text[c.at] == '\\':
			escaped = true
			c.at += 2
			continue
		}
		c.at++ // past the quote
		if !escaped {
			*dst = c.text[begin : c.at-1]
			return true
		}
		var err error
		c.scratch, err = jsontext.AppendUnquote(c.scratch[:0], c.text[begin-1:c.at])
		*dst = string(c.scratch)
		return err == nil
	}
}

// name reads the name of a member and the colon. One with escapes is none that
// is known.
func (c *cursor) name() string {
	var name string
	if !c.string(&name) || !c.skip(":") {
		return ""
	}
	return name
}

func (c *cursor) record(r *record) bool {
	if !c.skip("{") {
		return false
	}
	seen := 0
	for more := true; more; more = c.skip(",") {
		var ignored string
		field, ok := 0, false
		switch c.name() {
		case "messageId":
			field, ok = 1<<0, c.string(&r.message.ID)
		case "receiptHandle":
			field, ok = 1<<1, c.string(&r.delivery.Receipt)
		case "body":
			field, ok = 1<<2, c.string(&r.message.Body)
		case "attributes":
			field, ok = 1<<3, c.system(&r.message)
		case "messageAttributes":
			field, ok = 1<<4, c.attributes(&r.message)
		case "md5OfBody":
			field, ok = 1<<5, c.string(&ignored)
		case "md5OfMessageAttributes":
			field, ok = 1<<6, c.string(&ignored)
		case "eventSource":
			field, ok = 1<<7, c.string(&r.eventSource)
		case "eventSourceARN":
			field, ok = 1<<8, c.string(&r.message.QueueARN)
		case "awsRegion":
			field, ok = 1<<9, c.string(&ignored)
		}
		if !ok || seen&field != 0 {
			return false
		}
		seen |= field
	}
	return c.skip("}")
}

func (c *cursor) system(m *consumer.Message) bool {
	if !c.skip("{") {
		return false
	}
	m.System = make(map[string]string)
	for more := true; more; more = c.skip(",") {
		var value string
		name := c.name()
		if name == "" || !c.string(&value) {
			return false
		}
		m.System[name] = value
	}
	return c.skip("}")
}

func (c *cursor) attributes(m *consumer.Message) bool {
	if c.skip("{}") {
		return true
	}
	if !c.skip("{") {
		return false
	}
	m.Attributes = make(map[string]consumer.Attribute)
	for more := true; more; more = c.skip(",") {
		name := c.name()
		_, twice := m.Attributes[name]
		a, ok := c.attribute()
		if name == "" || twice || !ok {
			return false
		}
		m.Attributes[name] = a
	}
	return c.skip("}")
}

func (c *cursor) attribute() (a consumer.Attribute, ok bool) {
	if !c.skip("{") {
		return a, false
	}
	seen := 0
	for more := true; more; more = c.skip(",") {
		field, ok := 0, false
		switch c.name() {
		case "dataType":
			field, ok = 1<<0, c.string(&a.DataType)
		case "stringValue":
			field, ok = 1<<1, c.string(&a.StringValue)
		case "binaryValue":
			var text string
			field, ok = 1<<2, c.string(&text)
			b, err := base64.StdEncoding.DecodeString(text)
			a.BinaryValue, ok = b, ok && err == nil
		case "stringListValues":
			field, ok = 1<<3, c.skip("[]")
		case "binaryListValues":
			field, ok = 1<<4, c.skip("[]")
		}
		if !ok || seen&field != 0 {
			return a, false
		}
		seen |= field
	}
	return a, c.skip("}")
}

// endOfPlain finds the first byte at i or after it that means something in a
// JSON string: a quote, a backslash, a control character.
func endOfPlain(s string, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		// Each sets the high bit of the bytes that match. One above a match may
		// be set by its carry, so only the lowest can be trusted, and only that
		// is looked at.
		quote, backslash := w^('"'*ones), w^('\\'*ones)
		match := (quote-ones)&^quote | (backslash-ones)&^backslash | (w-' '*ones)&^w
		if match &= highs; match != 0 {
			return i + bits.TrailingZeros64(match)/8
		}
	}
	for ; i < len(s); i++ {
		if s[i] == '"' || s[i] == '\\' || s[i] < ' ' {
			return i
		}
	}
	return i
}
