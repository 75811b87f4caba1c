package sqstest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// dedupInterval is how long SQS remembers a deduplication id, also after the
// message is gone.
const dedupInterval = 5 * time.Minute

// dedupKey is a deduplication id, with its group where the queue's
// DeduplicationScope is messageGroup.
type dedupKey struct{ group, id string }

// dedupEntry is what a repeated send is answered with.
type dedupEntry struct {
	key           dedupKey
	messageID     string
	sequence      string
	rememberUntil time.Time
}

// dedupWindow remembers the sends of the last five minutes.
type dedupWindow struct {
	known map[dedupKey]dedupEntry
	aging []dedupEntry // oldest first
}

// find returns the accepted send that this one repeats. Both scopes are looked
// up whatever the queue's scope is now: AWS keeps refusing an id that was
// accepted under the queue's former scope.
func (d *dedupWindow) find(group, id string) (dedupEntry, bool) {
	if e, ok := d.known[dedupKey{group: group, id: id}]; ok {
		return e, true
	}
	e, ok := d.known[dedupKey{id: id}]
	return e, ok
}

// remember keeps an accepted send.
func (d *dedupWindow) remember(key dedupKey, m *message, now time.Time) {
	if d.known == nil {
		d.known = make(map[dedupKey]dedupEntry)
	}
	e := dedupEntry{key: key, messageID: m.id, sequence: m.sequence, rememberUntil: now.Add(dedupInterval)}
	d.known[key] = e
	d.aging = append(d.aging, e)
}

// forget drops what is older than the interval.
func (d *dedupWindow) forget(now time.Time) {
	n := 0
	for n < len(d.aging) && !d.aging[n].rememberUntil.After(now) {
		delete(d.known, d.aging[n].key)
		n++
	}
	if n == len(d.aging) {
		d.aging = nil
	} else {
		d.aging = d.aging[n:]
	}
}

// contentDedupID is the deduplication id of a queue with content-based
// deduplication: a digest of the body, without the attributes.
func contentDedupID(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// sequenceString spells the n-th sequence number of a queue.
func sequenceString(n uint64) string {
	return fmt.Sprintf("188%017d", 51230000000000+n*256)
}
