package lambdasqs

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// cursor is a place in a JSON text without white space.
type cursor struct {
	text    []byte
	at      int
	scratch []byte // strings that had escapes
}

// skip goes past what if that is next.
func (c *cursor) skip(what string) bool {
	if end := c.at + len(what); end <= len(c.text) && string(c.text[c.at:end]) == what {
		c.at = end
		return true
	}
	return false
}

// string reads a string into dst, which then refers to the text, or to scratch.
func (c *cursor) string(dst *[]byte) bool {
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
		return c.unquote(dst, c.text[begin-1:c.at])
	}
}

// unquote appends to scratch what a quoted string with escapes means. If scratch
// grows, what was read before stays where it was.
func (c *cursor) unquote(dst *[]byte, quoted []byte) bool {
	from := len(c.scratch)
	c.scratch = slices.Grow(c.scratch, len(quoted))
	s, ok := appendPlainUnquoted(c.scratch, quoted[1:len(quoted)-1])
	if !ok {
		var err error
		if s, err = jsontext.AppendUnquote(c.scratch, quoted); err != nil {
			return false
		}
	}
	c.scratch, *dst = s, s[from:]
	return true
}

// appendPlainUnquoted does so for the escapes of a single character, which are
// all that a body of JSON needs. It returns false at any other.
func appendPlainUnquoted(dst, s []byte) ([]byte, bool) {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(dst, s...), true
		}
		c := unescaped[s[i+1]] // a string does not end in a backslash
		if c == 0 {
			return dst, false
		}
		dst = append(append(dst, s[:i]...), c)
		s = s[i+2:]
	}
}

// unescaped is what an escape of a single character stands for, 0 if for nothing.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// name reads the name of a member and the colon.
func (c *cursor) name() []byte {
	var name []byte
	if !c.string(&name) || !c.skip(":") {
		return nil
	}
	return name
}

// endOfPlain finds the first byte at i or after it that means something in a
// JSON string: a quote, a backslash, a control character. Nearly all of an event
// is strings, so it looks at eight bytes at a time.
func endOfPlain(s []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		w := binary.LittleEndian.Uint64(s[i:])
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
