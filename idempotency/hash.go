package idempotency

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrNoPayload says that a [Selector] found nothing to compare.
var ErrNoPayload = errors.New("idempotency: the payload selector found nothing")

// Selector picks the part of a payload that must be the same in two deliveries
// of the same work. It returns nil for nothing, which is an error of the claim:
// [ErrNoPayload].
type Selector func(payload string) ([]byte, error)

// Whole selects all of the payload.
func Whole(payload string) ([]byte, error) { return []byte(payload), nil }

// Field selects the value at a path of object members in a JSON payload. A
// member that is null is found, and its value is null. Of members of one name
// the last counts.
func Field(path ...string) Selector {
	return func(payload string) ([]byte, error) {
		raw := json.RawMessage(payload)
		for _, name := range path {
			var members map[string]json.RawMessage
			if json.Unmarshal(raw, &members) != nil || members[name] == nil {
				return nil, fmt.Errorf("%w: no member %q on the path %s", ErrNoPayload, name, strings.Join(path, "."))
			}
			raw = members[name]
		}
		return raw, nil
	}
}

// hash is the canonical hash of what the selector picks. Two JSON values have
// the same hash if they differ only in white space, in the order of members, and
// in how a string or a number is written: 1.0 is 1, 1e2 is 100, and digits count
// however many there are. What is not JSON is hashed byte by byte.
func hash(sel Selector, payload string) (string, error) {
	part, err := selected(sel, payload)
	if err != nil {
		if errors.Is(err, ErrNoPayload) {
			return "", err
		}
		return "", fmt.Errorf("%w: %w", ErrNoPayload, err)
	}
	if len(part) == 0 {
		return "", ErrNoPayload
	}
	h := sha256.New()
	if v, ok := parse(part); ok {
		h.Write([]byte("json:"))
		canonical(h, v)
	} else {
		h.Write([]byte("bytes:"))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// selected calls the selector. One that panics, or whose error does when somebody
// looks, has found nothing: its claim runs outside of what recovers handlers, and
// would take every other message along.
func selected(sel Selector, payload string) (part []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			part, err = nil, fmt.Errorf("%w: it panicked: %v", ErrNoPayload, p)
		}
	}()
	part, err = sel(payload)
	look(err)
	return part, err
}

// parse decodes b if all of it is one JSON value. Text that is not UTF-8 is not
// JSON; the decoder would take it, with all that is wrong in it replaced alike.
func parse(b []byte) (v any, ok bool) {
	if !utf8.Valid(b) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil, false
	}
	_, err := d.Token()
	return v, errors.Is(err, io.EOF)
}

// canonical writes v so that equal values, and only those, write the same, in
// every version of Go: what strconv.Quote escapes changes with Unicode.
func canonical(w io.Writer, v any) {
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		_, _ = io.WriteString(w, "{")
		for _, name := range names {
			_, _ = io.WriteString(w, strconv.QuoteToASCII(name)+":")
			canonical(w, v[name])
			_, _ = io.WriteString(w, ",")
		}
		_, _ = io.WriteString(w, "}")
	case []any:
		_, _ = io.WriteString(w, "[")
		for _, e := range v {
			canonical(w, e)
			_, _ = io.WriteString(w, ",")
		}
		_, _ = io.WriteString(w, "]")
	case string:
		_, _ = io.WriteString(w, strconv.QuoteToASCII(v))
	case json.Number:
		_, _ = io.WriteString(w, number(string(v)))
	default: // true, false, nil
		_, _ = fmt.Fprint(w, v)
	}
}
