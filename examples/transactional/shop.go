package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackwise/ackwise/idempotency/dynamostore"
	"github.com/ackwise/ackwise/retry"
)

// order is the body of a message.
type order struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Amount   int    `json:"amount"`
}

// shop keeps orders and accounts in one table.
type shop struct {
	client *dynamodb.Client
	table  string
	store  *dynamostore.Store // of a worker
}

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func number(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}

// book is the handler's work: either all of it happens and the message is done,
// or none of it. ctx has to be the one that the handler was given.
func (s *shop) book(ctx context.Context, o order) error {
	err := s.store.Transact(ctx,
		types.TransactWriteItem{Put: &types.Put{
			TableName: &s.table, Item: item{"pk": text("order#" + o.ID), "amount": number(o.Amount)},
			ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}},
		types.TransactWriteItem{Update: &types.Update{
			TableName: &s.table, Key: item{"pk": text("account#" + o.Customer)},
			UpdateExpression:          aws.String("SET balance = balance - :amount"),
			ConditionExpression:       aws.String("balance >= :amount"),
			ExpressionAttributeValues: item{":amount": number(o.Amount)},
		}},
	)
	failed, ok := errors.AsType[*dynamostore.TransactError](err)
	if !ok || failed.Code != "ConditionalCheckFailed" {
		return err // nil, or something that may pass
	}
	// What the conditions say does not change by trying again.
	return retry.Permanent(fmt.Errorf("%s: %w", []string{"the order is there already", "the account does not have so much"}[failed.Index], err))
}

// open makes the table, with one account.
func (s *shop) open(ctx context.Context, customer string, balance int) error {
	_, err := s.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &s.table, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		return err
	}
	const longest = time.Minute
	if err := dynamodb.NewTableExistsWaiter(s.client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &s.table}, longest); err != nil {
		return err
	}
	return s.put(ctx, item{"pk": text("account#" + customer), "balance": number(balance)})
}

func (s *shop) put(ctx context.Context, it item) error {
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: it})
	return err
}

// report prints orders and account, and returns an error if they are not as
// after one booking.
func (s *shop) report(ctx context.Context, w io.Writer, queued int) error {
	out, err := s.client.Scan(ctx, &dynamodb.ScanInput{TableName: &s.table, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return err
	}
	orders, balance := 0, 0
	for _, it := range out.Items {
		n, isAccount := it["balance"].(*types.AttributeValueMemberN)
		if !isAccount {
			orders++
			continue
		}
		if balance, err = strconv.Atoi(n.Value); err != nil {
			return err
		}
	}
	printf(w, "\nThe queue has %d messages, the table %d order, and %s has %d.\n", queued, orders, theOrder.Customer, balance)
	if want := deposit - theOrder.Amount; queued != 0 || orders != 1 || balance != want {
		return fmt.Errorf("the order was not booked exactly once: want no message, 1 order and a balance of %d", want)
	}
	printf(w, "Received twice, booked once.\n")
	return nil
}
