package lambdasqs

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
)

// record is one record of an event. The records of an event share one slab,
// and delivery.Message points to message in the same record: a slice of
// records is neither appended to nor copied from.
type record struct {
	delivery consumer.Delivery
	message  consumer.Message
	// mark is the event source, and the message id once that has been looked at:
	// the handler is given the message, and might change it there.
	mark string
}

// maxBatch is the largest batch size that an event source mapping accepts.
const maxBatch = 10_000

// decodeEvent decodes an SQS event. It answers what encoding/json and
// [recordsOf] would, with two exceptions: the names of fields match in the case
// in which Lambda sends them only, and a field that does not have the type it
// should have costs its record (Delivery.Invalid says why, and whatever else
// the record says is read all the same), not the event.
//
// An event without Records gives nil; one whose Records are empty or null gives
// an empty slice that is not nil. The result does not refer to the payload.
func decodeEvent(payload []byte) ([]record, error) {
	records, ok := decodeUsual(payload)
	if !ok {
		// The strings of all messages share this copy, which lives as long as
		// any of them.
		d := decoder{in: newTextDecoder(payload), text: string(payload), utf8: utf8.Valid(payload)}
		if err := d.event(); err != nil {
			return nil, describe(err, len(payload))
		}
		records = d.records
		for i := range records {
			sqsqueue.Derive(&records[i].message)
		}
	}
	for i := range records { // not before: the slab has moved when it grew
		records[i].delivery.Message = &records[i].message
	}
	return records, nil
}

// newTextDecoder accepts what encoding/json accepts. It reads the payload in
// place.
func newTextDecoder(payload []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(payload),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// decoder reads one event. It reads the caller's bytes and cuts strings from
// text, a copy of them.
type decoder struct {
	in      *jsontext.Decoder
	text    string
	utf8    bool // the whole text is valid UTF-8
	scratch []byte

	// slab holds every record seen so far, records the ones that count: where
	// Records occurs twice, encoding/json decodes the second array into the
	// elements of the first, stale ones past its end included.
	slab    []record
	records []record
}

// event reads the whole input.
func (d *decoder) event() error {
	switch kind := d.in.PeekKind(); kind {
	case jsontext.KindBeginObject:
		if err := d.object(d.eventField); err != nil {
			return err
		}
	case jsontext.KindNull, jsontext.KindInvalid:
		if err := d.in.SkipValue(); err != nil {
			return err
		}
	default:
		return &shapeError{what: "event", want: "an object", got: describeKind(kind)}
	}
	end := d.in.InputOffset()
	if _, err := d.in.ReadToken(); !errors.Is(err, io.EOF) {
		return &trailingError{after: end}
	}
	return nil
}

func (d *decoder) eventField(name string) error {
	if name != "Records" {
		return d.in.SkipValue()
	}
	switch kind := d.in.PeekKind(); kind {
	case jsontext.KindBeginArray:
		return d.recordList()
	case jsontext.KindNull:
		d.slab, d.records = nil, []record{}
		return d.in.SkipValue()
	case jsontext.KindInvalid:
		return d.in.SkipValue()
	default:
		return &shapeError{what: "Records", want: "an array", got: describeKind(kind)}
	}
}

func (d *decoder) recordList() error {
	if _, err := d.in.ReadToken(); err != nil {
		return err
	}
	n := 0
	for ; d.in.PeekKind() != jsontext.KindEndArray; n++ {
		if n == len(d.slab) {
			d.slab = growSlab(d.slab, int(d.in.InputOffset()), len(d.text))
		}
		if err := d.record(&d.slab[n]); err != nil {
			return err
		}
	}
	if n == 0 {
		d.slab = []record{}
	}
	d.records = d.slab[:n:n]
	_, err := d.in.ReadToken()
	return err
}

// growSlab adds a record to the slab, with a text of the given length read as
// far as at. Ten records fit at first, which is what a mapping delivers unless it
// is told otherwise; after that the ones seen so far tell how many the text has
// room for.
func growSlab(slab []record, at, length int) []record {
	n := len(slab)
	if n == cap(slab) {
		room := 10
		if n > 0 && at > 0 {
			room = n * length / at
			room = min(room+room/16, maxBatch)
		}
		slab = append(make([]record, 0, max(room, n+n/4+1)), slab...)
	}
	return slab[:n+1]
}

// object calls field for each member of the object that comes next; field reads
// the value.
func (d *decoder) object(field func(name string) error) error {
	if _, err := d.in.ReadToken(); err != nil {
		return err
	}
	for d.in.PeekKind() != jsontext.KindEndObject {
		raw, err := d.in.ReadValue()
		if err != nil {
			return err
		}
		if err := field(d.unquote(raw)); err != nil {
			return err
		}
	}
	_, err := d.in.ReadToken()
	return err
}

// unquote turns the string that was just read into Go's. What is not UTF-8, and
// escapes of half a surrogate pair, become U+FFFD, as in encoding/json. Without
// escapes, which is the rule for everything but bodies, it costs no allocation.
func (d *decoder) unquote(raw jsontext.Value) string {
	if bytes.IndexByte(raw, '\\') < 0 && (d.utf8 || utf8.Valid(raw)) {
		end := int(d.in.InputOffset())
		return d.text[end-len(raw)+1 : end-1]
	}
	// The error says only that something was replaced: raw is a valid string.
	d.scratch, _ = jsontext.AppendUnquote(d.scratch[:0], raw)
	return string(d.scratch)
}
