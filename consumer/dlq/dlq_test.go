package dlq_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

const sourceARN = "arn:aws:sqs:eu-central-1:111122223333:orders"

// sink is a dead-letter queue on a server of its own.
type sink struct {
	*dlq.Queue

	t      *testing.T
	server *sqstest.Server
	queue  *sqstest.Queue
}

func newSink(t *testing.T, name string, cfg sqstest.QueueConfig) *sink {
	t.Helper()
	s := sqstest.NewServer(sqstest.Config{})
	t.Cleanup(s.Close)
	q, err := s.CreateQueue(name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &sink{Queue: dlq.New(s.Client(), q.URL()), t: t, server: s, queue: q}
}

// park parks a message that failed with err, and returns the only copy there is.
func (s *sink) park(m *consumer.Message, err error) sqstest.MessageState {
	s.t.Helper()
	o := consumer.Outcome{Delivery: &consumer.Delivery{Message: m}, Verdict: consumer.VerdictRejected, Err: err}
	if err := s.Park(s.t.Context(), consumer.Queue{ARN: sourceARN}, o); err != nil {
		s.t.Fatal(err)
	}
	copies := s.queue.Messages()
	if len(copies) != 1 {
		s.t.Fatalf("%d copies", len(copies))
	}
	return copies[0]
}

// provenance reads the provenance of a copy, as a consumer of the sink does.
func provenance(t *testing.T, m sqstest.MessageState) dlq.Provenance {
	t.Helper()
	value := m.Attributes[dlq.AttributeName].StringValue
	if value == nil {
		t.Fatalf("no provenance: %v", m.Attributes)
	}
	if len(*value) > 512 {
		t.Errorf("the provenance has %d bytes", len(*value))
	}
	p, ok := dlq.Parse(&consumer.Message{Attributes: map[string]consumer.Attribute{
		dlq.AttributeName: {DataType: "String", StringValue: *value},
	}})
	if !ok {
		t.Fatalf("no provenance: %s", *value)
	}
	return p
}

func message() *consumer.Message {
	return &consumer.Message{ID: "m-1", Body: "body", QueueARN: sourceARN, ReceiveCount: 3, SentAt: time.UnixMilli(1796040000000)}
}

func TestPark_CopiesEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newSink(t, "sink", sqstest.QueueConfig{}), message()
		m.Body, m.GroupID = "🦀 <&> \u2028\t \r\n ", "tenant-7"
		m.System = map[string]string{"AWSTraceHeader": "Root=1-6a0c2f40-0123456789abcdef01234567"}
		m.Attributes = map[string]consumer.Attribute{
			"tenant": {DataType: "String", StringValue: "acme"},
			"weight": {DataType: "Number.float", StringValue: "12.50"},
			"digest": {DataType: "Binary", BinaryValue: []byte{0, 1, 255}},
			"png":    {DataType: "Binary.png", BinaryValue: []byte("x")},
		}
		copied := s.park(m, errors.New("declined"))
		if copied.Body != m.Body || copied.GroupID != m.GroupID || copied.System["AWSTraceHeader"] != m.System["AWSTraceHeader"] {
			t.Errorf("the copy is %+v", copied)
		}
		p := provenance(t, copied)
		delete(copied.Attributes, dlq.AttributeName)
		wanted := map[string]types.MessageAttributeValue{
			"tenant": {DataType: new("String"), StringValue: new("acme")},
			"weight": {DataType: new("Number.float"), StringValue: new("12.50")},
			"digest": {DataType: new("Binary"), BinaryValue: []byte{0, 1, 255}},
			"png":    {DataType: new("Binary.png"), BinaryValue: []byte("x")},
		}
		if diff := cmp.Diff(wanted, copied.Attributes, cmpopts.IgnoreUnexported(types.MessageAttributeValue{})); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
		want := dlq.Provenance{Queue: sourceARN, MessageID: "m-1", Error: "declined", Attempts: 3, ParkedAt: time.Now().UTC()}
		if diff := cmp.Diff(want, p); diff != "" {
			t.Errorf("provenance (-want +got):\n%s", diff)
		}
	})
}

func TestPark_ProvenanceFitsWhateverTheError(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "long": strings.Repeat("x", 5000), "escapes": strings.Repeat("\"\\\n\x00<", 500),
		"runes": strings.Repeat("é🦀", 500), "broken": strings.Repeat("\xff\xfe", 500), "non-characters": "a\ufffe\uffffb",
		"XML's forbidden ones": "\x01\x08\x0b\x1f",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := message()
				m.ID = strings.Repeat("i", 100)
				m.QueueARN = sourceARN + strings.Repeat("q", 70)
				p := provenance(t, newSink(t, "sink", sqstest.QueueConfig{}).park(m, errors.New(text)))
				if p.MessageID != m.ID || p.Attempts != 3 {
					t.Errorf("provenance: %+v", p)
				}
				if text != "" && p.Error == "" {
					t.Error("nothing of the error is left")
				}
			})
		})
	}
}

