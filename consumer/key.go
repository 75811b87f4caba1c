package consumer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ackwise/ackwise/retry"
)

// ParkedAttribute is the message attribute by which a parked copy says where it
// comes from; see package dlq. The default key, [MessageID], goes by it: do not
// copy it to messages that ask for other work, which would be taken for
// duplicates, and use a business key where senders are not to be trusted.
const ParkedAttribute = "Ackwise.Parked"

// OriginalID is the id of the message that this one is a parked copy of, or its
// own id.
func (m *Message) OriginalID() string {
	a, parked := m.Attributes[ParkedAttribute]
	if !parked {
		return m.ID
	}
	var p struct {
		ID string `json:"id"`
	}
	if json.Unmarshal([]byte(a.StringValue), &p) != nil || !messageID.MatchString(p.ID) {
		return m.ID
	}
	return p.ID
}

// messageID is what SQS gives as one (UUIDs, of up to 100 characters by its API
// reference). Any sender can attach an attribute of that name, and anything else
// in it would not fit where a message id has to.
var messageID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// Life is an ordinal of the stay that this message is in: it is greater for a
// message that was sent later, and for one that SQS has moved to a dead-letter
// queue since. Attempts are counted per life. 0 if SQS did not say when the
// message was sent.
func (m *Message) Life() int64 {
	if m.SentAt.IsZero() {
		return 0
	}
	life := 2 * m.SentAt.UnixMilli()
	if m.System["DeadLetterQueueSourceArn"] != "" {
		life++
	}
	return life
}

// Key names the work that a message asks for. Two messages with the same key
// are the same work. Keys of different kinds are never the same.
type Key struct {
	// Kind says what sort of value it is, for instance "json.order.id". Default
	// "key". In the store, # and : in it are written as %23 and %3A.
	Kind string
	// Value is the key itself. Empty means that the message has none.
	Value string
}

// KeyFunc finds the key of a message. A key without a value falls back to the
// message id, silently: take [Strict] where every message has to have one. An
// error rejects the message.
//
// Only a business key recognises a message that was sent twice by its producer,
// or redriven by SQS: both have a new message id.
type KeyFunc func(m *Message) (Key, error)

// ErrNoKey says that a message has no key although one is required.
var ErrNoKey = errors.New("the message has no key")

// MessageID is the default key: the id of the original message if this one is a
// parked copy, else its own.
func MessageID(m *Message) (Key, error) { return Key{Kind: "id", Value: m.OriginalID()}, nil }

// JSONField takes the key from the body: a string, a number or a bool at a path
// of object members, a number as it is written (1 and "1" are the same key, 1 and
// 1.0 are not). Anything else there, null and "" included, is no key. Each name is
// one member, so JSONField("order", "id") is order.id; case does not matter, as
// when [JSON] decodes, but a member that is there in two spellings is an error.
func JSONField(path ...string) KeyFunc {
	path = slices.Clone(path)
	escaped := make([]string, len(path))
	for i, name := range path {
		escaped[i] = strings.ReplaceAll(name, ".", "..")
	}
	kind := "json." + strings.Join(escaped, ".")
	return func(m *Message) (Key, error) {
		raw := json.RawMessage(m.Body)
		if len(path) == 0 {
			raw = value(raw)
		}
		for _, name := range path {
			var err error
			if raw, err = member(raw, name); err != nil {
				return Key{}, err
			}
		}
		return Key{Kind: kind, Value: scalar(raw)}, nil
	}
}

// value is a JSON value without the white space around it; nil if it is none.
func value(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) {
		return nil
	}
	return bytes.TrimSpace(raw)
}

// member is the value of a member of a JSON object; nil if there is none. It goes
// by the name in any case, as encoding/json does when a handler decodes the body:
// otherwise the key could be of another order than the one that is booked. Where
// two spellings are there, nobody knows which the handler takes.
func member(object json.RawMessage, name string) (value json.RawMessage, err error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return nil, nil //nolint:nilerr // no object, no member
	}
	found := ""
	for spelling, v := range members {
		if !strings.EqualFold(spelling, name) {
			continue
		}
		if found != "" {
			return nil, fmt.Errorf("the body has the member %q in two spellings", name)
		}
		found, value = spelling, v
	}
	return value, nil
}

// scalar is the value of a JSON string, or a number or bool as it is written.
func scalar(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		var s string
		_ = json.Unmarshal(raw, &s) // was a string by its first byte
		if strings.ContainsRune(s, utf8.RuneError) {
			return string(raw) // half a surrogate pair is as good as any other: keep them apart
		}
		return s
	case '{', '[', 'n':
		return ""
	default:
		return string(raw)
	}
}

// AttributeKey takes the key from a message attribute of type String or Number.
func AttributeKey(name string) KeyFunc {
	return func(m *Message) (Key, error) {
		return Key{Kind: "attribute." + name, Value: m.Attributes[name].StringValue}, nil
	}
}

// DeduplicationID takes the key from a FIFO message's deduplication id, which
// SQS itself remembers for five minutes only.
func DeduplicationID(m *Message) (Key, error) {
	return Key{Kind: "deduplication", Value: m.DeduplicationID}, nil
}

// Strict rejects a message that has no key, instead of falling back to its id.
func Strict(k KeyFunc) KeyFunc {
	return func(m *Message) (Key, error) {
		key, err := k(m)
		if err == nil && key.Value == "" {
			return Key{}, ErrNoKey
		}
		return key, err
	}
}

// keyOf finds the message's key. What the user's function gets wrong is an
// error of this message and nothing else.
func (s *Session) keyOf(w *work) (key Key, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			err = retry.Permanent(fmt.Errorf("Key panicked: %v", v))
			return
		}
		// For the goroutine that goes on after this one.
		w.run.pending = &result{retry.Permanent(errors.New("Key called runtime.Goexit"))}
	}()
	m := w.d.Message
	key, err = s.c.cfg.Key(m)
	err = sound(err)
	if returned = true; err != nil {
		return Key{}, retry.Permanent(fmt.Errorf("key: %w", err))
	}
	if key.Value == "" {
		return MessageID(m)
	}
	if key.Kind == "" {
		key.Kind = "key"
	}
	key.Kind = kindEscaper.Replace(key.Kind)
	return key, nil
}

// kindEscaper keeps a kind, in which a member of a body or an attribute may be
// named, from running into what stands beside it in a store's key.
var kindEscaper = strings.NewReplacer("%", "%25", "#", "%23", ":", "%3A")
