package templatetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// known are the types of resources that checks look at, with the properties that
// they look at. What is not here can undo what a check found to be right (a filter
// on a subscription, a second policy, a delay), so it is refused until a check
// knows it.
var known = map[string]string{
	"AWS::SQS::Queue": "QueueName FifoQueue VisibilityTimeout MessageRetentionPeriod ReceiveMessageWaitTimeSeconds " +
		"SqsManagedSseEnabled KmsMasterKeyId RedrivePolicy RedriveAllowPolicy",
	"AWS::SQS::QueuePolicy":  "Queues PolicyDocument",
	"AWS::SNS::Topic":        "TopicName FifoTopic KmsMasterKeyId",
	"AWS::SNS::Subscription": "TopicArn Protocol Endpoint RawMessageDelivery RedrivePolicy",
	"AWS::KMS::Key":          "Description EnableKeyRotation KeyPolicy",
	"AWS::DynamoDB::Table": "BillingMode AttributeDefinitions KeySchema TimeToLiveSpecification " +
		"PointInTimeRecoverySpecification SSESpecification",
	"AWS::Serverless::Function": "Description CodeUri Timeout MemorySize Role LoggingConfig Environment Events",
	"AWS::IAM::Role":            "AssumeRolePolicyDocument Policies",
	"AWS::Logs::LogGroup":       "RetentionInDays KmsKeyId",
	"AWS::Logs::MetricFilter":   "LogGroupName FilterPattern MetricTransformations",
	"AWS::CloudWatch::Alarm": "AlarmDescription Namespace MetricName Dimensions Statistic Period EvaluationPeriods " +
		"Threshold ComparisonOperator TreatMissingData AlarmActions",
	"AWS::CloudWatch::Dashboard": "DashboardName DashboardBody",
}

const (
	knownGlobals    = "Runtime Handler Architectures Environment"
	knownOfEvents   = "Queue Enabled BatchSize MaximumBatchingWindowInSeconds FunctionResponseTypes ScalingConfig"
	knownAttributes = "Type Metadata Condition DependsOn DeletionPolicy UpdateReplacePolicy Properties"
)

func onlyKnown(s *stack) (problems []string) {
	within := func(of string, names map[string]any, allowed string) {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !slices.Contains(strings.Fields(allowed), name) {
				problems = append(problems, fmt.Sprintf("%s has %s, which no check looks at; remove it, or add a check and then its name to known", of, name))
			}
		}
	}
	for name, r := range s.resources {
		kind := text(r["Type"])
		allowed, ok := known[kind]
		if !ok {
			problems = append(problems, fmt.Sprintf("%s is an %s, which no check looks at; remove it, or add a check and then its type to known", name, kind))
			continue
		}
		within(name, r, knownAttributes)
		properties, _ := r["Properties"].(map[string]any)
		within(name, properties, allowed)
		events, _ := properties["Events"].(map[string]any)
		for event, e := range events {
			of := name + ".Events." + event
			if get(e, "Type") != "SQS" {
				problems = append(problems, of+" is no event of SQS, and no check looks at others")
			}
			p, _ := get(e, "Properties").(map[string]any)
			within(of, p, knownOfEvents)
		}
	}
	within("Globals.Function", s.globals, knownGlobals)
	return problems
}