// There are ten attributes, or a full mebibyte, already: the message is what
// matters.
func TestPark_ProvenanceIsLeftOutWhereThereIsNoRoom(t *testing.T) {
	t.Parallel()
	full := make(map[string]consumer.Attribute)
	for i := range 10 {
		full[fmt.Sprint("k", i)] = consumer.Attribute{DataType: "String", StringValue: "v"}
	}
	for name, tt := range map[string]struct {
		body       string
		attributes map[string]consumer.Attribute
		limit      int
	}{
		"ten attributes":          {"x", full, 0},
		"a mebibyte":              {strings.Repeat("x", 1<<20), nil, 0},
		"almost a mebibyte":       {strings.Repeat("x", 1<<20-100), nil, 0},
		"a queue that takes less": {strings.Repeat("x", 2000), nil, 2048},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, m := newSink(t, "sink", sqstest.QueueConfig{MaxMessageSize: tt.limit}), message()
				m.Body, m.Attributes = tt.body, tt.attributes
				copied := s.park(m, errors.New("declined"))
				if copied.Body != tt.body || len(copied.Attributes) != len(tt.attributes) {
					t.Errorf("the copy has %d bytes and %d attributes", len(copied.Body), len(copied.Attributes))
				}
			})
		})
	}
}

func TestPark_OnAFIFOQueue(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set          func(m *consumer.Message)
		group, dedup string
	}{
		"of a FIFO queue":     {func(m *consumer.Message) { m.GroupID = "g" }, "g", "m-1-3592080000000"},
		"of a standard queue": {func(*consumer.Message) {}, "m-1", "m-1-3592080000000"},
		"moved by SQS once": {func(m *consumer.Message) { m.System = map[string]string{"DeadLetterQueueSourceArn": sourceARN} },
			"m-1", "m-1-3592080000001"},
		"sent at an unknown time": {func(m *consumer.Message) { m.SentAt = time.Time{} }, "m-1", "m-1-0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, m := newSink(t, "sink.fifo", sqstest.QueueConfig{}), message()
				tt.set(m)
				s.park(m, errors.New("declined"))
				// A crash may park it twice: SQS drops the second copy.
				copied := s.park(m, errors.New("declined again"))
				if copied.GroupID != tt.group || copied.DeduplicationID != tt.dedup {
					t.Errorf("group %q, deduplication id %q", copied.GroupID, copied.DeduplicationID)
				}
			})
		})
	}
}

func TestPark_FailsUnlessItIsConfirmed(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sqstest.Fault{
		"denied": {Times: -1, Err: sqstest.AccessDenied()}, "server": {Times: -1, Err: sqstest.InternalError()},
		"lost": {Times: -1, LoseResponse: true}, "hangs": {Times: -1, Delay: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSink(t, "sink", sqstest.QueueConfig{})
				s.server.Inject(fault)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				begin := time.Now()
				o := consumer.Outcome{Delivery: &consumer.Delivery{Message: message()}}
				if err := s.Park(ctx, consumer.Queue{}, o); err == nil {
					t.Error("no error")
				}
				if took := time.Since(begin); took > 5*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	for name, tt := range map[string]struct {
		q    *dlq.Queue
		text string
	}{
		"nil":    {nil, "client"},
		"client": {dlq.New(nil, "https://sqs/1/q"), "client"},
		"no URL": {dlq.New(client, ""), `""; pass dlq.New the whole URL`},
		"a name": {dlq.New(client, "orders-dlq"), `"orders-dlq"`},
		"an ARN": {dlq.New(client, sourceARN), "scheme and host"},
	} {
		if err := tt.q.Validate(); err == nil || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := consumer.New(consumer.HandlerFunc(func(context.Context, *consumer.Message) error { return nil }),
			consumer.Config{DeadLetter: tt.q}); err == nil || !strings.Contains(err.Error(), "DeadLetter: ") {
			t.Errorf("%s: consumer.New: %v", name, err)
		}
	}
	if err := dlq.New(client, "https://sqs.us-east-1.amazonaws.com/1/q").Validate(); err != nil {
		t.Error(err)
	}
}
