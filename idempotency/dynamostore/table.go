package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// CreateTable makes the table that a Store with the same Config needs, billed on
// demand and with TTL, and returns when it can be used. A table that exists is
// left as it is, apart from TTL that is off, and is an error if it is not right.
// At most one Config; none means the zero value.
//
// It is for tests and for local use. In production a table belongs in a
// template, with backup and deletion protection.
func CreateTable(ctx context.Context, client *dynamodb.Client, table string, cfg ...Config) error {
	if len(cfg) > 1 {
		return fmt.Errorf("dynamostore: create table: there are %d Configs; give one at most", len(cfg))
	}
	s, err := New(client, table, append(cfg, Config{})[0])
	if err != nil {
		return err
	}
	if err := s.create(ctx); err != nil {
		return err
	}
	if err := s.enableTTL(ctx); err != nil {
		return err
	}
	return s.Check(ctx)
}

// create makes the table, if there is none, and waits until it is active.
func (s *Store) create(ctx context.Context) error {
	in := &dynamodb.CreateTableInput{TableName: &s.table, BillingMode: types.BillingModePayPerRequest}
	for _, k := range s.schema() {
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: &k.name, KeyType: k.role})
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: &k.name, AttributeType: types.ScalarAttributeTypeS,
		})
	}
	if _, err := s.client.CreateTable(ctx, in); err != nil {
		if _, exists := errors.AsType[*types.ResourceInUseException](err); !exists {
			return s.explain("create table", "CreateTable", err)
		}
	}
	wait := dynamodb.NewTableExistsWaiter(s.client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 200*time.Millisecond, 2*time.Second
	})
	const longest = 5 * time.Minute
	if err := wait.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &s.table}, longest); err != nil {
		return s.explain("create table", "DescribeTable", err)
	}
	return nil
}

func (s *Store) enableTTL(ctx context.Context) error {
	status, _, err := s.ttl(ctx)
	if err != nil {
		return err
	}
	if status != types.TimeToLiveStatusDisabled {
		return nil // Check says whether on the right attribute
	}
	_, err = s.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &s.table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(s.names["#exp"]), Enabled: aws.Bool(true),
		},
	})
	// Refused if it has been enabled since the look at it, as by another process
	// that starts at the same time.
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "ValidationException" {
		if status, _, _ := s.ttl(ctx); status == types.TimeToLiveStatusEnabled || status == types.TimeToLiveStatusEnabling {
			return nil
		}
	}
	if err != nil {
		return s.explain("create table", "UpdateTimeToLive", err)
	}
	return nil
}
