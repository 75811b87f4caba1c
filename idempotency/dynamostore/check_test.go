package dynamostore_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

type jsonMap = map[string]any

// described is a table in an answer; keys are name, role and type each.
func described(status string, keys ...[3]string) reply {
	var schema, definitions []jsonMap
	for _, k := range keys {
		schema = append(schema, jsonMap{"AttributeName": k[0], "KeyType": k[1]})
		definitions = append(definitions, jsonMap{"AttributeName": k[0], "AttributeType": k[2]})
	}
	return ok(jsonMap{"Table": jsonMap{"TableStatus": status, "KeySchema": schema, "AttributeDefinitions": definitions}})
}

func ttl(status, attribute string) reply {
	return ok(jsonMap{"TimeToLiveDescription": jsonMap{"TimeToLiveStatus": status, "AttributeName": attribute}})
}

var (
	plain  = [3]string{"pk", "HASH", "S"}
	ranged = [3]string{"sk", "RANGE", "S"}
)

func TestCheck(t *testing.T) {
	t.Parallel()
	var alone dynamostore.Config
	shared := dynamostore.Config{SortKey: dynamostore.SortKey{Name: "sk", Value: "claim"}}
	good, goodTTL := described("ACTIVE", plain), ttl("ENABLED", "exp")
	for _, tc := range []struct {
		name       string
		cfg        dynamostore.Config
		table, ttl reply
		want       []string // nothing if it is right
	}{
		{"right", alone, good, goodTTL, nil},
		{"right while it is changed", alone, described("UPDATING", plain), ttl("ENABLING", "exp"), nil},
		{"right with a sort key", shared, described("ACTIVE", plain, ranged), goodTTL, nil},
		{"no table", alone, failure("ResourceNotFoundException", "", nil), goodTTL, []string{`table "records" was not found`, "create it"}},
		{"may not look", alone, failure("AccessDeniedException", "", nil), goodTTL, []string{"grant dynamodb:DescribeTable"}},
		{"may not look at TTL", alone, good, failure("AccessDeniedException", "", nil), []string{"grant dynamodb:DescribeTimeToLive"}},
		{"being made", alone, described("CREATING", plain), goodTTL, []string{"still being created"}},
		{"being deleted", alone, described("DELETING", plain), goodTTL, []string{"is DELETING", "ACTIVE"}},
		{"key gone", alone, described("INACCESSIBLE_ENCRYPTION_CREDENTIALS", plain), goodTTL, []string{"KMS key"}},
		{"other key", alone, described("ACTIVE", [3]string{"id", "HASH", "S"}), goodTTL,
			[]string{`is HASH "id" of type S`, `says HASH "pk" of type S`, "Config.Attributes.Key"}},
		{"key a number", alone, described("ACTIVE", [3]string{"pk", "HASH", "N"}), goodTTL,
			[]string{`is HASH "pk" of type N`, "needs a string key", "use another table"}},
		{"sort key binary", shared, described("ACTIVE", plain, [3]string{"sk", "RANGE", "B"}), goodTTL,
			[]string{`RANGE "sk" of type B`, "needs a string key", "use another table"}},
		{"sort key too many", alone, described("ACTIVE", plain, ranged), goodTTL, []string{`RANGE "sk" of type S`, "Config.SortKey"}},
		{"sort key too few", shared, good, goodTTL, []string{`says HASH "pk" of type S, RANGE "sk" of type S`}},
		{"TTL off", alone, good, ttl("DISABLED", ""), []string{"TTL", "is DISABLED", `enable it on attribute "exp"`}},
		{"TTL going off", alone, good, ttl("DISABLING", "exp"), []string{"is DISABLING"}},
		{"TTL of another", alone, good, ttl("ENABLED", "ttl"), []string{`on attribute "ttl"`, `says "exp"`, "Config.Attributes.Expires"}},
		{"TTL not said", alone, good, ok(jsonMap{}), []string{"enable it"}},
		{"nothing said", alone, ok(jsonMap{}), goodTTL, []string{"not described"}},
		{"everything", alone, described("DELETING", ranged), ttl("DISABLED", ""), []string{"DELETING", "sk", "TTL"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.admin["DescribeTable"], f.admin["DescribeTimeToLive"] = []reply{tc.table}, []reply{tc.ttl}
			err := newStore(t, f.client(), tc.cfg).Check(t.Context())
			if (err == nil) != (tc.want == nil) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

// creation is a call of CreateTable: what DynamoDB answers, and what comes of it.
type creation struct {
	name  string
	admin map[string][]reply
	want  string // of the error
	ops   []string
}

func creations() []creation {
	good, goodTTL := described("ACTIVE", plain), ttl("ENABLED", "exp")
	exists := failure("ResourceInUseException", "Table already exists", nil)
	creating, missing := described("CREATING", plain), failure("ResourceNotFoundException", "", nil)
	return []creation{
		{"new", map[string][]reply{
			"CreateTable": {creating}, "DescribeTable": {missing, creating, good},
			"DescribeTimeToLive": {ttl("DISABLED", ""), goodTTL}, "UpdateTimeToLive": {ok(jsonMap{})},
		}, "", []string{
			"CreateTable", "DescribeTable", "DescribeTable", "DescribeTable",
			"DescribeTimeToLive", "UpdateTimeToLive", "DescribeTable", "DescribeTimeToLive",
		}},
		{"there and right", map[string][]reply{
			"CreateTable": {exists}, "DescribeTable": {good}, "DescribeTimeToLive": {goodTTL},
		}, "", []string{"CreateTable", "DescribeTable", "DescribeTimeToLive", "DescribeTable", "DescribeTimeToLive"}},
		{"TTL enabled by another at the same time", map[string][]reply{
			"CreateTable": {exists}, "DescribeTable": {good},
			"DescribeTimeToLive": {ttl("DISABLED", ""), ttl("ENABLING", "exp")},
			"UpdateTimeToLive":   {failure("ValidationException", "TimeToLive is already enabled", nil)},
		}, "", []string{
			"CreateTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive", "DescribeTimeToLive", "DescribeTable", "DescribeTimeToLive",
		}},
		{"there and wrong", map[string][]reply{
			"CreateTable": {exists}, "DescribeTable": {described("ACTIVE", ranged)}, "DescribeTimeToLive": {goodTTL},
		}, `is RANGE "sk" of type S`, []string{"CreateTable", "DescribeTable", "DescribeTimeToLive", "DescribeTable", "DescribeTimeToLive"}},
		{"TTL of another attribute", map[string][]reply{
			"CreateTable": {exists}, "DescribeTable": {good}, "DescribeTimeToLive": {ttl("ENABLED", "ttl")},
		}, `on attribute "ttl"`, []string{"CreateTable", "DescribeTable", "DescribeTimeToLive", "DescribeTable", "DescribeTimeToLive"}},
		{"may not", map[string][]reply{
			"CreateTable": {failure("AccessDeniedException", "", nil)},
		}, "grant dynamodb:CreateTable", []string{"CreateTable"}},
		{"may not enable TTL", map[string][]reply{
			"CreateTable": {exists}, "DescribeTable": {good}, "DescribeTimeToLive": {ttl("DISABLED", "")},
			"UpdateTimeToLive": {failure("AccessDeniedException", "", nil)},
		}, "grant dynamodb:UpdateTimeToLive", []string{"CreateTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive"}},
	}
}

func TestCreateTable(t *testing.T) {
	t.Parallel()
	for _, tc := range creations() {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.admin = tc.admin
				began := time.Now()
				err := dynamostore.CreateTable(t.Context(), f.client(), table)
				if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want %q", err, tc.want)
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("took %v, want an end soon after the table is active", took)
				}
				wantOps(t, f, tc.ops...)
			})
		})
	}
}

