package templatetest

import (
	"fmt"
	"slices"
	"strings"
)

func encryption(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	given := s.params["KmsKeyArn"] != ""
	for _, q := range s.of("AWS::SQS::Queue") {
		key, managed := text(s.property(q, "KmsMasterKeyId")), text(s.property(q, "SqsManagedSseEnabled")) == "true"
		switch {
		case key == "" && !managed:
			complain("%s is not encrypted: set SqsManagedSseEnabled or KmsMasterKeyId", q)
		case key != "" && managed:
			complain("%s has SqsManagedSseEnabled and KmsMasterKeyId, which exclude each other", q)
		case given && key == "":
			complain("%s ignores the parameter KmsKeyArn", q)
		}
		if strings.Contains(key, "alias/aws/") {
			complain("%s is encrypted with the key that AWS manages, which SNS cannot use; take a customer key", q)
		}
	}
	for _, topic := range s.of("AWS::SNS::Topic") {
		if given && text(s.property(topic, "KmsMasterKeyId")) == "" {
			complain("%s ignores the parameter KmsKeyArn", topic)
		}
	}
	return problems
}

// keys: a key of the template's own lets SNS in, for this account's topics only, is
// rotated, and outlives the stack with what it encrypted.
func keys(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	all := s.of("AWS::KMS::Key")
	if made := s.params["KmsKeyArn"] == "new"; made != (len(all) == 1) {
		complain("KmsKeyArn is %q and there are the keys %v", s.params["KmsKeyArn"], all)
	}
	for _, key := range all {
		in := slices.ContainsFunc(statements(key, s.property(key, "KeyPolicy")), func(st statement) bool {
			return allows([]statement{st}, "kms:GenerateDataKey", "*") && allows([]statement{st}, "kms:Decrypt", "*") &&
				text(get(st.principal, "Service")) == "sns.amazonaws.com" &&
				text(get(st.condition, "StringEquals", "aws:SourceAccount")) == pseudo["AWS::AccountId"]
		})
		if !in {
			complain("%s: its KeyPolicy does not let sns.amazonaws.com kms:GenerateDataKey and kms:Decrypt "+
				"with aws:SourceAccount; SNS could not deliver to an encrypted queue", key)
		}
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
			{[]string{"TimeToLiveSpecification", "AttributeName"}, "exp"},
			{[]string{"TimeToLiveSpecification", "Enabled"}, "true"},
			{[]string{"PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"}, "true"},
			{[]string{"SSESpecification", "SSEEnabled"}, "true"},
		} {
			if got := text(s.property(t, want.path...)); got != want.value {
				complain("%s.%s is %q; it has to be %s", t, strings.Join(want.path, "."), got, want.value)
			}
		}
		if key := s.property(t, "SSESpecification", "KMSMasterKeyId"); (key != nil) != (s.params["KmsKeyArn"] != "") {
			complain("%s: its key is %v and KmsKeyArn is %q", t, key, s.params["KmsKeyArn"])
		}
	}
	return problems
}
