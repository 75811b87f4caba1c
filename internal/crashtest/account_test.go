package crashtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// account accounts for every message that was sent.
func (s *stage) account(p plan) {
	s.t.Helper()
	fates := s.fates()
	for order, f := range fates {
		faults := f.faults()
		for _, fault := range faults {
			s.t.Errorf("order %d: %s", order, fault)
		}
		if faults != nil {
			s.t.Logf("order %d: %+v, record %+v, effects %d, parked %v\n%s", order, f.job, f.record, f.times, f.parked, history(f.lines))
		}
	}
	if s.t.Failed() {
		s.t.Logf("ACKWISE_CRASHTEST_SEED=%d", s.settings.Seed)
	}
	if len(fates) != p.messages {
		s.t.Errorf("%d messages, want %d", len(fates), p.messages)
	}
	s.checkHits(fates)
}

func history(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("    " + l.String())
	}
	return b.String()
}

// checkHits says where the kills have hit, and whether it was where they hurt.
func (s *stage) checkHits(fates map[int]*fate) {
	s.t.Helper()
	hits := map[string]int{}
	for _, f := range fates {
		for i, l := range f.lines {
			if l.event == consumer.VerdictDuplicate.String() || l.event == consumer.VerdictDeferred.String() || l.event == eventUnrecorded {
				hits[l.event]++
			}
			if l.event == eventStart && f.cut(i) {
				hits["cut in the handler"]++
			}
		}
		if f.record.status == "completed" {
			hits["done"]++
		}
		if len(f.parked) > 0 {
			hits["parked"]++
			hits["second copies"] += len(f.parked) - 1
		}
	}
	s.t.Logf("%v", hits)
	for _, needed := range []string{"cut in the handler", "duplicate", "deferred"} {
		if hits[needed] == 0 {
			s.t.Errorf("no kill has led to: %s", needed)
		}
	}
}

// cut reports whether the handler that was entered at line i never returned.
func (f *fate) cut(i int) bool {
	return !slices.ContainsFunc(f.lines[i:], func(l line) bool {
		return l.run == f.lines[i].run && (l.event == eventFinish || l.event == eventFail)
	})
}

// fates reads the queues, the tables and the journal.
func (s *stage) fates() map[int]*fate {
	s.t.Helper()
	fates := make(map[int]*fate)
	for order, j := range s.sent {
		fates[order] = &fate{job: j}
	}
	of := func(order int, err error) *fate {
		if err != nil || fates[order] == nil {
			s.t.Fatalf("there is something of an order %d that nobody sent: %v", order, err)
		}
		return fates[order]
	}
	for _, m := range s.queue.Messages() {
		of(orderOf(m)).left = true
	}
	for _, m := range s.dead.Messages() {
		f := of(orderOf(m))
		if attempts, parked := parkedAfter(m); parked {
			f.parked = append(f.parked, attempts)
		} else {
			f.moved = true
		}
	}
	for key, it := range s.scan(s.settings.Records) {
		of(strconv.Atoi(strings.TrimPrefix(key, keyPrefix))).record = record{status: stringOf(it["st"]), attempts: numberOf(it["att"])}
	}
	for key, it := range s.scan(s.settings.Effects) {
		of(strconv.Atoi(key)).times = numberOf(it["times"])
	}
	notes, err := readJournal(s.settings.Journal)
	if err != nil {
		s.t.Fatal(err)
	}
	for order, lines := range notes {
		of(order, nil).lines = lines
	}
	return fates
}

func orderOf(m sqstest.MessageState) (int, error) {
	var j job
	if err := json.Unmarshal([]byte(m.Body), &j); err != nil {
		return 0, fmt.Errorf("body %q: %w", m.Body, err)
	}
	return j.Order, nil
}

// parkedAfter returns how many attempts a parked copy speaks of.
func parkedAfter(m sqstest.MessageState) (attempts int, parked bool) {
	p, parked := dlq.Parse(&consumer.Message{Attributes: map[string]consumer.Attribute{
		dlq.AttributeName: {StringValue: aws.ToString(m.Attributes[dlq.AttributeName].StringValue)},
	}})
	return p.Attempts, parked
}

// scan returns the items of a table by their keys.
func (s *stage) scan(table string) map[string]map[string]types.AttributeValue {
	s.t.Helper()
	items := make(map[string]map[string]types.AttributeValue)
	pages := dynamodb.NewScanPaginator(s.db, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.Background())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, it := range page.Items {
			items[stringOf(it["pk"])] = it
		}
	}
	return items
}

func stringOf(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func numberOf(v types.AttributeValue) int {
	n, _ := v.(*types.AttributeValueMemberN)
	if n == nil {
		return 0
	}
	i, _ := strconv.Atoi(n.Value)
	return i
}
