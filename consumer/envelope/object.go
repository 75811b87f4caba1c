package envelope

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Why a text is no object.
var (
	errNotJSON   = errors.New("text that is not JSON")
	errNotObject = errors.New("JSON that is not an object")
	errTwice     = errors.New("a JSON object that has a member twice")
)

// object is a JSON object, its values as they were written.
type object map[string]json.RawMessage

// parse reads an object. A map decoded by encoding/json would do but for members
// that are there twice, of which it keeps the last without a word: here the first is
// kept, for who wants to know what the body resembles, with errTwice.
func parse(raw []byte) (object, error) {
	if !json.Valid(raw) {
		return nil, errNotJSON
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, errNotObject
	}
	o := object{}
	var twice error
	for d.More() {
		token, err := d.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err != nil || !isName || d.Decode(&value) != nil {
			return nil, errNotJSON // cannot be: it is valid
		}
		if _, there := o[name]; there {
			twice = errTwice
			continue
		}
		o[name] = value
	}
	return o, twice
}

// object is a member that is an object; it is empty if there is none.
func (o object) object(name string) (object, error) {
	if !o.begins(name, '{') {
		return nil, nil //nolint:nilnil // a nil map reads as an empty one
	}
	return parse(o[name])
}

// str is a member that is a string. One that is no text, for half a surrogate or
// bytes that are no UTF-8, is none: encoding/json would put something else there.
func (o object) str(name string) (s string, ok bool) {
	if !o.begins(name, '"') {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, o[name])
	return string(text), err == nil
}

// text is a member that is a string, or "".
func (o object) text(name string) string {
	s, _ := o.str(name)
	return s
}

// instant is a member that is a time as AWS writes it, or the zero time.
func (o object) instant(name string) time.Time {
	t, err := time.Parse(time.RFC3339, o.text(name))
	if err != nil {
		return time.Time{}
	}
	return t
}

// list is a member that is an array, or nil.
func list[T any](o object, name string) []T {
	var l []T
	if json.Unmarshal(o[name], &l) != nil {
		return nil
	}
	return l
}

// has reports whether there is such a member, and it is not null.
func (o object) has(name string) bool { return len(o[name]) > 0 && !o.begins(name, 'n') }

func (o object) begins(name string, with byte) bool {
	return len(o[name]) > 0 && o[name][0] == with
}
