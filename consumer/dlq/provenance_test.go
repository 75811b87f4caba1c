package dlq_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

func newClient(t *testing.T) *sqs.Client {
	t.Helper()
	s := sqstest.NewServer(sqstest.Config{})
	t.Cleanup(s.Close)
	return s.Client()
}

// parked is a message that was received from a dead-letter queue with this
// provenance.
func parked(value string) *consumer.Message {
	m := message()
	m.ID = "m-2"
	m.Attributes = map[string]consumer.Attribute{dlq.AttributeName: {DataType: "String", StringValue: value}}
	return m
}

func TestPark_AgainKeepsTheOriginalID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSink(t, "sink.fifo", sqstest.QueueConfig{})
		first := s.park(message(), errors.New("declined"))
		value := *first.Attributes[dlq.AttributeName].StringValue
		s = newSink(t, "sink.fifo", sqstest.QueueConfig{})
		copied := s.park(parked(value), errors.New("declined once more"))
		p := provenance(t, copied)
		if p.MessageID != "m-1" || p.Error != "declined once more" || len(copied.Attributes) != 1 {
			t.Errorf("provenance: %+v of %d attributes", p, len(copied.Attributes))
		}
		if copied.DeduplicationID != "m-1-3592080000000" {
			t.Errorf("deduplication id %q", copied.DeduplicationID)
		}
	})
}

// Ten attributes with the provenance among them have room for the new one.
func TestPark_AgainWithTenAttributes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := parked(`{"queue":"q","id":"m-1","attempts":1,"at":"2026-11-30T12:00:00Z"}`)
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
			m.Attributes[name] = consumer.Attribute{DataType: "String", StringValue: "v"}
		}
		copied := newSink(t, "sink", sqstest.QueueConfig{}).park(m, errors.New("declined"))
		if p := provenance(t, copied); p.Error != "declined" || len(copied.Attributes) != 10 {
			t.Errorf("provenance: %+v of %d attributes", p, len(copied.Attributes))
		}
	})
}

// Without room for a new provenance the earlier one stays: it knows the original
// id.
func TestPark_AgainWithoutRoomKeepsTheEarlierProvenance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := parked(`{"queue":"q","id":"m-1","attempts":1,"at":"2026-11-30T12:00:00Z"}`)
		m.Body = strings.Repeat("x", 1<<20-200)
		p := provenance(t, newSink(t, "sink", sqstest.QueueConfig{}).park(m, errors.New(strings.Repeat("declined ", 30))))
		if p.MessageID != "m-1" || p.Error != "" {
			t.Errorf("provenance: %+v", p)
		}
	})
}

// Anyone can send an attribute of that name. What is no provenance of ours must
// not keep the message from being parked.
func TestPark_ForeignProvenance(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"x", "{}", "null", `{"id":7}`, `{"id":""}`, `{"id":"with blanks"}`, `{"id":"ünïcode"}`, `{"id":"` + strings.Repeat("a", 101) + `"}`,
		`{"id":"` + strings.Repeat("a", 5000) + `"}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			m := parked(value)
			if p, ok := dlq.Parse(m); ok {
				t.Errorf("%.40s counts as %+v", value, p)
			}
			copied := newSink(t, "sink.fifo", sqstest.QueueConfig{}).park(m, errors.New("declined"))
			if p := provenance(t, copied); p.MessageID != "m-2" || copied.DeduplicationID != "m-2-3592080000000" {
				t.Errorf("%.40s: provenance: %+v", value, p)
			}
		})
	}
}

func TestParse_None(t *testing.T) {
	t.Parallel()
	if p, ok := dlq.Parse(message()); ok {
		t.Errorf("provenance: %+v", p)
	}
}
