package dynamostore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
	"github.com/ackwise/ackwise/idempotency/storetest"
)

// What follows runs over a real connection, against a server that speaks
// DynamoDB. With moto, which "make test" starts, some of DynamoDB is not there
// to be tested: TTL deletes nothing, nothing is throttled, and a
// ClientRequestToken is ignored, so that a transaction sent twice is carried out
// twice unless a condition prevents it. Nor is an update atomic there: moto 5.2.1
// checks the condition in one step and writes in another, without a lock, and of
// fifty claims at once two can pass. So calls to it go one at a time; those of
// several claims still come in any order.

// wireClient is a client of that server, and a table of the test's own.
func wireClient(t *testing.T, cfg ...dynamostore.Config) (*dynamodb.Client, string) {
	t.Helper()
	var (
		endpoint = os.Getenv("ACKWISE_DYNAMODB_ENDPOINT") // of something better than moto
		http     = dynamodb.HTTPClient(newHTTPClient(t))
	)
	if endpoint == "" {
		endpoint = os.Getenv("ACKWISE_SQS_ENDPOINT") // moto has both on one port
		http = &oneAtATime{next: http, turn: make(chan struct{}, 1)}
	}
	if endpoint == "" {
		t.Skip("SKIPPED: neither ACKWISE_DYNAMODB_ENDPOINT nor ACKWISE_SQS_ENDPOINT is set; run make test, which starts a server")
	}
	client := newFake().client(func(o *dynamodb.Options) { o.BaseEndpoint, o.HTTPClient = &endpoint, http })
	name := "ackwise-" + rand.Text()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := dynamostore.CreateTable(ctx, client, name, cfg...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Errorf("delete the table: %v", err)
		}
	})
	return client, name
}

func TestContractOnTheWire(t *testing.T) {
	t.Parallel()
	client, name := wireClient(t)
	s, err := dynamostore.New(client, name, dynamostore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		t.Helper()
		return storetest.Harness{
			Store: s,
			Get: func(ctx context.Context, key string) (idempotency.Record, bool, error) {
				out, err := client.GetItem(ctx, &dynamodb.GetItemInput{
					TableName: &name, ConsistentRead: aws.Bool(true), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: key}},
				})
				if err != nil {
					return idempotency.Record{}, false, err
				}
				return recordOf(fromSDK(out.Item)), out.Item != nil, nil
			},
			Put: func(ctx context.Context, key string, rec idempotency.Record) error {
				_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: toSDK(itemOf(key, rec))})
				return err
			},
		}
	})
}

func fromSDK(it map[string]types.AttributeValue) wireItem {
	w := wireItem{}
	for name, v := range it {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			w[name] = wire{"S": v.Value}
		case *types.AttributeValueMemberN:
			w[name] = wire{"N": v.Value}
		}
	}
	return w
}

func toSDK(w wireItem) map[string]types.AttributeValue {
	it := map[string]types.AttributeValue{}
	for name, v := range w {
		if n, ok := v["N"]; ok {
			it[name] = &types.AttributeValueMemberN{Value: n}
		} else {
			it[name] = &types.AttributeValueMemberS{Value: v["S"]}
		}
	}
	return it
}

func TestTransactOnTheWire(t *testing.T) {
	t.Parallel()
	cfg := dynamostore.Config{SortKey: dynamostore.SortKey{Name: "sk", Value: "claim"}, Attributes: dynamostore.Attributes{Status: "status"}}
	client, name := wireClient(t, cfg)
	s, err := dynamostore.New(client, name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	put := func(id string) types.TransactWriteItem {
		it := order(id)
		it.Put.TableName = &name // beside the records, which differ in their sort key
		it.Put.Item["sk"] = &types.AttributeValueMemberS{Value: "order"}
		return it
	}
	ctx, c := claimed(t, s)
	if err := s.Transact(ctx, put("o1"), put("o2")); err != nil || !c.Completed() {
		t.Fatalf("%v, completed: %t", err, c.Completed())
	}
	g, err := idempotency.New(s, idempotency.Config{Namespace: "queue"})
	if err != nil {
		t.Fatal(err)
	}
	work := idempotency.Work{Kind: "id", Key: "1", Life: life, MaxAttempts: budget}
	if _, err := g.Claim(ctx, work); !errors.Is(err, idempotency.ErrCompleted) {
		t.Errorf("a duplicate: %v, want ErrCompleted", err)
	}

	work.Key = "2"
	c, err = g.Claim(ctx, work)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Transact(idempotency.NewContext(ctx, c), put("o3"), put("o1"))
	if failed, ok := errors.AsType[*dynamostore.TransactError](err); !ok || failed.Index != 1 || failed.Code != "ConditionalCheckFailed" || failed.Item == nil {
		t.Errorf("an order that is there: %v, want an error about item 1, with what is there", err)
	}
	if err := c.Reject(ctx, err); err != nil {
		t.Errorf("Reject: %v", err)
	}
	if err := s.Transact(idempotency.NewContext(ctx, c), put("o3")); !errors.Is(err, idempotency.ErrLost) {
		t.Errorf("after it was given back: %v, want ErrLost", err)
	}
}

// The first answer is lost, as the second attempt sees it: moto does not know
// the token, so this is the way of the record.
func TestTransactAnswerLostOnTheWire(t *testing.T) {
	t.Parallel()
	client, name := wireClient(t)
	f := &lossy{next: client.Options().HTTPClient}
	s, err := dynamostore.New(dynamodb.New(client.Options(), func(o *dynamodb.Options) { o.HTTPClient = f }), name, dynamostore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, c := claimed(t, s)
	it := order("o1")
	it.Put.TableName = &name
	f.lose.Store(true)
	if err := s.Transact(ctx, it); err != nil || !c.Completed() {
		t.Errorf("%v, completed: %t; want success", err, c.Completed())
	}
	if f.lose.Load() {
		t.Error("no answer was lost")
	}
}

func TestCheckOnTheWire(t *testing.T) {
	t.Parallel()
	client, name := wireClient(t)
	s, err := dynamostore.New(client, name, dynamostore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("Check: %v", err)
	}
	if err := dynamostore.CreateTable(t.Context(), client, name); err != nil {
		t.Errorf("CreateTable once more: %v", err)
	}
	wrong := dynamostore.Config{Attributes: dynamostore.Attributes{Key: "id", Expires: "ttl"}}
	for _, tc := range []struct {
		name  string
		table string
		cfg   dynamostore.Config
		check []string
		claim string
	}{
		{"no table", "ackwise-no-such-table", dynamostore.Config{}, []string{"was not found"}, "was not found"},
		{"other names", name, wrong, []string{`"pk"`, `"id"`, `"exp"`, `"ttl"`}, "the keys of table"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, err := dynamostore.New(client, tc.table, tc.cfg)
			if err != nil {
				t.Fatal(err)
			}
			err = s.Check(t.Context())
			for _, want := range tc.check {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("Check: %v, want %q", err, want)
				}
			}
			if _, err := s.Claim(t.Context(), request("a")); err == nil || !strings.Contains(err.Error(), tc.claim) {
				t.Errorf("Claim: %v, want %q", err, tc.claim)
			}
		})
	}
}
