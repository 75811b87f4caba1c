package templatetest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// alarm is what one watches, and when it tells.
type alarm struct {
	namespace, metric, dimensions string
	statistic                     string
	period, evaluations           int
	threshold                     string
}

func dimension(name, value string) string { return fmt.Sprintf("[map[Name:%s Value:%s]]", name, value) }

// needed are the alarms that a stack has, AT-07 among them.
func (s *stack) needed() (all []alarm) {
	dead := s.deadLetterQueues()
	for _, q := range dead {
		of := dimension("QueueName", text(s.property(q, "QueueName")))
		all = append(all,
			alarm{"AWS/SQS", "ApproximateNumberOfMessagesVisible", of, "Maximum", 60, 1, "1"},
			// Half of the 14 days, so that there is time to act.
			alarm{"AWS/SQS", "ApproximateAgeOfOldestMessage", of, "Maximum", 3600, 1, fmt.Sprint(7 * day)})
	}
	for _, m := range s.sources() {
		function := dimension("FunctionName", "{"+m.function+" Ref}")
		all = append(all,
			alarm{"AWS/Lambda", "Errors", function, "Sum", 60, 1, "1"},
			alarm{"AWS/Lambda", "Throttles", function, "Sum", 60, 3, "1"})
		if !slices.Contains(dead, m.queue) {
			of := dimension("QueueName", text(s.property(m.queue, "QueueName")))
			all = append(all, alarm{"AWS/SQS", "ApproximateAgeOfOldestMessage", of, "Maximum", 60, 3, s.params["OldestMessageAlarmSeconds"]})
		}
	}
	for _, topic := range s.of("AWS::SNS::Topic") {
		of := dimension("TopicName", text(s.property(topic, "TopicName")))
		all = append(all, alarm{"AWS/SNS", "NumberOfNotificationsFailedToRedriveToDlq", of, "Sum", 60, 1, "1"})
	}
	const own = "Ackwise/shop"
	for _, verdict := range []string{"retry", "deferred"} {
		all = append(all, alarm{own, "Outcomes", dimension("verdict", verdict), "Sum", 60, 5, s.params["PutBackAlarmPerMinute"]})
	}
	for _, metric := range []string{"Unrecorded", "NotParked", "Findings", "FindingsNotDone"} {
		all = append(all, alarm{own, metric, "", "Sum", 60, 1, "1"})
	}
	return all
}

func (s *stack) alarm(name string) alarm {
	p := func(property string) string { return text(s.property(name, property)) }
	return alarm{
		p("Namespace"), p("MetricName"), p("Dimensions"), p("Statistic"),
		number(s.property(name, "Period"), 0), number(s.property(name, "EvaluationPeriods"), 0), p("Threshold"),
	}
}

func (a alarm) watches(b alarm) bool {
	return a.namespace == b.namespace && a.metric == b.metric && a.dimensions == b.dimensions
}

// alarms: those that are needed, as they are needed, and no others, since nobody
// knows what those would tell.
func alarms(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	need, found := s.needed(), map[int]bool{}
	for _, name := range s.of("AWS::CloudWatch::Alarm") {
		have := s.alarm(name)
		i := slices.IndexFunc(need, have.watches)
		switch {
		case have.metric == "NumberOfMessagesSent":
			complain("%s is on NumberOfMessagesSent, which does not count what a redrive policy moves; use ApproximateNumberOfMessagesVisible", name)
		case i < 0:
			complain("%s is on %s %s %s, which no check knows; correct it, or add it to needed", name, have.namespace, have.metric, have.dimensions)
		case have != need[i]:
			complain("%s is %v; it has to be %v", name, have, need[i])
		}
		if i >= 0 {
			found[i] = true
		}
	}
	for i, a := range need {
		if !found[i] {
			complain("there is no alarm on %s %s %s; add one", a.namespace, a.metric, a.dimensions)
		}
	}
	if len(s.deadLetterQueues()) < 2 {
		complain("there are the dead-letter queues %v; one is for the queue and one for the subscription", s.deadLetterQueues())
	}
	return problems
}

func (a alarm) String() string {
	return fmt.Sprintf("on the %s of %d s, %d times, from %s on", a.statistic, a.period, a.evaluations, a.threshold)
}

// Whoever an alarm calls finds it in the manual.
func TestAlarmsAreExplained(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile(root + "docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	s, err := evaluate(load(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range s.of("AWS::CloudWatch::Alarm") {
		if !strings.Contains(string(manual), "`"+name+"`") {
			t.Errorf("docs/operations.md does not say what %s means", name)
		}
	}
}

// alarmActions: each alarm tells somebody, and what it means.
func alarmActions(s *stack) (problems []string) {
	topic := s.params["AlarmTopicArn"]
	for _, a := range s.of("AWS::CloudWatch::Alarm") {
		var want any
		if topic != "" {
			want = []any{topic}
		}
		for property, want := range map[string]string{
			"AlarmActions":       text(want),
			"ComparisonOperator": "GreaterThanOrEqualToThreshold",
			// SQS, Lambda and filters report nothing while there is nothing to report.
			"TreatMissingData": "notBreaching",
		} {
			if got := text(s.property(a, property)); got != want {
				problems = append(problems, fmt.Sprintf("%s.%s is %q; it has to be %q", a, property, got, want))
			}
		}
		if !strings.HasSuffix(text(s.property(a, "AlarmDescription")), ".") {
			problems = append(problems, a+" has no AlarmDescription that is a sentence")
		}
	}
	return problems
}
