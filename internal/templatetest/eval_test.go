package templatetest

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The account that templates are evaluated in.
var pseudo = map[string]string{
	"AWS::StackName": "shop", "AWS::Region": "eu-central-1", "AWS::AccountId": "111122223333",
	"AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com",
}

const arnStem = ":eu-central-1:111122223333:"

// noValue is AWS::NoValue: what has it as its value is left out.
type noValue struct{}

// evaluator replaces intrinsic functions by what CloudFormation would.
type evaluator struct {
	template   map[string]any
	params     map[string]string
	conditions map[string]bool
	place      map[string]string // values of pseudo parameters
}

// get walks down a tree of mappings; nil if there is nothing.
func get(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// eval panics on what it does not know; stack turns that into an error.
func (e *evaluator) eval(v any) any {
	switch v := v.(type) {
	case []any:
		list := []any{}
		for _, item := range v {
			if r := e.eval(item); r != (noValue{}) {
				list = append(list, r)
			}
		}
		return list
	case map[string]any:
		if len(v) == 1 {
			for name, arg := range v {
				if r, ok := e.function(name, arg); ok {
					return r
				}
			}
		}
		m := make(map[string]any, len(v))
		for name, item := range v {
			if r := e.eval(item); r != (noValue{}) {
				m[name] = r
			}
		}
		return m
	default:
		return v
	}
}

func (e *evaluator) function(name string, arg any) (any, bool) {
	switch name {
	case "Ref":
		return e.ref(arg.(string)), true
	case "Fn::GetAtt":
		list := arg.([]any)
		return e.attribute(list[0].(string), text(list[1])), true
	case "Fn::Sub":
		return e.sub(arg), true
	case "Fn::If":
		list := arg.([]any)
		if e.condition(list[0].(string)) {
			return e.eval(list[1]), true
		}
		return e.eval(list[2]), true
	case "Fn::FindInMap":
		list := e.eval(arg).([]any)
		found := get(e.template, "Mappings", text(list[0]), text(list[1]), text(list[2]))
		if found == nil {
			panic(fmt.Errorf("mapping %v has no %v, %v", list[0], list[1], list[2]))
		}
		return found, true
	case "Fn::Equals":
		list := e.eval(arg).([]any)
		return text(list[0]) == text(list[1]), true
	case "Fn::Not":
		return !e.eval(arg).([]any)[0].(bool), true
	case "Condition":
		s, ok := arg.(string)
		return ok && e.condition(s), ok
	}
	if strings.HasPrefix(name, "Fn::") {
		panic(fmt.Errorf("the tests do not know %s", name))
	}
	return nil, false
}

func (e *evaluator) condition(name string) bool {
	if known, ok := e.conditions[name]; ok {
		return known
	}
	c := get(e.template, "Conditions", name)
	if c == nil {
		panic(fmt.Errorf("there is no condition %s", name))
	}
	e.conditions[name] = e.eval(c).(bool)
	return e.conditions[name]
}

func (e *evaluator) ref(name string) any {
	if name == "AWS::NoValue" {
		return noValue{}
	}
	if v, ok := e.place[name]; ok {
		return v
	}
	if v, ok := e.params[name]; ok {
		return v
	}
	return e.resource(name, "Ref")
}

// resource is the physical id (attribute Ref) or an attribute of a resource.
func (e *evaluator) resource(name, attribute string) string {
	r := get(e.template, "Resources", name)
	if r == nil {
		panic(fmt.Errorf("there is no resource %s", name))
	}
	if c, ok := get(r, "Condition").(string); ok && !e.condition(c) {
		panic(fmt.Errorf("%s is referred to where its condition %s is false", name, c))
	}
	own := func(property string) string { return text(e.eval(get(r, "Properties", property))) }
	arn := func(service, name string) string {
		return strings.Join([]string{"arn", e.place["AWS::Partition"], service, e.place["AWS::Region"], e.place["AWS::AccountId"], name}, ":")
	}
	switch kind := text(get(r, "Type")); kind + " " + attribute {
	case "AWS::SQS::Queue Ref":
		return "https://sqs." + e.place["AWS::Region"] + "." + e.place["AWS::URLSuffix"] + "/" + e.place["AWS::AccountId"] + "/" + own("QueueName")
	case "AWS::SQS::Queue Arn":
		return arn("sqs", own("QueueName"))
	case "AWS::SQS::Queue QueueName":
		return own("QueueName")
	case "AWS::SNS::Topic Ref":
		return arn("sns", own("TopicName"))
	case "AWS::SNS::Topic TopicName":
		return own("TopicName")
	case "AWS::KMS::Key Arn":
		return arn("kms", "key/"+name)
	default:
		return "{" + name + " " + attribute + "}"
	}
}

func (e *evaluator) attribute(name, attribute string) string { return e.resource(name, attribute) }

var variable = regexp.MustCompile(`\$\{([^}]+)\}`)

func (e *evaluator) sub(arg any) string {
	own := map[string]any{}
	if list, ok := arg.([]any); ok {
		own = list[1].(map[string]any)
		arg = list[0]
	}
	return variable.ReplaceAllStringFunc(arg.(string), func(s string) string {
		name := s[2 : len(s)-1]
		if v, ok := own[name]; ok {
			return text(e.eval(v))
		}
		if resource, attribute, ok := strings.Cut(name, "."); ok {
			return e.attribute(resource, attribute)
		}
		return text(e.ref(name))
	})
}

// stack is what becomes of a template with parameters: the resources that there
// are, with their properties.
type stack struct {
	params    map[string]string
	resources map[string]map[string]any
	globals   map[string]any
	outputs   map[string]any
}

// evaluate refuses parameters as CloudFormation does: by their ranges and by the
// template's rules.
func evaluate(template map[string]any, given map[string]string) (*stack, error) {
	return evaluateIn(pseudo, template, given)
}

func evaluateIn(place map[string]string, template map[string]any, given map[string]string) (s *stack, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("evaluating the template: %v", p)
		}
	}()
	params, err := parameters(template, given)
	if err != nil {
		return nil, err
	}
	e := &evaluator{template: template, params: params, conditions: map[string]bool{}, place: place}
	if err := e.rules(); err != nil {
		return nil, err
	}
	s = &stack{params: params, resources: map[string]map[string]any{}}
	resources, _ := get(template, "Resources").(map[string]any)
	for name, r := range resources {
		if c, ok := get(r, "Condition").(string); ok && !e.condition(c) {
			continue
		}
		r := r.(map[string]any)
		kept := maps.Clone(r)
		kept["Properties"] = map[string]any{}
		if p, ok := r["Properties"]; ok {
			kept["Properties"] = e.eval(p)
		}
		s.resources[name] = kept
	}
	s.globals, _ = e.eval(get(template, "Globals", "Function")).(map[string]any)
	s.outputs, _ = e.eval(get(template, "Outputs")).(map[string]any)
	return s, nil
}

func (e *evaluator) rules() error {
	rules, _ := get(e.template, "Rules").(map[string]any)
	for _, rule := range rules {
		if c := get(rule, "RuleCondition"); c != nil && !e.eval(c).(bool) {
			continue
		}
		for _, a := range get(rule, "Assertions").([]any) {
			if !e.eval(get(a, "Assert")).(bool) {
				return errors.New(text(get(a, "AssertDescription")))
			}
		}
	}
	return nil
}

// of returns the names of the resources of a type, sorted.
func (s *stack) of(kind string) []string {
	var names []string
	for name, r := range s.resources {
		if r["Type"] == kind {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// property is a property of a resource; nil if it is not set.
func (s *stack) property(resource string, path ...string) any {
	return get(s.resources[resource]["Properties"], path...)
}
