package sqsqueue

import (
	"strconv"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// Derive does what [Describe] does, with what is in the map of system attributes.
func Derive(m *consumer.Message) {
	if len(m.System) == 0 {
		m.System = nil
	}
	Describe(m, m.System["MessageGroupId"], m.System["MessageDeduplicationId"], m.System["SentTimestamp"],
		m.System["ApproximateFirstReceiveTimestamp"], m.System["ApproximateReceiveCount"])
}

// Describe fills in what the system attributes say. A value that is missing or
// makes no sense counts as one that SQS did not give: a message is not refused
// for its metadata.
func Describe(m *consumer.Message, group, deduplication, sent, firstReceived, receives string) {
	m.GroupID, m.DeduplicationID = group, deduplication
	m.SentAt, m.FirstReceivedAt = milliseconds(sent), milliseconds(firstReceived)
	m.ReceiveCount = 1
	if n, err := strconv.Atoi(receives); err == nil && n > 1 {
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
