package dynamostore_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

// dynamodbClient stands for dynamodb.NewFromConfig(cfg).
func dynamodbClient() *dynamodb.Client { return newFake().client() }

func ExampleNew() {
	store, err := dynamostore.New(dynamodbClient(), "idempotency", dynamostore.Config{})
	if err != nil {
		panic(err)
	}
	guard, err := idempotency.New(store, idempotency.Config{Namespace: "orders"})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	work := idempotency.Work{Kind: "order", Key: "4711", MaxAttempts: 5}
	for range 2 {
		claim, err := guard.Claim(ctx, work)
		if errors.Is(err, idempotency.ErrCompleted) {
			fmt.Println("a duplicate")
			continue
		}
		if err != nil {
			panic(err)
		}
		fmt.Println("attempt", claim.Attempt())
		if err := claim.Complete(ctx); err != nil {
			panic(err)
		}
	}
	// Output:
	// attempt 1
	// a duplicate
}

// In a handler, ctx carries the claim already.
func ExampleStore_Transact() {
	store, err := dynamostore.New(dynamodbClient(), "idempotency", dynamostore.Config{})
	if err != nil {
		panic(err)
	}
	handle := func(ctx context.Context, order string) error {
		err := store.Transact(ctx, types.TransactWriteItem{Put: &types.Put{
			TableName:                aws.String("orders"),
			Item:                     map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: order}},
			ConditionExpression:      aws.String("attribute_not_exists(#pk)"),
			ExpressionAttributeNames: map[string]string{"#pk": "pk"},
		}})
		if failed, ok := errors.AsType[*dynamostore.TransactError](err); ok && failed.Code == "ConditionalCheckFailed" {
			return fmt.Errorf("order %s is there already", order)
		}
		return err
	}

	guard, err := idempotency.New(store, idempotency.Config{Namespace: "orders"})
	if err != nil {
		panic(err)
	}
	for _, message := range []string{"a", "b"} {
		ctx := context.Background()
		claim, err := guard.Claim(ctx, idempotency.Work{Kind: "message", Key: message})
		if err != nil {
			panic(err)
		}
		err = handle(idempotency.NewContext(ctx, claim), "4711")
		fmt.Println(err, claim.Completed())
	}
	// Output:
	// <nil> true
	// order 4711 is there already false
}
