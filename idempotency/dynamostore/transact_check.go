package dynamostore

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The limits of a transaction (API reference, TransactWriteItems).
const (
	maxItems        = 100 // of which one is ours
	maxTransactSize = 4 << 20
)

// checkItems finds what DynamoDB would refuse, and says it more clearly. key is
// the claim's.
func (s *Store) checkItems(key string, items []types.TransactWriteItem) error {
	if len(items) > maxItems-1 {
		return fmt.Errorf("dynamostore: transact: there are %d items; DynamoDB takes %d, and one is needed to complete the claim", len(items), maxItems)
	}
	size := 0
	for i, it := range items {
		p, err := partOf(it)
		if err != nil {
			return fmt.Errorf("dynamostore: transact: item %d: %w", i, err)
		}
		size += p.size()
		if s.isRecord(p, key) {
			return fmt.Errorf("dynamostore: transact: item %d is the claim's own record in table %q; leave it out, Transact writes it", i, s.table)
		}
	}
	if size > maxTransactSize {
		return fmt.Errorf("dynamostore: transact: the items have %d bytes together; DynamoDB takes %d: "+
			"keep large values elsewhere, in S3 for instance", size, maxTransactSize)
	}
	return nil
}

// part is what items of all four kinds have in common.
type part struct {
	table *string
	key   item   // of a put: all of it
	other values // what is written or compared besides
}

func partOf(it types.TransactWriteItem) (part, error) {
	var ps []part
	if p := it.Put; p != nil {
		ps = append(ps, part{table: p.TableName, key: p.Item})
	}
	if u := it.Update; u != nil {
		ps = append(ps, part{table: u.TableName, key: u.Key, other: u.ExpressionAttributeValues})
	}
	if d := it.Delete; d != nil {
		ps = append(ps, part{table: d.TableName, key: d.Key})
	}
	if c := it.ConditionCheck; c != nil {
		ps = append(ps, part{table: c.TableName, key: c.Key})
	}
	if len(ps) != 1 {
		return part{}, fmt.Errorf("it has %d of Put, Update, Delete and ConditionCheck; set exactly one", len(ps))
	}
	return ps[0], nil
}

func (s *Store) isRecord(p part, key string) bool {
	if bare(aws.ToString(p.table)) != bare(s.table) {
		return false
	}
	for name, want := range s.key(key) {
		got, ok := p.key[name].(*types.AttributeValueMemberS)
		if !ok || got.Value != want.(*types.AttributeValueMemberS).Value { //nolint:forcetypeassert // our own
			return false
		}
	}
	return true
}

// size is what is certain of the item's: the rest of an item that is updated is
// not known here.
func (p part) size() int { return sizeOfMap(p.key) + sizeOfMap(p.other) }

func sizeOfMap(m map[string]types.AttributeValue) int {
	n := 0
	for name, v := range m {
		n += len(name) + sizeOf(v)
	}
	return n
}

// sizeOf never counts more than DynamoDB does (developer guide, "Item sizes and
// formats"): of a number half its digits.
func sizeOf(v types.AttributeValue) int {
	n := 0
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value) / 2
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			n += len(s)
		}
	case *types.AttributeValueMemberBS:
		for _, b := range v.Value {
			n += len(b)
		}
	case *types.AttributeValueMemberNS:
		for _, s := range v.Value {
			n += len(s) / 2
		}
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			n += sizeOf(e)
		}
	case *types.AttributeValueMemberM:
		return sizeOfMap(v.Value)
	}
	return n
}
