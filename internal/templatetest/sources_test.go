package templatetest

import (
	"fmt"
	"slices"
	"strings"
)

// eventSource is an SQS event source of a function.
type eventSource struct {
	function, name string
	queue          string // the resource
	properties     map[string]any
}

func (m eventSource) String() string { return m.function + ".Events." + m.name }

// sources returns every SQS event source of the stack; one of a queue that is not
// in it has no queue.
func (s *stack) sources() []eventSource {
	var all []eventSource
	for _, function := range s.of("AWS::Serverless::Function") {
		events, _ := s.property(function, "Events").(map[string]any)
		for name, e := range events {
			if get(e, "Type") == "SQS" {
				p, _ := get(e, "Properties").(map[string]any)
				all = append(all, eventSource{function, name, s.queueOf(text(p["Queue"])), p})
			}
		}
	}
	return all
}

// queueOf finds a queue by its ARN, its URL or its name.
func (s *stack) queueOf(id string) string {
	for _, q := range s.of("AWS::SQS::Queue") {
		name := text(s.property(q, "QueueName"))
		if id != "" && (id == name || strings.HasSuffix(id, arnStem+name) || strings.HasSuffix(id, "/"+name)) {
			return q
		}
	}
	return ""
}

func (s *stack) isFIFO(queue string) bool { return text(s.property(queue, "FifoQueue")) == "true" }

// number reads a number that may be text; unset is what is said.
func number(v any, unset int) int {
	if v == nil {
		return unset
	}
	n := 0
	if _, err := fmt.Sscan(text(v), &n); err != nil {
		panic(err)
	}
	return n
}

// timeout of a function; Lambda's default is 3 s.
func (s *stack) timeout(function string) int { return number(s.property(function, "Timeout"), 3) }

func partialBatches(s *stack) (problems []string) {
	all := s.sources()
	if len(all) == 0 {
		return []string{"no function has an event of type SQS"}
	}
	for _, m := range all {
		if text(m.properties["FunctionResponseTypes"]) != "[ReportBatchItemFailures]" {
			problems = append(problems, fmt.Sprintf("%v has no FunctionResponseTypes: [ReportBatchItemFailures]; without it "+
				"Lambda deletes what the function reports as failed", m))
		}
	}
	return problems
}

// longestWindow is the batching window that every visibility timeout has room for.
const longestWindow = 60

// DU-04. More than is needed is a mistake too: what an invocation loses as a whole
// waits it out.
func visibility(s *stack) (problems []string) {
	worked := map[string]bool{}
	for _, m := range s.sources() {
		worked[m.queue] = true
		need := 6*s.timeout(m.function) + longestWindow
		if have := number(s.property(m.queue, "VisibilityTimeout"), 30); have != need {
			problems = append(problems, fmt.Sprintf("%s.VisibilityTimeout is %d; make it %d: "+
				"six times the timeout of %s, %d s, and the longest batching window", m.queue, have, need, m.function, s.timeout(m.function)))
		}
		if window := number(m.properties["MaximumBatchingWindowInSeconds"], 0); window > longestWindow {
			problems = append(problems, fmt.Sprintf("%v has a MaximumBatchingWindowInSeconds of %d; "+
				"visibility timeouts have room for %d", m, window, longestWindow))
		}
	}
	for _, q := range s.of("AWS::SQS::Queue") {
		if v := s.property(q, "VisibilityTimeout"); v != nil && !worked[q] {
			problems = append(problems, fmt.Sprintf("%s.VisibilityTimeout is %v; nothing works it off, so leave the default", q, v))
		}
	}
	return problems
}

func eventSources(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, m := range s.sources() {
		size, window := number(m.properties["BatchSize"], 10), number(m.properties["MaximumBatchingWindowInSeconds"], 0)
		switch {
		case m.queue == "":
			complain("%v has a queue that is not in the template", m)
		case s.isFIFO(m.queue) && m.properties["MaximumBatchingWindowInSeconds"] != nil:
			complain("%v has a MaximumBatchingWindowInSeconds, and %s is a FIFO queue; remove it", m, m.queue)
		case s.isFIFO(m.queue) && size > 10:
			complain("%v has a BatchSize of %d, and %s is a FIFO queue; use at most 10", m, size, m.queue)
		case size > 10 && window == 0:
			complain("%v has a BatchSize of %d; set MaximumBatchingWindowInSeconds to 1 or more, or use at most 10", m, size)
		}
		if enabled := m.properties["Enabled"]; enabled != nil && text(enabled) != "true" && !slices.Contains(s.deadLetterQueues(), m.queue) {
			complain("%v is not Enabled; nothing would be worked off", m)
		}
		if n := number(get(m.properties, "ScalingConfig", "MaximumConcurrency"), 0); n < 2 || n > 1000 {
			complain("%v has no ScalingConfig.MaximumConcurrency of 2 to 1000; reserved concurrency alone throttles, and throttling uses up receives", m)
		}
	}
	return problems
}
