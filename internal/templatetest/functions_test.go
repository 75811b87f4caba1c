package templatetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// functions: what `sam build` needs to make a bootstrap of a Go program, and what
// the program needs to know.
func functions(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for _, f := range s.of("AWS::Serverless::Function") {
		setting := func(name string) string {
			if v := s.property(f, name); v != nil {
				return text(v)
			}
			return text(s.globals[name])
		}
		for name, want := range map[string]string{
			"Runtime": "provided.al2023", "Handler": "bootstrap", "Architectures": "[" + s.params["Architecture"] + "]",
		} {
			if got := setting(name); got != want {
				complain("%s.%s is %q; it has to be %s", f, name, got, want)
			}
		}
		if text(get(s.resources[f]["Metadata"], "BuildMethod")) != "go1.x" {
			complain("%s has no Metadata.BuildMethod: go1.x; sam build would look for a Makefile", f)
		}
		if n := s.timeout(f); n < 10 || n > 900 {
			complain("%s.Timeout is %d; use 10 to 900", f, n)
		}
		program, err := readProgram(text(s.property(f, "CodeUri")))
		if err != nil {
			complain("%s.CodeUri: %v", f, err)
			continue
		}
		variables, _ := s.property(f, "Environment", "Variables").(map[string]any)
		for name := range variables {
			if !strings.Contains(program, `getenv("`+name+`")`) {
				complain("%s has the variable %s, which its program does not read", f, name)
			}
		}
		if get(s.globals, "Environment", "Variables", "AWS_ENDPOINT_URL") == nil {
			complain("Globals declare no AWS_ENDPOINT_URL; sam local could not point a function at a queue on this machine")
		}
	}
	for name, want := range map[string]string{
		"ORDERS_TABLE":           "{OrdersTable Ref}",
		"ORDERS_DEAD_LETTER_URL": "https://sqs.eu-central-1.amazonaws.com/111122223333/" + text(s.property("OrdersDeadLetterQueue", "QueueName")),
		"ORDERS_MAX_ATTEMPTS":    s.params["MaxAttempts"],
		"ORDERS_SNS":             "", // as RawMessageDelivery says
	} {
		if got := text(s.property("OrdersFunction", "Environment", "Variables", name)); got != want {
			complain("OrdersFunction has the variable %s=%s; it has to be %s", name, got, want)
		}
	}
	return problems
}

// readProgram returns the source of a program.
func readProgram(folder string) (string, error) {
	files, err := filepath.Glob(root + folder + "/*.go")
	if err != nil || folder == "" || len(files) == 0 {
		return "", fmt.Errorf("there is no Go program in %q", folder)
	}
	var all strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		all.Write(b)
	}
	if !strings.Contains(all.String(), "package main") {
		return "", fmt.Errorf("%s is no program", folder)
	}
	return all.String(), nil
}

func logs(s *stack) (problems []string) {
	for _, f := range s.of("AWS::Serverless::Function") {
		group := strings.TrimSuffix(strings.TrimPrefix(text(s.property(f, "LoggingConfig", "LogGroup")), "{"), " Ref}")
		if s.resources[group]["Type"] != "AWS::Logs::LogGroup" {
			problems = append(problems, f+" has no LoggingConfig.LogGroup of this template; Lambda would make one that keeps logs for ever")
			continue
		}
		if text(s.property(group, "RetentionInDays")) != s.params["LogRetentionDays"] {
			problems = append(problems, group+".RetentionInDays is not the parameter LogRetentionDays")
		}
		if text(s.property(f, "LoggingConfig", "LogFormat")) != "JSON" {
			problems = append(problems, f+".LoggingConfig.LogFormat is not JSON, which the metric filters read")
		}
	}
	return problems
}

func outputs(s *stack) (problems []string) {
	for _, name := range []string{
		"QueueUrl", "QueueArn", "TopicArn", "DeadLetterQueueUrl", "DeadLetterQueueArn", "SubscriptionDeadLetterQueueUrl",
		"TableName", "FunctionName", "LogGroupName", "FindingsLogGroupName", "DashboardUrl",
	} {
		if text(get(s.outputs, name, "Value")) == "" || text(get(s.outputs, name, "Description")) == "" {
			problems = append(problems, "output "+name+" is missing, or has no Value or Description")
		}
	}
	return problems
}
