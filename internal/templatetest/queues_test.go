package templatetest

import (
	"fmt"
	"slices"
	"strings"
)

const day = 24 * 60 * 60

// retention of a queue; SQS's default is 4 days.
func (s *stack) retention(queue string) int {
	return number(s.property(queue, "MessageRetentionPeriod"), 4*day)
}

// deadLetterQueues are those that a redrive policy, of a queue or of a
// subscription, points at.
func (s *stack) deadLetterQueues() []string {
	var all []string
	for _, kind := range []string{"AWS::SQS::Queue", "AWS::SNS::Subscription"} {
		for _, name := range s.of(kind) {
			if q := s.queueOf(text(s.property(name, "RedrivePolicy", "deadLetterTargetArn"))); q != "" && !slices.Contains(all, q) {
				all = append(all, q)
			}
		}
	}
	return all
}

func queueTypes(s *stack) (problems []string) {
	for _, q := range s.of("AWS::SQS::Queue") {
		name := text(s.property(q, "QueueName"))
		problems = append(problems, s.named(q, name, "FifoQueue")...)
		if strings.HasSuffix(name, ".fifo") != s.isFIFO(q) {
			problems = append(problems, fmt.Sprintf("%s is named %s and FifoQueue is %t; "+
				"a FIFO queue's name ends in .fifo, and no other's", q, name, s.isFIFO(q)))
		}
	}
	for _, topic := range s.of("AWS::SNS::Topic") {
		fifo, name := text(s.property(topic, "FifoTopic")) == "true", text(s.property(topic, "TopicName"))
		problems = append(problems, s.named(topic, name, "FifoTopic")...)
		if strings.HasSuffix(name, ".fifo") != fifo {
			problems = append(problems, fmt.Sprintf("%s is named %s and FifoTopic is %t; a FIFO topic's name ends in .fifo, and no other's", topic, name, fifo))
		}
	}
	return problems
}

// named: a name begins with the stack's, so that two stacks can be in one account,
// and CloudFormation takes true, or nothing, for what makes a queue or topic FIFO.
func (s *stack) named(resource, name, fifo string) (problems []string) {
	if !strings.HasPrefix(name, pseudo["AWS::StackName"]+"-") {
		problems = append(problems, fmt.Sprintf("%s is named %s; begin with the name of the stack", resource, name))
	}
	if v := s.property(resource, fifo); v != nil && text(v) != "true" {
		problems = append(problems, fmt.Sprintf("%s.%s is %v; leave it out where it is not true, since CloudFormation refuses it", resource, fifo, v))
	}
	return problems
}

// redrive: a queue that is worked off has a dead-letter queue of its own type that
// keeps for longer and takes from this queue alone.
func redrive(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	dead := s.deadLetterQueues()
	for _, m := range s.sources() {
		if slices.Contains(dead, m.queue) {
			continue
		}
		target := s.queueOf(text(s.property(m.queue, "RedrivePolicy", "deadLetterTargetArn")))
		if target == "" {
			complain("%s has no RedrivePolicy with a queue of this template: what fails for good would go round until it expires", m.queue)
			continue
		}
		if s.isFIFO(target) != s.isFIFO(m.queue) {
			complain("%s: FifoQueue is %t, and %t for %s; a dead-letter queue is of its source's type", target, s.isFIFO(target), s.isFIFO(m.queue), m.queue)
		}
		arn := text(get(s.property(target, "RedriveAllowPolicy"), "sourceQueueArns"))
		if text(s.property(target, "RedriveAllowPolicy", "redrivePermission")) != "byQueue" ||
			arn != "[arn:aws:sqs"+arnStem+text(s.property(m.queue, "QueueName"))+"]" {
			complain("%s.RedriveAllowPolicy is not byQueue with the ARN of %s alone, but %s; "+
				"other queues could use it, or this one could not", target, m.queue, arn)
		}
	}
	for _, q := range s.of("AWS::SQS::Queue") {
		switch isDead := slices.Contains(dead, q); {
		case isDead:
		case s.retention(q) != 4*day:
			complain("%s.MessageRetentionPeriod is %d; make it %d: longer than an outage over a weekend, "+
				"and with ten days left on the dead-letter queue", q, s.retention(q), 4*day)
		case text(s.property(q, "ReceiveMessageWaitTimeSeconds")) != "20":
			complain("%s.ReceiveMessageWaitTimeSeconds is not 20; short polls cost, and miss messages", q)
		}
		if s.property(q, "RedriveAllowPolicy") != nil && !slices.Contains(s.redriveTargets(), q) {
			complain("%s has a RedriveAllowPolicy and is no queue's dead-letter queue; remove it", q)
		}
	}
	for _, q := range dead {
		if s.retention(q) != 14*day {
			complain("%s.MessageRetentionPeriod is %d; keep dead letters for %d, 14 days", q, s.retention(q), 14*day)
		}
		for _, other := range s.of("AWS::SQS::Queue") {
			if s.queueOf(text(s.property(other, "RedrivePolicy", "deadLetterTargetArn"))) == q && s.retention(other) >= s.retention(q) {
				complain("%s keeps messages for %d s and its dead-letter queue %s for %d s; "+
					"a message's age counts on there, so keep them longer", other, s.retention(other), q, s.retention(q))
			}
		}
	}
	return problems
}

