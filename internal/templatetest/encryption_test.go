package templatetest

import (
	"fmt"
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
	for kind, property := range map[string]string{"AWS::SNS::Topic": "KmsMasterKeyId", "AWS::Logs::LogGroup": "KmsKeyId"} {
		for _, name := range s.of(kind) {
			if key := s.property(name, property); (key != nil) != given {
				complain("%s: its key is %v and KmsKeyArn is %q", name, key, s.params["KmsKeyArn"])
			}
		}
	}
	return problems
}

// keys: a key of the template's own lets SNS in, for this account's topics only,
// and CloudWatch, for the stack's logs only; it is administered by the account, is
// rotated, and outlives the stack with what it encrypted.
func keys(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	all := s.of("AWS::KMS::Key")
	if made := s.params["KmsKeyArn"] == "new"; made != (len(all) == 1) {
		complain("KmsKeyArn is %q and there are the keys %v", s.params["KmsKeyArn"], all)
	}
	need := []grant{{"Allow", "map[AWS:arn:aws:iam::111122223333:root]", "kms:*", "*", ""}}
	for _, action := range []string{"kms:GenerateDataKey", "kms:Decrypt"} {
		need = append(need, grant{"Allow", "map[Service:sns.amazonaws.com]", action, "*", "map[StringEquals:map[aws:SourceAccount:111122223333]]"})
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
		for _, attribute := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
			if got := text(s.resources[key][attribute]); got != "Retain" {
				complain("%s.%s is %q; it has to be Retain, since nothing that it encrypted can be read without it", key, attribute, got)
			}
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
