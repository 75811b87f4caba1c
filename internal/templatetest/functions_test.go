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
		if got, want := text(s.resources[f]["Metadata"]), "map[BuildMethod:go1.x BuildProperties:map[TrimGoPath:true]]"; got != want {
			complain("%s.Metadata is %s; it has to be %s, or sam build would not build it, or look for a Makefile", f, got, want)
		}
		if n := s.timeout(f); n < 10 || n > 900 {
			complain("%s.Timeout is %d; use 10 to 900", f, n)
		}
		if got, want := text(s.property(f, "CodeUri")), programs[f]; got != want {
			complain("%s.CodeUri is %s; it has to be %s", f, got, want)
		}
		if variables := s.property(f, "Environment", "Variables"); f != "OrdersFunction" && variables != nil {
			complain("%s has the variables %v, which its program does not read", f, variables)
		}
	}
	// Empty, since the function would call nothing of AWS else; and declared, since sam
	// local could not point a function at a queue on this machine else.
	if got := text(s.globals["Environment"]); got != "map[Variables:map[AWS_ENDPOINT_URL:]]" {
		complain("Globals.Function.Environment is %s; it has to declare AWS_ENDPOINT_URL, empty, and nothing else", got)
	}
	return append(problems, orderVariables(s)...)
}

// programs are the functions' own.
var programs = map[string]string{"OrdersFunction": "examples/sam-orders", "FindingsFunction": "examples/sam-findings"}

// orderVariables: the order function knows what it needs, by names that it reads.
func orderVariables(s *stack) (problems []string) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	program, err := readProgram(programs["OrdersFunction"])
	if err != nil {
		return []string{err.Error()}
	}
	wanted := map[string]string{
		"ORDERS_TABLE":           "{OrdersTable Ref}",
		"ORDERS_DEAD_LETTER_URL": "https://sqs.eu-central-1.amazonaws.com/111122223333/" + text(s.property("OrdersDeadLetterQueue", "QueueName")),
		"ORDERS_MAX_ATTEMPTS":    s.params["MaxAttempts"],
		"ORDERS_SNS":             "", // as RawMessageDelivery says
	}
	variables, _ := s.property("OrdersFunction", "Environment", "Variables").(map[string]any)
	for name := range variables {
		if _, ok := wanted[name]; !ok {
			complain("OrdersFunction has the variable %s, which no check knows; remove it, or add it to wanted", name)
		}
	}
	for name, want := range wanted {
		if got, ok := variables[name]; !ok || text(got) != want {
			complain("OrdersFunction has the variable %s=%v; it has to be %q", name, got, want)
		}
		if !strings.Contains(program, `getenv("`+name+`")`) {
			complain("OrdersFunction has the variable %s, which its program does not read", name)
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
		// JSON is what the metric filters read; a level would keep lines from them.
		if got, want := text(s.property(f, "LoggingConfig")), "map[LogFormat:JSON LogGroup:{"+group+" Ref}]"; got != want {
			problems = append(problems, fmt.Sprintf("%s.LoggingConfig is %s; it has to be %s", f, got, want))
		}
	}
	return problems
}