// The requests, with names of the user's own.
func TestCreateTableRequests(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.admin = map[string][]reply{
		"CreateTable":        {ok(jsonMap{})},
		"DescribeTable":      {described("ACTIVE", [3]string{"PK", "HASH", "S"}, ranged)},
		"DescribeTimeToLive": {ttl("DISABLED", ""), ttl("ENABLED", "until")}, "UpdateTimeToLive": {ok(jsonMap{})},
	}
	err := dynamostore.CreateTable(t.Context(), f.client(), table, dynamostore.Config{
		Attributes: dynamostore.Attributes{Key: "PK", Expires: "until"}, SortKey: dynamostore.SortKey{Name: "sk", Value: "claim"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for op, want := range map[string]string{
		"CreateTable": `{"TableName":"records","BillingMode":"PAY_PER_REQUEST",` +
			`"KeySchema":[{"AttributeName":"PK","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],` +
			`"AttributeDefinitions":[{"AttributeName":"PK","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}]}`,
		"UpdateTimeToLive": `{"TableName":"records","TimeToLiveSpecification":{"AttributeName":"until","Enabled":true}}`,
	} {
		i := slices.IndexFunc(f.calls, func(c call) bool { return c.op == op })
		var got, wanted any
		if i < 0 || json.Unmarshal([]byte(f.calls[i].body), &got) != nil || json.Unmarshal([]byte(want), &wanted) != nil {
			t.Fatalf("no good %s in %v", op, f.calls)
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", op, diff)
		}
	}
}

func TestCreateTableRejects(t *testing.T) {
	t.Parallel()
	f := newFake()
	if err := dynamostore.CreateTable(t.Context(), f.client(), "a"); err == nil || !strings.Contains(err.Error(), "table is") {
		t.Errorf("got %v, want what New says of the name", err)
	}
	if err := dynamostore.CreateTable(t.Context(), f.client(), table, dynamostore.Config{}, dynamostore.Config{}); err == nil {
		t.Error("took two Configs")
	}
	wantOps(t, f, []string{}...)
}
