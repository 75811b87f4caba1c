package dlq

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ackwise/ackwise/consumer"
)

// AttributeName is the attribute of a parked copy that holds its [Provenance],
// as JSON of at most 512 bytes.
const AttributeName = consumer.ParkedAttribute

// maxProvenance bounds the attribute's value.
const maxProvenance = 512

// Provenance says where a parked copy comes from.
type Provenance struct {
	// Queue is the ARN of the queue that the message was parked from.
	Queue string `json:"queue"`
	// MessageID is the id of the original message. It stays the same if a
	// parked copy is parked once more.
	MessageID string `json:"id"`
	// Error is why the message was rejected, cut to what fits.
	Error string `json:"error,omitempty"`
	// Attempts is the number of the attempt that was rejected: the receive
	// count, without an idempotency store.
	Attempts int `json:"attempts"`
	// ParkedAt is when the message was parked.
	ParkedAt time.Time `json:"at"`
}

// Parse finds the provenance of a message that was received from a dead-letter
// queue; ok is false if it has none. Any sender can attach such an attribute:
// what it says is no proof.
func Parse(m *consumer.Message) (p Provenance, ok bool) {
	a, ok := m.Attributes[AttributeName]
	if !ok || json.Unmarshal([]byte(a.StringValue), &p) != nil || p.MessageID == "" || p.MessageID != m.OriginalID() {
		return Provenance{}, false
	}
	return p, true
}

func provenance(from consumer.Queue, o consumer.Outcome) Provenance {
	n, _ := o.Delivery.Attempt()
	p := Provenance{Queue: from.ARN, MessageID: o.Delivery.OriginalID(), Attempts: n, ParkedAt: time.Now().UTC().Truncate(time.Millisecond)}
	if o.Err != nil {
		p.Error = sendable(o.Err.Error())
	}
	return p
}

// encode writes the provenance in at most 512 bytes, with as much of the error
// as fits: all else is of bounded length.
func (p Provenance) encode() string {
	for {
		b, _ := json.Marshal(p) // strings, a number and a time cannot fail
		over := len(b) - maxProvenance
		if over <= 0 || p.Error == "" {
			return string(b)
		}
		// Escapes make a character longer than what it takes here, so this may
		// need another round, and cuts no more than needed.
		cut := max(len(p.Error)-max(over/6, 1), 0)
		for cut > 0 && !utf8.RuneStart(p.Error[cut]) {
			cut--
		}
		p.Error = p.Error[:cut]
	}
}

// sendable drops what SQS does not take in an attribute, the non-characters
// U+FFFE and U+FFFF; JSON escapes the control characters.
func sendable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, s)
}
