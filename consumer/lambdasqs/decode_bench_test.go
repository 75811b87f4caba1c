package lambdasqs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// batch is an event of n records of a standard queue as Lambda sends it.
func batch(n int, body string) []byte {
	quoted, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	b.WriteString(`{"Records":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"messageId":"0d7c4f0e-5a3f-4b52-9d0b-%012d",`+
			`"receiptHandle":"AQEB%0160d==",`+
			`"body":%s,`+
			`"attributes":{"ApproximateReceiveCount":"1","SentTimestamp":"1764525600123",`+
			`"SenderId":"AROAEXAMPLEEXAMPLE000:orders","ApproximateFirstReceiveTimestamp":"1764525600130"},`+
			`"messageAttributes":{},"md5OfBody":"9e107d9d372bb6826bd81d3542a419d6",`+
			`"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-central-1:111122223333:orders",`+
			`"awsRegion":"eu-central-1"}`, i, i, quoted)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// BenchmarkDecode compares decodeEvent with encoding/json on the same bytes.
func BenchmarkDecode(b *testing.B) {
	bodies := map[string]string{
		"plain": `orders/2026/11/30/000000000042`,
		"json":  `{"order":"o-4711","items":[{"sku":"a-1","n":2},{"sku":"b-7","n":1}],"note":"leave at the door"}`,
	}
	for _, n := range []int{10, 10_000} {
		for name, body := range bodies {
			payload := batch(n, body)
			b.Run(fmt.Sprintf("ackwise/%s/%d", name, n), func(b *testing.B) {
				perMessage(b, n, func() error {
					_, err := decodeEvent(payload)
					return err
				})
			})
			b.Run(fmt.Sprintf("encoding-json/%s/%d", name, n), func(b *testing.B) {
				perMessage(b, n, func() error {
					var e events.SQSEvent
					return json.Unmarshal(payload, &e)
				})
			})
		}
	}
}

// perMessage reports time and allocations for each of the n messages of an
// event.
func perMessage(b *testing.B, n int, decode func() error) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		if err := decode(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/msg")
}
