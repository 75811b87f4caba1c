package lambdasqs

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// cursor is a place in a JSON text without white space and control characters.
type cursor struct {
	text    []byte
	at      int
	escape  int    // the first backslash that is not before at, unless it is before
	scratch []byte // strings that had escapes
}

// plain reports whether a text is valid UTF-8 and has no control characters.
func plain(text []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	control, beyond := uint64(0), uint64(0)
	rest := text
	for ; len(rest) >= 8; rest = rest[8:] {
		w := binary.LittleEndian.Uint64(rest)
		// The high bits that the first sets may include some that a borrow has
		// set, but none if there is no control character.
		control |= (w - ' '*ones) &^ w
		beyond |= w
	}
	for _, b := range rest {
		control |= (uint64(b) - ' ') &^ uint64(b)
		beyond |= uint64(b)
	}
	return control&highs == 0 && (beyond&highs == 0 || utf8.Valid(text))
}

// skip goes past what if that is next.
func (c *cursor) skip(what string) bool {
	if end := c.at + len(what); end <= len(c.text) && string(c.text[c.at:end]) == what {
		c.at = end
		return true
	}
	return false
}

// member goes past one of the names, each quoted and with its colon, and says
// which it was; -1 if it is none. Those from next on are tried first.
func (c *cursor) member(names []string, next int) int {
	for i := next; i < len(names); i++ {
		if c.skip(names[i]) {
			return i
		}
	}
	for i := range next {
		if c.skip(names[i]) {
			return i
		}
	}
	return -1
}

// string reads a string into dst, which then refers to the text, or to scratch.
func (c *cursor) string(dst *[]byte) bool {
	if !c.skip(`"`) {
		return false
	}
	n := bytes.IndexByte(c.text[c.at:], '"')
	if n < 0 {
		return false
	}
	if c.escape < c.at {
		c.findEscape()
	}
	if c.at+n > c.escape {
		return c.unescape(dst)
	}
	*dst = c.text[c.at : c.at+n]
	c.at += n + 1
	return true
}

func (c *cursor) findEscape() {
	c.escape = len(c.text)
	if n := bytes.IndexByte(c.text[c.at:], '\\'); n >= 0 {
		c.escape = c.at + n
	}
}

// unescape reads the rest of a string that has escapes, and appends to scratch
// what it means. If scratch grows, what was read before stays where it was.
func (c *cursor) unescape(dst *[]byte) bool {
	s := c.scratch
	for i := c.at; ; {
		end := endOfPlain(c.text, i)
		if end+1 >= len(c.text) {
			return false
		}
		s = append(s, c.text[i:end]...)
		if c.text[end] == '"' {
			*dst = s[len(c.scratch):]
			c.scratch, c.at = s, end+1
			return true
		}
		char := unescaped[c.text[end+1]]
		if char == 0 {
			return c.unquote(dst)
		}
		s = append(s, char)
		i = end + 2
	}
}

// unquote does so for a string that has escapes of more than one character.
func (c *cursor) unquote(dst *[]byte) bool {
	begin, end := c.at-1, endOfPlain(c.text, c.at)
	for end < len(c.text) && c.text[end] != '"' {
		end = endOfPlain(c.text, end+2)
	}
	if end >= len(c.text) {
		return false
	}
	s, err := jsontext.AppendUnquote(c.scratch, c.text[begin:end+1])
	if err != nil {
		return false
	}
	*dst = s[len(c.scratch):]
	c.scratch, c.at = s, end+1
	return true
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

// endOfPlain finds the first quote or backslash at i or after it. It looks at
// eight bytes at a time.
func endOfPlain(s []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		w := binary.LittleEndian.Uint64(s[i:])
		// Each sets the high bit of the bytes that match. One above a match may
		// be set by its carry, so only the lowest can be trusted, and only that
		// is looked at.
		quote, backslash := w^('"'*ones), w^('\\'*ones)
		match := (quote-ones)&^quote | (backslash-ones)&^backslash
		if match &= highs; match != 0 {
			return i + bits.TrailingZeros64(match)/8
		}
	}
	for ; i < len(s); i++ {
		if s[i] == '"' || s[i] == '\\' {
			return i
		}
	}
	return i
}