// receivesPerAttempt is what a backstop leaves room for: an order of a FIFO group
// is received along with each attempt of every other one of its group that fails
// before it, and any order whenever invocations are throttled or the table is down.
const receivesPerAttempt = 6

// AT-06.
func receives(s *stack) (problems []string) {
	attempts := number(s.property("OrdersFunction", "Environment", "Variables", "ORDERS_MAX_ATTEMPTS"), 0)
	if attempts == 0 {
		return []string{"OrdersFunction has no ORDERS_MAX_ATTEMPTS"}
	}
	for _, q := range s.of("AWS::SQS::Queue") {
		if s.property(q, "RedrivePolicy") == nil {
			continue
		}
		n := number(s.property(q, "RedrivePolicy", "maxReceiveCount"), 0)
		if n < receivesPerAttempt*attempts {
			problems = append(problems, fmt.Sprintf("%s.RedrivePolicy.maxReceiveCount is %d; make it %d or more, %d times ORDERS_MAX_ATTEMPTS: "+
				"SQS counts throttled and deferred deliveries too", q, n, receivesPerAttempt*attempts, receivesPerAttempt))
		}
	}
	return problems
}

func subscriptions(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	all := s.of("AWS::SNS::Subscription")
	if len(all) != 1 {
		complain("there are the subscriptions %v; one is enough, and two would be the same one to SNS", all)
	}
	for _, name := range all {
		queue := s.queueOf(text(s.property(name, "Endpoint")))
		dead := s.queueOf(text(s.property(name, "RedrivePolicy", "deadLetterTargetArn")))
		switch {
		case queue == "" || text(s.property(name, "Protocol")) != "sqs":
			complain("%s is not to a queue of this template", name)
		case dead == "":
			complain("%s has no RedrivePolicy: what SNS cannot deliver would be lost", name)
		case slices.Contains(s.redriveTargets(), dead):
			complain("%s uses %s, the dead-letter queue of a queue; what was never delivered has nothing to do there", name, dead)
		case s.isFIFO(dead) != s.isFIFO(queue):
			complain("%s: its dead-letter queue %s and its queue %s are not of one type", name, dead, queue)
		case text(s.property(name, "RawMessageDelivery")) != "true":
			complain("%s has no RawMessageDelivery: true; orders would come in SNS's envelope, with their attributes inside it", name)
		}
		problems = append(problems, s.policiesFirst(name, queue, dead)...)
		if fifo := strings.HasSuffix(text(s.property(name, "TopicArn")), ".fifo"); queue != "" && fifo != s.isFIFO(queue) {
			complain("%s: topic and queue %s are not of one type", name, queue)
		}
	}
	return problems
}

// policiesFirst: a subscription that is there before the policies of its queues are
// sends what it cannot deliver yet to its dead-letter queue, or loses it.
func (s *stack) policiesFirst(subscription string, queues ...string) (problems []string) {
	for _, p := range s.of("AWS::SQS::QueuePolicy") {
		for _, url := range list(s.property(p, "Queues")) {
			if slices.Contains(queues, s.queueOf(url)) && !slices.Contains(list(s.resources[subscription]["DependsOn"]), p) {
				problems = append(problems, subscription+" has no DependsOn "+p+"; SNS could send before it may")
			}
		}
	}
	return problems
}

// redriveTargets are the dead-letter queues of queues.
func (s *stack) redriveTargets() []string {
	var all []string
	for _, q := range s.of("AWS::SQS::Queue") {
		all = append(all, s.queueOf(text(s.property(q, "RedrivePolicy", "deadLetterTargetArn"))))
	}
	return all
}
