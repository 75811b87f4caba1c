package templatetest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parameters gives each parameter what was given or its default, and refuses what
// is out of range with the message that CloudFormation would have.
func parameters(template map[string]any, given map[string]string) (map[string]string, error) {
	declared, _ := get(template, "Parameters").(map[string]any)
	for name := range given {
		if declared[name] == nil {
			return nil, fmt.Errorf("there is no parameter %s", name)
		}
	}
	values := make(map[string]string)
	for name, d := range declared {
		value, ok := given[name]
		if !ok {
			value = text(get(d, "Default"))
		}
		if err := inRange(d, value); err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		values[name] = value
	}
	return values, nil
}

func inRange(declared any, value string) error {
	if allowed, ok := get(declared, "AllowedValues").([]any); ok {
		if !slices.ContainsFunc(allowed, func(a any) bool { return text(a) == value }) {
			return fmt.Errorf("%q is not one of %v", value, allowed)
		}
	}
	if text(get(declared, "Type")) == "Number" {
		n, err := strconv.Atoi(value)
		if err != nil {
			return err
		}
		if least, ok := get(declared, "MinValue").(int); ok && n < least {
			return fmt.Errorf("%d is less than %d", n, least)
		}
		if most, ok := get(declared, "MaxValue").(int); ok && n > most {
			return fmt.Errorf("%d is more than %d", n, most)
		}
	}
	if pattern := text(get(declared, "AllowedPattern")); pattern != "" && !regexp.MustCompile("^(?:"+pattern+")$").MatchString(value) {
		return fmt.Errorf("%q %v", value, get(declared, "ConstraintDescription"))
	}
	return nil
}

// Every parameter can be set by somebody who has only the console before them.
func TestParametersAreDeclared(t *testing.T) {
	t.Parallel()
	declared, _ := get(load(t), "Parameters").(map[string]any)
	if len(declared) == 0 {
		t.Fatal("the template has no parameters")
	}
	for name, d := range declared {
		properties, _ := d.(map[string]any)
		for property := range properties {
			const known = "Type Description Default AllowedValues AllowedPattern ConstraintDescription MinValue MaxValue"
			if !slices.Contains(strings.Fields(known), property) {
				t.Errorf("parameter %s has %s, which no check looks at", name, property)
			}
		}
		if text(get(d, "Description")) == "" {
			t.Errorf("parameter %s has no Description", name)
		}
		if get(d, "Default") == nil {
			t.Errorf("parameter %s has no Default: sam deploy would not run without a flag", name)
		}
		bounded := get(d, "AllowedValues") != nil || get(d, "AllowedPattern") != nil || (get(d, "MinValue") != nil && get(d, "MaxValue") != nil)
		if !bounded {
			t.Errorf("parameter %s has no range: set AllowedValues, AllowedPattern, or MinValue and MaxValue", name)
		}
		if get(d, "AllowedPattern") != nil && text(get(d, "ConstraintDescription")) == "" {
			t.Errorf("parameter %s has an AllowedPattern and no ConstraintDescription: nobody reads a pattern in an error", name)
		}
	}
}

