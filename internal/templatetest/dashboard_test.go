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
		{"AWS::SNS::Topic", "TopicName", "NumberOfNotificationsFailed NumberOfNotificationsFailedToRedriveToDlq"},
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

// widget is one graph.
type widget struct {
	Type                string
	X, Y, Width, Height int
	Properties          struct {
		Title, Region, Stat string
		Period              int
		Metrics             [][]any
	}
}

// dashboard: its body is JSON, it shows what there is, and nothing that there is
// not: CloudWatch takes any name, and shows an empty graph.
func dashboard(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	all := s.of("AWS::CloudWatch::Dashboard")
	if len(all) != 1 {
		return []string{fmt.Sprintf("there are the dashboards %v", all)}
	}
	if got := text(s.property(all[0], "DashboardName")); got != "shop-orders" {
		complain("%s.DashboardName is %q; begin with the name of the stack", all[0], got)
	}
	var body struct{ Widgets []widget }
	if err := json.Unmarshal([]byte(text(s.property(all[0], "DashboardBody"))), &body); err != nil {
		return []string{fmt.Sprintf("%s.DashboardBody: %v", all[0], err)}
	}
	there, shown, corners := s.series(), map[string]bool{}, map[string]bool{}
	for _, w := range body.Widgets {
		problems = append(problems, w.layout(corners)...)
		for _, m := range w.Properties.Metrics {
			name, options := row(m)
			if shown[name] = true; !there[name] {
				complain("%s shows %q, which there is not; correct it, or add it to series", all[0], name)
				continue
			}
			problems = append(problems, w.options(name, options)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if s.mustShow(name) && !shown[name] {
			complain("%s does not show %s", all[0], name)
		}
	}
	return problems
}

// row is a metric as a dashboard has it: words, and options at the end.
func row(m []any) (name string, options map[string]any) {
	var words []string
	for _, word := range m {
		switch word := word.(type) {
		case string:
			words = append(words, word)
		case map[string]any:
			options = word
		}
	}
	return strings.Join(words, " "), options
}

// layout: a graph of this Region, by the minute, that covers no other.
func (w widget) layout(corners map[string]bool) (problems []string) {
	complain := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf("Dashboard: widget %q ", w.Properties.Title)+fmt.Sprintf(format, args...))
	}
	if w.Type != "metric" {
		complain("is of type %q; make it metric", w.Type)
	}
	if w.Properties.Region != "eu-central-1" || len(w.Properties.Metrics) == 0 {
		complain("has no metrics, or none of this region")
	}
	if w.Properties.Period != 60 {
		complain("has a period of %d; make it 60", w.Properties.Period)
	}
	corner := fmt.Sprint(w.X, w.Y)
	if corners[corner] || w.X%12 != 0 || w.X > 12 || w.Y%6 != 0 || w.Width != 12 || w.Height != 6 {
		complain("at %s covers another, or is out of line", corner)
	}
	corners[corner] = true
	return problems
}

// options: levels are shown by their maximum, and events by their sum.
func (w widget) options(series string, options map[string]any) (problems []string) {
	metric := strings.Fields(series)[1]
	stat, want := w.Properties.Stat, "Sum"
	switch {
	case strings.HasPrefix(metric, "Approximate"), metric == "ConcurrentExecutions":
		want = "Maximum"
	case metric == "Duration":
		want = "p99"
	}
	for name, v := range options {
		switch {
		case name == "stat":
			stat = text(v)
		case name == "label", name == "yAxis" && v == "right":
		default:
			problems = append(problems, fmt.Sprintf("Dashboard: %s has the option %s: %v, which no check looks at", series, name, v))
		}
	}
	if stat != want {
		problems = append(problems, fmt.Sprintf("Dashboard shows %s by %s; make it %s", series, stat, want))
	}
	return problems
}

// mustShow leaves out what is of no use: how many were deleted from a dead-letter
// queue, for one.
func (s *stack) mustShow(series string) bool {
	switch words := strings.Fields(series); words[1] {
	case "ApproximateNumberOfMessagesVisible", "Errors", "Throttles", "WriteThrottleEvents",
		"NumberOfNotificationsFailed", "NumberOfNotificationsFailedToRedriveToDlq":
		return true
	case "NumberOfMessagesDeleted", "ApproximateNumberOfMessagesNotVisible", "ApproximateAgeOfOldestMessage":
		return !slices.Contains(s.deadLetterQueues(), s.queueOf(words[3]))
	default:
		return strings.HasPrefix(series, "Ackwise/")
	}
}
