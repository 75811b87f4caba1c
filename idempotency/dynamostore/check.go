package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Check looks whether the table exists, can be used, has the right key and has
// TTL on the right attribute. The error says everything that is wrong and what
// to do about it. It needs dynamodb:DescribeTable and
// dynamodb:DescribeTimeToLive, and writes nothing; so it does not find out
// whether dynamodb:UpdateItem is allowed. Meant for a deployment or the start of
// a long-lived program.
func (s *Store) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	out, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.table})
	if err != nil {
		return s.explain("check", "DescribeTable", err)
	}
	if out.Table == nil {
		return fmt.Errorf("dynamostore: check: table %q is not described in the answer", s.table)
	}
	return errors.Join(s.checkStatus(out.Table.TableStatus), s.checkSchema(out.Table), s.checkTTL(ctx))
}

func (s *Store) checkStatus(st types.TableStatus) error {
	switch st {
	case types.TableStatusActive, types.TableStatusUpdating:
		return nil
	case types.TableStatusCreating:
		return fmt.Errorf("dynamostore: check: table %q is still being created; wait until it is ACTIVE", s.table)
	case types.TableStatusInaccessibleEncryptionCredentials:
		return fmt.Errorf("dynamostore: check: table %q cannot use its KMS key; enable the key and allow DynamoDB to use it", s.table)
	default:
		return fmt.Errorf("dynamostore: check: table %q is %s; it must be ACTIVE", s.table, st)
	}
}

// keyPart is one attribute of a table's key; all of ours are strings.
type keyPart struct {
	name string
	role types.KeyType
}

func (s *Store) schema() []keyPart {
	keys := []keyPart{{s.names["#pk"], types.KeyTypeHash}}
	if s.sort.Name != "" {
		keys = append(keys, keyPart{s.sort.Name, types.KeyTypeRange})
	}
	return keys
}

func (s *Store) checkSchema(table *types.TableDescription) error {
	kinds := make(map[string]types.ScalarAttributeType, len(table.AttributeDefinitions))
	for _, d := range table.AttributeDefinitions {
		kinds[aws.ToString(d.AttributeName)] = d.AttributeType
	}
	var has, needs []string
	for _, k := range table.KeySchema {
		name := aws.ToString(k.AttributeName)
		has = append(has, fmt.Sprintf("%s %q of type %s", k.KeyType, name, kinds[name]))
	}
	for _, k := range s.schema() {
		needs = append(needs, fmt.Sprintf("%s %q of type S", k.role, k.name))
	}
	for _, k := range table.KeySchema {
		if kind := kinds[aws.ToString(k.AttributeName)]; kind == types.ScalarAttributeTypeN || kind == types.ScalarAttributeTypeB {
			return fmt.Errorf("dynamostore: check: the key of table %q is %s; it needs a string key, of type S, "+
				"and a table's key cannot be changed: use another table", s.table, strings.Join(has, ", "))
		}
	}
	if h, n := strings.Join(has, ", "), strings.Join(needs, ", "); h != n {
		return fmt.Errorf("dynamostore: check: the key of table %q is %s, and the Config says %s; "+
			"set Config.Attributes.Key and Config.SortKey to what the table has, or use another table", s.table, h, n)
	}
	return nil
}

func (s *Store) checkTTL(ctx context.Context) error {
	status, attribute, err := s.ttl(ctx)
	if err != nil {
		return err
	}
	want := s.names["#exp"]
	switch status {
	case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
		if attribute != want {
			return fmt.Errorf("dynamostore: check: TTL of table %q is on attribute %q, and the Config says %q; "+
				"set Config.Attributes.Expires to %q, or change the table's TTL", s.table, attribute, want, attribute)
		}
		return nil
	default:
		return fmt.Errorf("dynamostore: check: TTL of table %q is %s; enable it on attribute %q, or the table grows for ever", s.table, status, want)
	}
}

func (s *Store) ttl(ctx context.Context) (types.TimeToLiveStatus, string, error) {
	out, err := s.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &s.table})
	if err != nil {
		return "", "", s.explain("check", "DescribeTimeToLive", err)
	}
	d := out.TimeToLiveDescription
	if d == nil {
		return types.TimeToLiveStatusDisabled, "", nil
	}
	return d.TimeToLiveStatus, aws.ToString(d.AttributeName), nil
}
