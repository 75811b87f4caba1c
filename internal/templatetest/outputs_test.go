package templatetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// outputs: each is what it says.
func outputs(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	url := func(queue string) string {
		return "https://sqs.eu-central-1.amazonaws.com/111122223333/" + text(s.property(queue, "QueueName"))
	}
	want := map[string]string{
		"QueueUrl": url("OrdersQueue"), "QueueArn": s.arn("OrdersQueue"),
		"TopicArn":           "arn:aws:sns" + arnStem + text(s.property("OrdersTopic", "TopicName")),
		"DeadLetterQueueUrl": url("OrdersDeadLetterQueue"), "DeadLetterQueueArn": s.arn("OrdersDeadLetterQueue"),
		"SubscriptionDeadLetterQueueUrl": url("SubscriptionDeadLetterQueue"),
		"TableName":                      "{OrdersTable Ref}", "FunctionName": "{OrdersFunction Ref}",
		"LogGroupName": "{OrdersLogGroup Ref}", "FindingsLogGroupName": "{FindingsLogGroup Ref}",
		"DashboardUrl": "https://eu-central-1.console.aws.amazon.com/cloudwatch/home?region=eu-central-1#dashboards:name={Dashboard Ref}",
	}
	for name := range s.outputs {
		if _, ok := want[name]; !ok {
			complain("output %s is unknown; remove it, or add it to outputs", name)
		}
	}
	for name, value := range want {
		o, _ := s.outputs[name].(map[string]any)
		if got := text(o["Value"]); got != value {
			complain("output %s is %q; it has to be %q", name, got, value)
		}
		if keys := slices.Sorted(maps.Keys(o)); !slices.Equal(keys, []string{"Description", "Value"}) {
			complain("output %s has %v; it has to have Description and Value, and nothing that another stack could depend on", name, keys)
		}
	}
	return problems
}

// lifecycles: what is deleted with the stack and what stays. Without its key nothing
// that it encrypted can be read; all else would keep its name from the next stack.
func lifecycles(s *stack) (problems []string) {
	for name, r := range s.resources {
		want := map[string]string{
			"AWS::KMS::Key": "Retain", "AWS::SQS::Queue": "Delete", "AWS::DynamoDB::Table": "Delete", "AWS::Logs::LogGroup": "Delete",
		}[text(r["Type"])]
		for _, attribute := range []string{"UpdateReplacePolicy", "DeletionPolicy"} {
			got := text(r[attribute])
			if attribute == "DeletionPolicy" && want == "Retain" {
				want = "RetainExceptOnCreate" // what was never there has encrypted nothing
			}
			if got != want {
				problems = append(problems, fmt.Sprintf("%s.%s is %q; it has to be %q", name, attribute, got, want))
			}
		}
	}
	return problems
}

// Nothing in the stack is of one partition, Region or account.
func TestTemplate_AnyPartition(t *testing.T) {
	t.Parallel()
	template := load(t)
	for _, tt := range []struct{ partition, region, suffix, console string }{
		{"aws", "us-east-1", "amazonaws.com", "us-east-1.console.aws.amazon.com"},
		{"aws-cn", "cn-north-1", "amazonaws.com.cn", "console.amazonaws.cn"},
		{"aws-us-gov", "us-gov-west-1", "amazonaws.com", "console.amazonaws-us-gov.com"},
	} {
		place := map[string]string{
			"AWS::StackName": "shop", "AWS::AccountId": "444455556666",
			"AWS::Region": tt.region, "AWS::Partition": tt.partition, "AWS::URLSuffix": tt.suffix,
		}
		s, err := evaluateIn(place, template, map[string]string{"KmsKeyArn": "new"})
		if err != nil {
			t.Fatal(err)
		}
		all := fmt.Sprint(s.resources)
		for _, other := range []string{"eu-central-1", "111122223333", "us-east-1", "arn:aws:", ".amazonaws.com/"} {
			if strings.Contains(all, other) && !strings.Contains("arn:"+tt.partition+": "+tt.region+" ."+tt.suffix+"/", other) {
				t.Errorf("in %s there is %s somewhere in the resources; use a pseudo parameter", tt.region, other)
			}
		}
		if want := "logs." + tt.region + "." + tt.suffix + "]"; !strings.Contains(all, want) {
			t.Errorf("in %s nothing is for the principal %s", tt.region, want)
		}
		if got, want := text(get(s.outputs, "DashboardUrl", "Value")), "https://"+tt.console+"/cloudwatch/"; !strings.HasPrefix(got, want) {
			t.Errorf("in %s the dashboard is at %s, want %s", tt.region, got, want)
		}
	}
}
