package sqsqueue

import (
	"strconv"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// Derive fills in what a message's system attributes say. A value that is
// missing or makes no sense counts as one that SQS did not give: a message is
// not refused for its metadata.
func Derive(m *consumer.Message) {
	if len(m.System) == 0 {
		m.System = nil
	}
	m.GroupID = m.System["MessageGroupId"]
	m.DeduplicationID = m.System["MessageDeduplicationId"]
	m.SentAt = milliseconds(m.System["SentTimestamp"])
	m.FirstReceivedAt = milliseconds(m.System["ApproximateFirstReceiveTimestamp"])
	m.ReceiveCount = 1
	if n, err := strconv.Atoi(m.System["ApproximateReceiveCount"]); err == nil && n > 1 {
		m.ReceiveCount = n
	}
}

// milliseconds reads a time in milliseconds since 1970, and gives the zero time
// for everything that is none.
func milliseconds(s string) time.Time {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil || ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
