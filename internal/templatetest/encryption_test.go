package templatetest

import (
	"fmt"
	"strings"
)

// key is the one that everything of the stack is encrypted with, "" for none.
func (s *stack) key() string {
	if key := s.params["KmsKeyArn"]; key != "new" {
		return key
	}
	return "arn:aws:kms" + arnStem + "key/OrdersKey"
}

func encryption(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, of := range []struct {
		kind string
		path []string
	}{
		{"AWS::SQS::Queue", []string{"KmsMasterKeyId"}},
		{"AWS::SNS::Topic", []string{"KmsMasterKeyId"}},
		{"AWS::Logs::LogGroup", []string{"KmsKeyId"}},
		{"AWS::DynamoDB::Table", []string{"SSESpecification", "KMSMasterKeyId"}},
	} {
		for _, name := range s.of(of.kind) {
			if name == "SubscriptionDeadLetterQueue" {
				continue
			}
			if got := text(s.property(name, of.path...)); got != s.key() {
				complain("%s: its key is %q; with KmsKeyArn=%s it has to be %q", name, got, s.params["KmsKeyArn"], s.key())
			}
		}
	}
	for _, q := range s.of("AWS::SQS::Queue") {
		keyed := s.property(q, "KmsMasterKeyId") != nil
		if q == "SubscriptionDeadLetterQueue" && keyed {
			complain("%s has a KmsMasterKeyId; where SNS may not use the queue's key, it may not use it there either", q)
		}
		switch managed := text(s.property(q, "SqsManagedSseEnabled")) == "true"; {
		case !keyed && !managed:
			complain("%s is not encrypted: set SqsManagedSseEnabled or KmsMasterKeyId", q)
		case keyed && managed:
			complain("%s has SqsManagedSseEnabled and KmsMasterKeyId, which exclude each other", q)
		}
	}
	return problems
}

// keys: a key of the template's own lets SNS in, for the stack's topic only,
// and CloudWatch, for the stack's logs only; it is administered by the account, is
// rotated, and outlives the stack with what it encrypted.
func keys(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	all := s.of("AWS::KMS::Key")
	if made := s.params["KmsKeyArn"] == "new"; made != (len(all) == 1) {
		complain("KmsKeyArn is %q and there are the keys %v", s.params["KmsKeyArn"], all)
	}
	topic := "arn:aws:sns" + arnStem + text(s.property("OrdersTopic", "TopicName"))
	need := []grant{{"Allow", "map[AWS:arn:aws:iam::111122223333:root]", "kms:*", "*", ""}}
	for _, action := range []string{"kms:GenerateDataKey", "kms:Decrypt"} {
		need = append(need, grant{"Allow", "map[Service:sns.amazonaws.com]", action, "*", "map[ArnEquals:map[aws:SourceArn:" + topic + "]]"})
	}
	for _, action := range []string{"kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"} {
		need = append(need, grant{
			"Allow", "map[Service:logs.eu-central-1.amazonaws.com]", action, "*",
			"map[ArnLike:map[kms:EncryptionContext:aws:logs:arn:arn:aws:logs:eu-central-1:111122223333:log-group:shop-*]]",
		})
	}
	for _, key := range all {
		problems = append(problems, compare(key, []any{s.property(key, "KeyPolicy")}, need)...)
		if text(s.property(key, "EnableKeyRotation")) != "true" {
			complain("%s has no EnableKeyRotation: true", key)
		}
	}
	return problems
}

// table: what dynamostore expects (its Check says the same of a live table).
func table(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	all := s.of("AWS::DynamoDB::Table")
	if len(all) == 0 {
		complain("there is no table for idempotency")
	}
	for _, t := range all {
		for _, want := range []struct {
			path  []string
			value string
		}{
			{[]string{"BillingMode"}, "PAY_PER_REQUEST"},
			{[]string{"AttributeDefinitions"}, "[map[AttributeName:pk AttributeType:S]]"},
			{[]string{"KeySchema"}, "[map[AttributeName:pk KeyType:HASH]]"},
			{[]string{"TimeToLiveSpecification"}, "map[AttributeName:exp Enabled:true]"},
			{[]string{"PointInTimeRecoverySpecification"}, "map[PointInTimeRecoveryEnabled:true]"},
			{[]string{"SSESpecification", "SSEEnabled"}, "true"},
			{[]string{"SSESpecification", "SSEType"}, "KMS"},
		} {
			if got := text(s.property(t, want.path...)); got != want.value {
				complain("%s.%s is %q; it has to be %s", t, strings.Join(want.path, "."), got, want.value)
			}
		}
	}
	return problems
}
