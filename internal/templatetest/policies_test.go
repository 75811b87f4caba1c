package templatetest

import (
	"fmt"
	"slices"
	"strings"
)

// statement is one of a policy.
type statement struct {
	owner              string // the resource that has it
	effect             string
	actions, resources []string
	principal          any
	condition          any
}

// list makes a list of a text or of a list of texts.
func list(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, text(item))
		}
		return all
	default:
		return []string{text(v)}
	}
}

func statements(owner string, document any) []statement {
	var all []statement
	items, _ := get(document, "Statement").([]any)
	for _, i := range items {
		all = append(all, statement{owner, text(get(i, "Effect")), list(get(i, "Action")), list(get(i, "Resource")), get(i, "Principal"), get(i, "Condition")})
	}
	return all
}

// granted are the statements of a role.
func (s *stack) granted(role string) []statement {
	var all []statement
	policies, _ := s.property(role, "Policies").([]any)
	for _, p := range policies {
		all = append(all, statements(role, get(p, "PolicyDocument"))...)
	}
	return all
}

// allows reports whether statements allow an action on a resource, by name.
func allows(all []statement, action, resource string) bool {
	return slices.ContainsFunc(all, func(st statement) bool {
		return st.effect == "Allow" && slices.Contains(st.actions, action) && slices.Contains(st.resources, resource)
	})
}

func (s *stack) arn(queue string) string {
	return "arn:aws:sqs" + arnStem + text(s.property(queue, "QueueName"))
}

// wildcards: a policy names what it is about. The policy of a key is about that
// key, which it calls *; a Deny is the stricter the more it covers.
func wildcards(s *stack) (problems []string) {
	var all []statement
	for _, role := range s.of("AWS::IAM::Role") {
		all = append(all, s.granted(role)...)
		if s.property(role, "ManagedPolicyArns") != nil {
			problems = append(problems, role+" has ManagedPolicyArns; write down what it needs, since policies of AWS are for every resource")
		}
	}
	for _, p := range s.of("AWS::SQS::QueuePolicy") {
		all = append(all, statements(p, s.property(p, "PolicyDocument"))...)
	}
	for _, st := range all {
		if st.effect != "Allow" {
			continue
		}
		for _, r := range st.resources {
			if strings.Contains(r, "*") {
				problems = append(problems, fmt.Sprintf("%s allows %v on %s; name the resource", st.owner, st.actions, r))
			}
		}
		for _, a := range st.actions {
			if strings.Contains(a, "*") {
				problems = append(problems, fmt.Sprintf("%s allows %s; name the action", st.owner, a))
			}
		}
		if text(st.principal) == "*" || text(get(st.principal, "AWS")) == "*" {
			problems = append(problems, st.owner+" allows everybody; name the principal")
		}
	}
	return problems
}

// roleOf is the role of a function, where it is one of the template's own.
func (s *stack) roleOf(function string) string {
	for _, role := range s.of("AWS::IAM::Role") {
		if text(s.property(function, "Role")) == "{"+role+" Arn}" {
			return role
		}
	}
	return ""
}

func roles(s *stack) (problems []string) {
	for _, f := range s.of("AWS::Serverless::Function") {
		if s.roleOf(f) == "" {
			problems = append(problems, f+" has no Role of this template; "+
				"SAM would make one, with AWSLambdaSQSQueueExecutionRole, which receives and deletes from every queue")
		}
		if s.property(f, "Policies") != nil {
			problems = append(problems, f+" has Policies beside its Role, which SAM ignores; move them to the role")
		}
	}
	return problems
}

// permissions: a function may do what it does, and nothing else.
func permissions(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, f := range s.of("AWS::Serverless::Function") {
		granted, may := s.granted(s.roleOf(f)), map[string]bool{}
		need := func(action, resource string) {
			may[action+" "+resource] = true
			if !allows(granted, action, resource) {
				complain("%s may not %s on %s, which %s does; add it to the role", s.roleOf(f), action, resource, f)
			}
		}
		group := "{" + strings.Trim(text(s.property(f, "LoggingConfig", "LogGroup")), "{}")
		group = strings.TrimSuffix(group, " Ref") + " Arn}"
		need("logs:CreateLogStream", group)
		need("logs:PutLogEvents", group)
		for _, q := range s.consumes(f) {
			for _, action := range []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"} {
				need(action, s.arn(q))
			}
			if key := text(s.property(q, "KmsMasterKeyId")); key != "" {
				need("kms:Decrypt", key)
			}
		}
		if q := s.queueOf(text(s.property(f, "Environment", "Variables", "ORDERS_DEAD_LETTER_URL"))); q != "" {
			need("sqs:SendMessage", s.arn(q))
			if key := text(s.property(q, "KmsMasterKeyId")); key != "" {
				need("kms:GenerateDataKey", key)
			}
		}
		if t := text(s.property(f, "Environment", "Variables", "ORDERS_TABLE")); t != "" {
			need("dynamodb:UpdateItem", strings.Replace(t, " Ref}", " Arn}", 1))
		}
		for _, st := range granted {
			for _, a := range st.actions {
				for _, r := range st.resources {
					if !may[a+" "+r] {
						complain("%s may %s on %s, which %s never does; remove it", st.owner, a, r, f)
					}
				}
			}
		}
	}
	return problems
}

// consumes are the queues that invoke a function.
func (s *stack) consumes(function string) []string {
	var all []string
	for _, m := range s.sources() {
		if m.function == function {
			all = append(all, m.queue)
		}
	}
	return all
}

// queuePolicies: SNS may send to the queues it needs, for its topic only, and
// nobody may come without TLS.
func queuePolicies(s *stack) (problems []string) {
	byQueue := map[string][]statement{}
	for _, p := range s.of("AWS::SQS::QueuePolicy") {
		for _, url := range list(s.property(p, "Queues")) {
			q := s.queueOf(url)
			byQueue[q] = append(byQueue[q], statements(p, s.property(p, "PolicyDocument"))...)
		}
	}
	for _, sub := range s.of("AWS::SNS::Subscription") {
		topic := text(s.property(sub, "TopicArn"))
		for _, arn := range []string{text(s.property(sub, "Endpoint")), text(s.property(sub, "RedrivePolicy", "deadLetterTargetArn"))} {
			q := s.queueOf(arn)
			lets := slices.ContainsFunc(byQueue[q], func(st statement) bool {
				return allows([]statement{st}, "sqs:SendMessage", arn) && text(get(st.principal, "Service")) == "sns.amazonaws.com" &&
					text(get(st.condition, "ArnEquals", "aws:SourceArn")) == topic
			})
			if !lets {
				problems = append(problems, fmt.Sprintf("%s: no policy of %s lets sns.amazonaws.com send "+
					"with the condition ArnEquals aws:SourceArn %s; SNS could not deliver, or any topic could", sub, q, topic))
			}
		}
	}
	for _, q := range s.of("AWS::SQS::Queue") {
		denies := slices.ContainsFunc(byQueue[q], func(st statement) bool {
			return st.effect == "Deny" && text(st.principal) == "*" && slices.Contains(st.actions, "sqs:*") &&
				slices.Contains(st.resources, s.arn(q)) && text(get(st.condition, "Bool", "aws:SecureTransport")) == "false"
		})
		if !denies {
			problems = append(problems, q+" has no policy that denies sqs:* where aws:SecureTransport is false")
		}
	}
	return problems
}