func TestBadParametersAreRefused(t *testing.T) {
	t.Parallel()
	template := load(t)
	for _, tt := range []struct{ params, why string }{
		{"Architecture=x86", "one of [arm64 x86_64]"},
		{"FunctionTimeout=45", "FunctionTimeout"},
		{"FunctionTimeout=901", "FunctionTimeout"},
		{"MemorySize=64", "less than 128"},
		{"MaxAttempts=0", "less than 1"},
		{"MaxAttempts=16", "more than 15"},
		{"MaxReceiveCount=99", "less than 100"},
		{"MaxReceiveCount=1001", "more than 1000"},
		{"BatchSize=11", "more than 10"},
		{"BatchSize=0", "less than 1"},
		{"BatchingWindow=61", "more than 60"},
		{"MaximumConcurrency=1", "less than 2"},
		{"MaximumConcurrency=1001", "more than 1000"},
		{"Fifo=yes", "one of [true false]"},
		{"Fifo=true BatchingWindow=5", "takes no batching window"},
		{"KmsKeyArn=alias/orders", "whole ARN of a key"},
		{"KmsKeyArn=New", "whole ARN of a key"},
		{"KmsKeyArn=none", "whole ARN of a key"},
		{"KmsKeyArn=arn:aws:kms:eu-central-1:111122223333:key/", "whole ARN of a key"},
		{"KmsKeyArn=arn:aws:kms:eu-central-1:111122223333:key/../alias/aws/sqs", "whole ARN of a key"},
		{"KmsKeyArn=xarn:aws:kms:eu-central-1:111122223333:key/0a1b2c3d", "whole ARN of a key"},
		{"KmsKeyArn=arn:aws:sqs:eu-central-1:111122223333:key/0a1b2c3d", "whole ARN of a key"},
		{"KmsKeyArn=arn:aws:kms:eu-central-1:1111:key/0a1b2c3d", "whole ARN of a key"},
		{"AlarmTopicArn=arn:aws:sqs:eu-central-1:111122223333:alarms", "ARN of a standard topic"},
		{"FunctionTimeout=3", "FunctionTimeout"},
		{"FunctionTimeout=240", "FunctionTimeout"},
		{"BatchingWindow=-1", "less than 0"},
		{"MemorySize=10241", "more than 10240"},
		{"DrainDeadLetters=True", "DrainDeadLetters"},
		{"KmsKeyArn=arn:aws:kms:eu-central-1:111122223333:alias/orders", "whole ARN of a key"},
		{"AlarmTopicArn=alarms", "ARN of a standard topic"},
		{"AlarmTopicArn=arn:aws:sns:eu-central-1:111122223333:alarms.fifo", "ARN of a standard topic"},
		{"LogRetentionDays=2", "LogRetentionDays"},
		{"OldestMessageAlarmSeconds=59", "less than 60"},
		{"OldestMessageAlarmSeconds=259201", "more than 259200"},
		{"PutBackAlarmPerMinute=0", "less than 1"},
		{"PutBackAlarmPerMinute=100001", "more than 100000"},
		{"DrainDeadLetters=on", "DrainDeadLetters"},
	} {
		_, err := evaluate(template, split(tt.params))
		switch {
		case err == nil:
			t.Errorf("%s is accepted; narrow what template.yaml allows, so that it is refused with %q", tt.params, tt.why)
		case !strings.Contains(err.Error(), tt.why):
			t.Errorf("%s: %v; want a refusal that says %q", tt.params, err, tt.why)
		}
	}
}

// CloudFormation finds a timeout without a visibility only when it is chosen.
func TestEachTimeoutHasItsVisibility(t *testing.T) {
	t.Parallel()
	template := load(t)
	timing, _ := get(template, "Mappings", "Timing").(map[string]any)
	allowed := list(get(template, "Parameters", "FunctionTimeout", "AllowedValues"))
	slices.Sort(allowed)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(timing)), allowed); diff != "" {
		t.Errorf("timeouts (-in the mapping Timing +allowed):\n%s", diff)
	}
}

// What comes of pressing return all the way through sam deploy --guided.
func TestDefaults(t *testing.T) {
	t.Parallel()
	got, err := parameters(load(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"Architecture": "arm64", "FunctionTimeout": "30", "MemorySize": "256", "MaxAttempts": "5", "LogRetentionDays": "30",
		"Fifo": "false", "BatchSize": "10", "BatchingWindow": "0", "MaximumConcurrency": "10", "MaxReceiveCount": "100", "KmsKeyArn": "",
		"DrainDeadLetters": "false", "AlarmTopicArn": "", "OldestMessageAlarmSeconds": "900", "PutBackAlarmPerMinute": "10",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// split reads parameters as --parameter-overrides has them.
func split(params string) map[string]string {
	m := make(map[string]string)
	for p := range strings.FieldsSeq(params) {
		name, value, _ := strings.Cut(p, "=")
		m[name] = value
	}
	return m
}
