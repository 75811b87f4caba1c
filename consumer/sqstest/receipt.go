package sqstest

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"time"
)

// receipt is what a receipt handle says. A handle is self-contained, so that
// old ones stay meaningful without being stored: SQS tells a handle of an
// earlier receive from one it never issued.
type receipt struct {
	queue   uint64
	message uint64
	receive int       // the receive that issued it, from 1
	at      time.Time // when that was: the 12 h cap of visibility counts from here
}

const (
	receiptSize  = 34
	receiptMagic = 0x5153
)

// String encodes the receipt as an opaque handle.
func (r receipt) String() string {
	var b [receiptSize]byte
	binary.BigEndian.PutUint16(b[0:], receiptMagic)
	binary.BigEndian.PutUint64(b[2:], r.queue)
	binary.BigEndian.PutUint64(b[10:], r.message)
	binary.BigEndian.PutUint32(b[18:], uint32(r.receive)) //nolint:gosec // a receive count fits by far
	binary.BigEndian.PutUint64(b[22:], uint64(r.at.UnixNano()))
	binary.BigEndian.PutUint32(b[30:], crc32.ChecksumIEEE(b[:30]))
	return base64.StdEncoding.EncodeToString(b[:])
}

// parseReceipt decodes a handle; false means that this server never issued it.
func parseReceipt(handle string) (receipt, bool) {
	b, err := base64.StdEncoding.DecodeString(handle)
	if err != nil || len(b) != receiptSize ||
		binary.BigEndian.Uint16(b) != receiptMagic ||
		binary.BigEndian.Uint32(b[30:]) != crc32.ChecksumIEEE(b[:30]) {
		return receipt{}, false
	}
	return receipt{
		queue:   binary.BigEndian.Uint64(b[2:]),
		message: binary.BigEndian.Uint64(b[10:]),
		receive: int(binary.BigEndian.Uint32(b[18:])),
		at:      time.Unix(0, int64(binary.BigEndian.Uint64(b[22:]))), //nolint:gosec // round trip of UnixNano
	}, true
}
