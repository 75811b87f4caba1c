package templatetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// alarmOn finds the alarm on a metric of a queue or a function.
func (s *stack) alarmOn(metric, dimension, value string) string {
	for _, a := range s.of("AWS::CloudWatch::Alarm") {
		want := fmt.Sprintf("[map[Name:%s Value:%s]]", dimension, value)
		if text(s.property(a, "MetricName")) == metric && text(s.property(a, "Dimensions")) == want {
			return a
		}
	}
	return ""
}

// AT-07.
func deadLetterAlarms(s *stack) (problems []string) {
	dead := s.deadLetterQueues()
	if len(dead) == 0 {
		return []string{"there are no dead-letter queues"}
	}
	for _, q := range dead {
		a := s.alarmOn("ApproximateNumberOfMessagesVisible", "QueueName", text(s.property(q, "QueueName")))
		if a == "" {
			problems = append(problems, q+" has no alarm on ApproximateNumberOfMessagesVisible")
			continue
		}
		problems = append(problems, s.expect(a, "AWS/SQS", "Maximum", "1")...)
	}
	return problems
}

// expect says what of an alarm is not as it should be.
func (s *stack) expect(alarm, namespace, statistic, threshold string) (problems []string) {
	for property, want := range map[string]string{
		"Namespace": namespace, "Statistic": statistic, "Threshold": threshold,
		"ComparisonOperator": "GreaterThanOrEqualToThreshold",
		// SQS and Lambda report nothing while there is nothing to report.
		"TreatMissingData": "notBreaching",
	} {
		if got := text(s.property(alarm, property)); got != want {
			problems = append(problems, fmt.Sprintf("%s.%s is %q; it has to be %s", alarm, property, got, want))
		}
	}
	return problems
}

func otherAlarms(s *stack) (problems []string) {
	dead := s.deadLetterQueues()
	for _, m := range s.sources() {
		if slices.Contains(dead, m.queue) {
			continue
		}
		if a := s.alarmOn("ApproximateAgeOfOldestMessage", "QueueName", text(s.property(m.queue, "QueueName"))); a == "" {
			problems = append(problems, m.queue+" has no alarm on ApproximateAgeOfOldestMessage")
		} else {
			problems = append(problems, s.expect(a, "AWS/SQS", "Maximum", s.params["OldestMessageAlarmSeconds"])...)
		}
		for _, metric := range []string{"Errors", "Throttles"} {
			if a := s.alarmOn(metric, "FunctionName", "{"+m.function+" Ref}"); a == "" {
				problems = append(problems, m.function+" has no alarm on "+metric)
			} else {
				problems = append(problems, s.expect(a, "AWS/Lambda", "Sum", "1")...)
			}
		}
	}
	return problems
}

// alarmMetrics: no alarm is on a metric that stays silent, and each tells somebody.
func alarmMetrics(s *stack) (problems []string) {
	filters := map[string]bool{}
	for _, f := range s.of("AWS::Logs::MetricFilter") {
		transformations, _ := s.property(f, "MetricTransformations").([]any)
		for _, t := range transformations {
			filters[text(get(t, "MetricNamespace"))+" "+text(get(t, "MetricName"))] = true
		}
	}
	for _, a := range s.of("AWS::CloudWatch::Alarm") {
		namespace, metric := text(s.property(a, "Namespace")), text(s.property(a, "MetricName"))
		switch {
		case metric == "NumberOfMessagesSent":
			problems = append(problems, a+" is on NumberOfMessagesSent, "+
				"which does not count what a redrive policy moves; use ApproximateNumberOfMessagesVisible")
		case !strings.HasPrefix(namespace, "AWS/") && !filters[namespace+" "+metric]:
			problems = append(problems, fmt.Sprintf("%s is on %s %s, which no metric filter of the template makes", a, namespace, metric))
		}
		want := strings.TrimSuffix("["+s.params["AlarmTopicArn"], "[")
		if want != "" {
			want += "]"
		}
		if got := text(s.property(a, "AlarmActions")); got != want {
			problems = append(problems, fmt.Sprintf("%s.AlarmActions is %q; it has to be %q, the parameter AlarmTopicArn", a, got, want))
		}
		if text(s.property(a, "AlarmDescription")) == "" {
			problems = append(problems, a+" has no AlarmDescription")
		}
	}
	return problems
}

// dashboard: its body is JSON, and is about this stack.
func dashboard(s *stack) (problems []string) {
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
	seen := ""
	for _, w := range body.Widgets {
		if w.Properties.Region != "eu-central-1" || len(w.Properties.Metrics) == 0 {
			problems = append(problems, fmt.Sprintf("%s: widget %q has no metrics, or none of this region", all[0], w.Properties.Title))
		}
		for _, m := range w.Properties.Metrics {
			for _, part := range m {
				seen += " " + text(part)
			}
		}
	}
	for _, q := range s.of("AWS::SQS::Queue") {
		if !strings.Contains(seen, " QueueName "+text(s.property(q, "QueueName"))+" ") {
			problems = append(problems, all[0]+" does not show "+q)
		}
	}
	for _, want := range []string{
		"Errors", "Throttles", "Outcomes verdict retry", "Outcomes verdict duplicate", "Outcomes verdict deferred",
		"WriteThrottleEvents", "NumberOfMessagesDeleted",
	} {
		if !strings.Contains(seen, want) {
			problems = append(problems, all[0]+" does not show "+want)
		}
	}
	return problems
}
