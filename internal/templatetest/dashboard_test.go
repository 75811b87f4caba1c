package templatetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// series are the metrics there are to show: those of AWS that the dashboard can use,
// of every resource of the stack, and those that metric filters make.
func (s *stack) series() map[string]bool {
	all := map[string]bool{}
	for _, of := range []struct{ kind, dimension, metrics string }{
		{"AWS::SQS::Queue", "QueueName", "ApproximateNumberOfMessagesVisible ApproximateNumberOfMessagesNotVisible " +
			"ApproximateAgeOfOldestMessage NumberOfMessagesDeleted"},
		{"AWS::SNS::Topic", "TopicName", "NumberOfNotificationsFailed"},
		{"AWS::Serverless::Function", "FunctionName", "Invocations Errors Throttles ConcurrentExecutions Duration"},
		{"AWS::DynamoDB::Table", "TableName", "ConsumedWriteCapacityUnits WriteThrottleEvents"},
	} {
		namespace := strings.Replace("AWS/"+strings.Split(of.kind, "::")[1], "Serverless", "Lambda", 1)
		for _, r := range s.of(of.kind) {
			id := text(s.property(r, of.dimension))
			if id == "" {
				id = "{" + r + " Ref}" // CloudFormation names it
			}
			for metric := range strings.FieldsSeq(of.metrics) {
				all[strings.Join([]string{namespace, metric, of.dimension, id}, " ")] = true
			}
		}
	}
	for _, f := range filters {
		if !f.verdicts {
			all["Ackwise/shop "+f.metric] = true
			continue
		}
		for _, verdict := range []string{"retry", "deferred", "duplicate", "rejected"} {
			all["Ackwise/shop "+f.metric+" verdict "+verdict] = true
		}
	}
	return all
}

// dashboard: its body is JSON, it shows what there is, and nothing that there is
// not: CloudWatch takes any name, and shows an empty graph.
func dashboard(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	all := s.of("AWS::CloudWatch::Dashboard")
	if len(all) != 1 {
		return []string{fmt.Sprintf("there are the dashboards %v", all)}
	}
	var body struct {
		Widgets []struct {
			Properties struct {
				Title, Region string
				Metrics       [][]any
			}
		}
	}
	if err := json.Unmarshal([]byte(text(s.property(all[0], "DashboardBody"))), &body); err != nil {
		return []string{fmt.Sprintf("%s.DashboardBody: %v", all[0], err)}
	}
	there, shown := s.series(), map[string]bool{}
	for _, w := range body.Widgets {
		if w.Properties.Region != "eu-central-1" || len(w.Properties.Metrics) == 0 {
			complain("%s: widget %q has no metrics, or none of this region", all[0], w.Properties.Title)
		}
		for _, m := range w.Properties.Metrics {
			var words []string
			for _, word := range m {
				if word, ok := word.(string); ok {
					words = append(words, word)
				}
			}
			name := strings.Join(words, " ")
			if shown[name] = true; !there[name] {
				complain("%s shows %q, which there is not; correct it, or add it to series", all[0], name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if s.mustShow(name) && !shown[name] {
			complain("%s does not show %s", all[0], name)
		}
	}
	return problems
}

// mustShow leaves out what is of no use: how many were deleted from a dead-letter
// queue, for one.
func (s *stack) mustShow(series string) bool {
	switch words := strings.Fields(series); words[1] {
	case "ApproximateNumberOfMessagesVisible", "Errors", "Throttles", "WriteThrottleEvents", "NumberOfNotificationsFailed":
		return true
	case "NumberOfMessagesDeleted", "ApproximateNumberOfMessagesNotVisible", "ApproximateAgeOfOldestMessage":
		return !slices.Contains(s.deadLetterQueues(), s.queueOf(words[3]))
	default:
		return strings.HasPrefix(series, "Ackwise/")
	}
}
