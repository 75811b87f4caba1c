package sqstest

import (
	"crypto/md5" //nolint:gosec // SQS defines its checksums so
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func md5Hex(text string) string {
	sum := md5.Sum([]byte(text)) //nolint:gosec // SQS defines its checksums so
	return hex.EncodeToString(sum[:])
}

// attributesMD5 is the checksum of message attributes that SQS returns: over
// the sorted names, each with length-prefixed name, type and value. It is empty
// without attributes.
func attributesMD5(attrs map[string]types.MessageAttributeValue) string {
	if len(attrs) == 0 {
		return ""
	}
	h := md5.New() //nolint:gosec // SQS defines its checksums so
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		v := attrs[name]
		hashPart(h, name)
		hashPart(h, deref(v.DataType))
		if strings.HasPrefix(deref(v.DataType), "Binary") {
			_, _ = h.Write([]byte{2})
			hashPart(h, string(v.BinaryValue))
		} else {
			_, _ = h.Write([]byte{1})
			hashPart(h, deref(v.StringValue))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func hashPart(h hash.Hash, part string) {
	var length [4]byte
	binary.BigEndian.PutUint32(length[:], uint32(len(part))) //nolint:gosec // a part is at most 1 MiB
	_, _ = h.Write(length[:])
	_, _ = io.WriteString(h, part)
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
