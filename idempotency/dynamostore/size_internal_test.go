package dynamostore

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Too large a guess would refuse what DynamoDB takes.
func TestSizeOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		v    types.AttributeValue
		want int
	}{
		{"string in bytes", &types.AttributeValueMemberS{Value: "é🙂"}, 6},
		{"binary before base64", &types.AttributeValueMemberB{Value: make([]byte, 7)}, 7},
		{"number in pairs of digits", &types.AttributeValueMemberN{Value: "1234567"}, 3},
		{"boolean", &types.AttributeValueMemberBOOL{Value: true}, 0},
		{"null", &types.AttributeValueMemberNULL{Value: true}, 0},
		{"set of strings", &types.AttributeValueMemberSS{Value: []string{"ab", "c"}}, 3},
		{"set of numbers", &types.AttributeValueMemberNS{Value: []string{"12", "3456"}}, 3},
		{"set of binaries", &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2, 3}}}, 3},
		{"list", &types.AttributeValueMemberL{Value: []types.AttributeValue{text("ab"), number(12)}}, 3},
		{"map with names", &types.AttributeValueMemberM{Value: item{"name": text("ab")}}, 6},
		{"nested", &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberM{Value: item{"n": text("a")}}}}, 2},
		{"nothing", nil, 0},
	} {
		if got := sizeOf(tc.v); got != tc.want {
			t.Errorf("%s: %d bytes, want %d", tc.name, got, tc.want)
		}
	}
}
