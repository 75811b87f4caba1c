package templatetest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

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

// grant is the least part of a policy: one action on one resource, for one
// principal. A statement is as many of them as it has actions and resources.
type grant struct {
	effect, principal, action, resource string
	condition                           string
}

func (g grant) String() string {
	parts := []string{g.effect}
	for _, p := range []struct{ before, what string }{{"", g.principal}, {"", g.action}, {"on ", g.resource}, {"if ", g.condition}} {
		if p.what != "" {
			parts = append(parts, p.before+p.what)
		}
	}
	return strings.Join(parts, " ")
}

// grants takes a policy apart. What it does not know, such as NotAction, it
// complains about: it could mean anything.
func grants(document any) (all []grant, problems []string) {
	if version := text(get(document, "Version")); version != "2012-10-17" {
		problems = append(problems, fmt.Sprintf("Version is %q; it has to be 2012-10-17", version))
	}
	items, ok := get(document, "Statement").([]any)
	if !ok {
		problems = append(problems, "Statement is no list")
	}
	for _, i := range items {
		statement, _ := i.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(statement)) {
			if !slices.Contains(strings.Fields("Sid Effect Principal Action Resource Condition"), key) {
				problems = append(problems, "a statement has "+key+"; say with Action and Resource what is allowed")
			}
		}
		resources := list(statement["Resource"])
		if len(resources) == 0 {
			resources = []string{""} // the policy of who may take a role has none
		}
		for _, action := range list(statement["Action"]) {
			for _, resource := range resources {
				all = append(all, grant{
					text(statement["Effect"]), text(statement["Principal"]),
					action, resource, text(statement["Condition"]),
				})
			}
		}
	}
	return all, problems
}

// compare holds what policies grant against what is needed, no less and no more.
func compare(owner string, documents []any, need []grant) (problems []string) {
	var have []grant
	for _, d := range documents {
		all, odd := grants(d)
		have = append(have, all...)
		for _, p := range odd {
			problems = append(problems, owner+": "+p)
		}
	}
	for _, g := range need {
		if !slices.Contains(have, g) {
			problems = append(problems, fmt.Sprintf("%s lacks: %v; add it", owner, g))
		}
	}
	for _, g := range have {
		if !slices.Contains(need, g) {
			problems = append(problems, fmt.Sprintf("%s has: %v; nothing needs it, remove it", owner, g))
		}
	}
	return problems
}

func (s *stack) arn(queue string) string {
	return "arn:aws:sqs" + arnStem + text(s.property(queue, "QueueName"))
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
	}
	return problems
}

// permissions: a function may do what it does, and nothing else.
func permissions(s *stack) (problems []string) {
	for _, role := range s.of("AWS::IAM::Role") {
		var need []grant
		for _, f := range s.of("AWS::Serverless::Function") {
			if s.roleOf(f) == role {
				need = append(need, s.needs(f)...)
			}
		}
		var documents []any
		policies, _ := s.property(role, "Policies").([]any)
		for _, p := range policies {
			documents = append(documents, get(p, "PolicyDocument"))
			if name := text(get(p, "PolicyName")); !regexp.MustCompile(`^[\w+=,.@-]{1,128}$`).MatchString(name) {
				problems = append(problems, fmt.Sprintf("%s has a PolicyName %q; use letters, digits and +=,.@_-", role, name))
			}
		}
		if len(need) == 0 {
			problems = append(problems, role+" is no function's role; remove it")
		}
		problems = append(problems, compare(role, documents, need)...)
		trust := []any{s.property(role, "AssumeRolePolicyDocument")}
		problems = append(problems, compare(role, trust, []grant{{"Allow", "map[Service:lambda.amazonaws.com]", "sts:AssumeRole", "", ""}})...)
	}
	return problems
}

// needs is what a function does, by what it is connected with.
func (s *stack) needs(function string) (need []grant) {
	key, services, sends := "", []string{"sqs.eu-central-1.amazonaws.com*"}, false
	may := func(resource string, actions ...string) {
		for _, a := range actions {
			need = append(need, grant{"Allow", "", a, resource, ""})
		}
	}
	group := strings.TrimSuffix(text(s.property(function, "LoggingConfig", "LogGroup")), " Ref}") + " Arn}"
	may(group, "logs:CreateLogStream", "logs:PutLogEvents")
	for _, m := range s.sources() {
		if m.function == function {
			may(s.arn(m.queue), "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility")
			key = text(s.property(m.queue, "KmsMasterKeyId"))
		}
	}
	if q := s.queueOf(text(s.property(function, "Environment", "Variables", "ORDERS_DEAD_LETTER_URL"))); q != "" {
		may(s.arn(q), "sqs:SendMessage")
		sends = true
	}
	if t := text(s.property(function, "Environment", "Variables", "ORDERS_TABLE")); t != "" {
		may(strings.Replace(t, " Ref}", " Arn}", 1), "dynamodb:UpdateItem")
		services = append(services, "dynamodb.eu-central-1.amazonaws.com*")
	}
	if key == "" {
		return need
	}
	// A key is used through the services that it is for.
	condition := fmt.Sprintf("map[StringLike:map[kms:ViaService:%s]]", services[0])
	if len(services) > 1 {
		condition = fmt.Sprintf("map[StringLike:map[kms:ViaService:%v]]", services)
	}
	need = append(need, grant{"Allow", "", "kms:Decrypt", key, condition})
	if sends {
		need = append(need, grant{"Allow", "", "kms:GenerateDataKey", key, condition})
	}
	return need
}

// queuePolicies: SNS may send to the queues it needs, for its topic only, and
// nobody may come without TLS.
func queuePolicies(s *stack) (problems []string) {
	documents := map[string][]any{}
	for _, p := range s.of("AWS::SQS::QueuePolicy") {
		for _, url := range list(s.property(p, "Queues")) {
			q := s.queueOf(url)
			documents[q] = append(documents[q], s.property(p, "PolicyDocument"))
		}
	}
	for _, q := range s.of("AWS::SQS::Queue") {
		if n := len(documents[q]); n != 1 {
			problems = append(problems, fmt.Sprintf("%s has %d policies; give it one, since a second one replaces the first", q, n))
		}
		need := []grant{{"Deny", "*", "sqs:*", s.arn(q), "map[Bool:map[aws:SecureTransport:false]]"}}
		for _, sub := range s.of("AWS::SNS::Subscription") {
			target := s.property(sub, "RedrivePolicy", "deadLetterTargetArn")
			if slices.Contains([]any{s.property(sub, "Endpoint"), target}, any(s.arn(q))) {
				condition := fmt.Sprintf("map[ArnEquals:map[aws:SourceArn:%s]]", text(s.property(sub, "TopicArn")))
				need = append(need, grant{"Allow", "map[Service:sns.amazonaws.com]", "sqs:SendMessage", s.arn(q), condition})
			}
		}
		problems = append(problems, compare("the policy of "+q, documents[q], need)...)
	}
	return problems
}
