package consumer_test

import (
	"os/exec"
	"strings"
	"testing"
)

// deps lists what a package of this module links.
func deps(t *testing.T, pkg string) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/ackwise/ackwise/"+pkg)
	var stderr strings.Builder
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	return strings.Fields(string(out))
}

// A program links what it uses: one without a store links no DynamoDB, and the
// pipeline by itself nothing of AWS. The last two lines show that the test would
// notice.
func TestStore_ProgramsLinkOnlyWhatTheyUse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pkg, part string
		linked    bool
	}{
		{"examples/lambda-orders", "dynamodb", false},
		{"examples/lambda-orders", "ackwise/idempotency/", false}, // no store at all
		{"consumer/lambdasqs", "dynamodb", false},
		{"consumer/lambdasqs", "ackwise/idempotency/", false},
		{"consumer/dlq", "dynamodb", false},
		{"consumer", "aws/", false},
		{"consumer", "ackwise/idempotency/", false},
		{"idempotency", "aws/", false},
		{"idempotency/memstore", "aws/", false},
		{"retry", "aws/", false},
		{"idempotency/dynamostore", "dynamodb", true},
		{"examples/lambda-orders", "aws/aws-sdk-go-v2/service/sqs", true},
	} {
		var found []string
		for _, dep := range deps(t, tt.pkg) {
			if strings.Contains(dep, tt.part) && dep != "github.com/ackwise/ackwise/"+tt.pkg {
				found = append(found, dep)
			}
		}
		if (len(found) > 0) != tt.linked {
			t.Errorf("%s links %q of %q", tt.pkg, found, tt.part)
		}
	}
}
