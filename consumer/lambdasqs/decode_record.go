package lambdasqs

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ackwise/ackwise/consumer"
)

// invalid remembers the first thing that is wrong with a record.
func (r *record) invalid(field, problem string) {
	if r.delivery.Invalid == nil {
		r.delivery.Invalid = fmt.Errorf("undecodable record: %s %s", field, problem)
	}
}

// mistyped remembers a value that has the wrong type.
func (r *record) mistyped(field, want string, value jsontext.Value) {
	r.invalid(field, "is "+describeKind(value.Kind())+", not "+want)
}

// record reads one element of Records. Null leaves it as it is: that is how
// encoding/json reads null into anything but a map, a slice or a pointer.
func (d *decoder) record(r *record) error {
	if d.in.PeekKind() == jsontext.KindBeginObject {
		return d.object(func(name string) error { return d.recordField(r, name) })
	}
	value, err := d.in.ReadValue()
	if err == nil && value.Kind() != jsontext.KindNull {
		r.mistyped("it", "an object", value)
	}
	return err
}

func (d *decoder) recordField(r *record, name string) error {
	switch name {
	case "messageId":
		return d.stringField(r, name, &r.message.ID)
	case "receiptHandle":
		return d.stringField(r, name, &r.delivery.Receipt)
	case "body":
		return d.stringField(r, name, &r.message.Body)
	case "eventSource":
		return d.stringField(r, name, &r.mark)
	case "eventSourceARN":
		return d.stringField(r, name, &r.message.QueueARN)
	case "attributes":
		return d.systemAttributes(r)
	case "messageAttributes":
		return d.messageAttributes(r)
	case "md5OfBody", "md5OfMessageAttributes", "awsRegion":
		return d.stringField(r, name, nil)
	default:
		return d.in.SkipValue()
	}
}

// stringField reads a string into dst, or for its type alone if dst is nil.
func (d *decoder) stringField(r *record, field string, dst *string) error {
	value, err := d.in.ReadValue()
	if err != nil {
		return err
	}
	switch value.Kind() {
	case jsontext.KindNull:
	case jsontext.KindString:
		if dst != nil {
			*dst = d.unquote(value)
		}
	default:
		r.mistyped(field, "a string", value)
	}
	return nil
}

// systemAttributes adds to what an earlier field of the same name said. A value
// of the wrong type is kept as "", which is what encoding/json does with it.
func (d *decoder) systemAttributes(r *record) error {
	if d.in.PeekKind() != jsontext.KindBeginObject {
		return d.noObject(r, "attributes", func() { r.message.System = nil })
	}
	return d.object(func(name string) error {
		value, err := d.in.ReadValue()
		if err != nil {
			return err
		}
		text := ""
		switch value.Kind() {
		case jsontext.KindNull:
		case jsontext.KindString:
			text = d.unquote(value)
		default:
			r.mistyped(fmt.Sprintf("attributes: %.64q", name), "a string", value)
		}
		if r.message.System == nil {
			r.message.System = make(map[string]string)
		}
		r.message.System[name] = text
		return nil
	})
}

// messageAttributes adds to what an earlier field of the same name said, name by
// name: two attributes of one name do not merge.
func (d *decoder) messageAttributes(r *record) error {
	if d.in.PeekKind() != jsontext.KindBeginObject {
		return d.noObject(r, "messageAttributes", func() { r.message.Attributes = nil })
	}
	return d.object(func(name string) error {
		a := attributeDecoder{decoder: d, record: r, name: name}
		if err := a.read(); err != nil {
			return err
		}
		if r.message.Attributes == nil {
			r.message.Attributes = make(map[string]consumer.Attribute)
		}
		r.message.Attributes[name] = a.value
		return nil
	})
}

// noObject reads a value where an object should be. Null clears the field.
func (d *decoder) noObject(r *record, field string, unset func()) error {
	value, err := d.in.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() == jsontext.KindNull {
		unset()
	} else {
		r.mistyped(field, "an object", value)
	}
	return nil
}

// attributeDecoder reads one message attribute of a record.
type attributeDecoder struct {
	*decoder
	record *record
	name   string
	value  consumer.Attribute
}

func (a *attributeDecoder) read() error {
	if a.in.PeekKind() != jsontext.KindBeginObject {
		return a.noObject(a.record, a.label(""), func() {})
	}
	return a.object(a.field)
}

// label names a field of the attribute for an error.
func (a *attributeDecoder) label(field string) string {
	return fmt.Sprintf("messageAttributes: %.64q%s", a.name, field)
}

func (a *attributeDecoder) field(name string) error {
	switch name {
	case "dataType", "stringValue", "binaryValue", "stringListValues", "binaryListValues":
	default:
		return a.in.SkipValue()
	}
	value, err := a.in.ReadValue()
	if err != nil {
		return err
	}
	switch name {
	case "dataType":
		a.stringInto(&a.value.DataType, name, value)
	case "stringValue":
		if value.Kind() == jsontext.KindNull {
			a.value.StringValue = "" // a pointer to encoding/json, which null unsets
		}
		a.stringInto(&a.value.StringValue, name, value)
	case "binaryValue":
		a.binaryInto(&a.value.BinaryValue, name, value)
	case "stringListValues":
		a.list(new([]string), name, value)
	case "binaryListValues":
		a.list(new([][]byte), name, value)
	}
	return nil
}

func (a *attributeDecoder) stringInto(dst *string, field string, value jsontext.Value) {
	switch value.Kind() {
	case jsontext.KindNull:
	case jsontext.KindString:
		*dst = a.unquote(value)
	default:
		a.record.mistyped(a.label("."+field), "a string", value)
	}
}

func (a *attributeDecoder) binaryInto(dst *[]byte, field string, value jsontext.Value) {
	if value.Kind() != jsontext.KindString {
		a.standard(dst, field, value)
		return
	}
	b, err := base64.StdEncoding.DecodeString(a.unquote(value))
	if err != nil {
		a.record.invalid(a.label("."+field), "is not base64")
		return
	}
	*dst = b
}

// list reads a list for the types in it alone: SQS reserves both lists and has
// never filled one.
func (a *attributeDecoder) list(dst any, field string, value jsontext.Value) {
	if string(value) != "[]" {
		a.standard(dst, field, value)
	}
}

// standard leaves to encoding/json what Lambda does not send and encoding/json
// has rules of its own for: bytes, for one, may be an array of numbers.
func (a *attributeDecoder) standard(dst any, field string, value jsontext.Value) {
	if json.Unmarshal(value, dst) != nil {
		a.record.invalid(a.label("."+field), "holds a value of the wrong type")
	}
}
