package dynamostore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

func TestNewRejects(t *testing.T) {
	t.Parallel()
	client := newFake().client()
	attributes := func(a dynamostore.Attributes) dynamostore.Config { return dynamostore.Config{Attributes: a} }
	sortKey := func(name, value string) dynamostore.Config {
		return dynamostore.Config{SortKey: dynamostore.SortKey{Name: name, Value: value}}
	}
	long := strings.Repeat("x", 256)
	for _, tc := range []struct {
		name   string
		client *dynamodb.Client
		table  string
		cfg    dynamostore.Config
		want   []string
	}{
		{"no client", nil, table, dynamostore.Config{}, []string{"client", "dynamodb.NewFromConfig"}},
		{"no table", client, "", dynamostore.Config{}, []string{`table is ""`, "3 to 255"}},
		{"short table", client, "ab", dynamostore.Config{}, []string{`table is "ab"`, "3 to 255"}},
		{"long table", client, long, dynamostore.Config{}, []string{"3 to 255"}},
		{"table with a space", client, "my records", dynamostore.Config{}, []string{`"my records"`, "a-z"}},
		{"ARN of an index", client, "arn:aws:dynamodb:eu-central-1:123456789012:table/t/index/i", dynamostore.Config{}, []string{"ARN of a table"}},
		{"negative timeout", client, table, dynamostore.Config{Timeout: -time.Second}, []string{"Timeout is -1s", "use 0"}},
		{"short timeout", client, table, dynamostore.Config{Timeout: 100*time.Millisecond - 1}, []string{"Timeout is 99.999999ms", "100ms or more"}},
		{"two names alike", client, table, attributes(dynamostore.Attributes{Owner: "st"}), []string{"Attributes.Status", "Attributes.Owner", `"st"`}},
		{"two own names alike", client, table, attributes(dynamostore.Attributes{Hash: "a", Error: "a"}), []string{"Attributes.Hash", "Attributes.Error"}},
		{"long name", client, table, attributes(dynamostore.Attributes{Life: long}), []string{"Attributes.Life", "256", "255"}},
		{"sort key like an attribute", client, table, sortKey("life", "v"), []string{"Attributes.Life", "SortKey.Name", `"life"`}},
		{"sort key like the key", client, table, sortKey("pk", "v"), []string{"Attributes.Key", "SortKey.Name"}},
		{"sort key without a value", client, table, sortKey("sk", ""), []string{"SortKey.Value"}},
		{"sort key without a name", client, table, sortKey("", "v"), []string{"SortKey.Name"}},
		{"long sort key", client, table, sortKey("sk", strings.Repeat("v", 1025)), []string{"SortKey.Value", "1025", "1024"}},
		{"long name of a sort key", client, table, sortKey(long, "v"), []string{"SortKey.Name", "255"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, err := dynamostore.New(tc.client, tc.table, tc.cfg)
			if err == nil || s != nil {
				t.Fatalf("got %v, %v; want an error", s, err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestNewAccepts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"abc", "a.b-c_D9", strings.Repeat("x", 255),
		"arn:aws:dynamodb:eu-central-1:123456789012:table/records", "arn:aws-cn:dynamodb:cn-north-1:123456789012:table/records",
	} {
		cfg := dynamostore.Config{SortKey: dynamostore.SortKey{Name: "sk", Value: strings.Repeat("v", 1024)}}
		if _, err := dynamostore.New(newFake().client(), name, cfg); err != nil {
			t.Errorf("table %q: %v", name, err)
		}
	}
}
