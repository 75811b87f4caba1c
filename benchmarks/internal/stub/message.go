package stub

import (
	"bytes"
	"crypto/md5" //nolint:gosec // SQS's checksum of a body is an MD5
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// SlowOneIn is how often a body asks for slow work: one in so many.
const SlowOneIn = 10

// bodyBytes is the length of every body, about that of an order in JSON.
const bodyBytes = 256

// bodies is how many different bodies there are; they are used in turn. Ids and
// receipt handles never repeat: a consumer may take two messages of one id for
// the same message.
const bodies = 1000

// Body is the body of message i. One in SlowOneIn asks for slow work, at places
// that look random and are the same in every run: in runs of ten messages some
// have none and some have two, as on a real queue.
func Body(i int) string {
	i %= bodies
	// A multiplication that visits each of the thousand places once.
	slow := i*619%bodies < bodies/SlowOneIn
	head := fmt.Sprintf(`{"slow":%t,"order":"O-%06d","note":"`, slow, i)
	return head + strings.Repeat("x", bodyBytes-len(head)-2) + `"}`
}

// Slow reports whether a body asks for slow work.
func Slow(body string) bool { return strings.HasPrefix(body, `{"slow":true`) }

// part is what the wire form of a message takes from its body.
type part struct {
	body string // as a JSON string, quotes included
	md5  string
}

var parts = makeParts()

func makeParts() []part {
	ps := make([]part, bodies)
	for i := range ps {
		body := Body(i)
		sum := md5.Sum([]byte(body)) //nolint:gosec // as above
		quoted, err := json.Marshal(body)
		if err != nil {
			panic(err) // a string is always JSON
		}
		ps[i] = part{body: string(quoted), md5: hex.EncodeToString(sum[:])}
	}
	return ps
}

// attributes are the system attributes of every message, sent to those who ask.
const attributes = `,"Attributes":{"SenderId":"AIDAEXAMPLE0000000000",` +
	`"SentTimestamp":"1767225600000","ApproximateReceiveCount":"1",` +
	`"ApproximateFirstReceiveTimestamp":"1767225600100"}`

// handleTail makes a receipt handle about as long as AWS's shortest.
var handleTail = strings.Repeat("h", 180)

// appendMessage appends message i of a load as ReceiveMessage answers it.
func appendMessage(b []byte, load, i int, withAttributes bool) []byte {
	p := &parts[i%bodies]
	b = appendHex(append(b, `{"MessageId":"`...), load, 8)
	b = appendHex(append(b, "-0000-4000-8000-"...), i, 12)
	b = append(b, `","ReceiptHandle":"`...)
	b = appendHandle(b, load, i)
	b = append(b, `","MD5OfBody":"`...)
	b = append(b, p.md5...)
	b = append(b, `","Body":`...)
	b = append(b, p.body...)
	if withAttributes {
		b = append(b, attributes...)
	}
	return append(b, '}')
}

func appendHex(b []byte, n, digits int) []byte {
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b = append(b, "0123456789abcdef"[n>>shift&15])
	}
	return b
}

func appendHandle(b []byte, load, i int) []byte {
	b = strconv.AppendInt(b, int64(load), 10)
	b = append(b, '.')
	b = strconv.AppendInt(b, int64(i), 10)
	b = append(b, '.')
	return append(b, handleTail...)
}

// parseHandle is the inverse of appendHandle.
func parseHandle(h []byte) (load, i int, ok bool) {
	first, rest, _ := bytes.Cut(h, []byte{'.'})
	second, tail, _ := bytes.Cut(rest, []byte{'.'})
	ok = digits(first) && digits(second) && string(tail) == handleTail
	return number(first), number(second), ok
}

func digits(b []byte) bool {
	return len(b) > 0 && len(b) < 10 && len(bytes.Trim(b, "0123456789")) == 0
}
