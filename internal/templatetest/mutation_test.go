package templatetest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// mutation is a mistake in the template; see testdata/mutations.yaml.
type mutation struct{ Check, Params, Old, New, Says string }

func mutations(t *testing.T) []mutation {
	t.Helper()
	b, err := os.ReadFile("testdata/mutations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []mutation
	if err := yaml.Unmarshal(b, &all); err != nil || len(all) == 0 {
		t.Fatalf("%d mutations, %v", len(all), err)
	}
	return all
}

// A check that cannot fail is none.
func TestMistakesAreFound(t *testing.T) {
	t.Parallel()
	text := source(t)
	for _, m := range mutations(t) {
		mutated := strings.Replace(text, m.Old, m.New, 1)
		if mutated == text {
			t.Errorf("the template has no %q", m.Old)
			continue
		}
		found := problemsOf(mutated, m.Check, m.Params)
		if !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, m.Says) }) {
			t.Errorf("%q for %q, with %q: found %q; want one that says %q", m.New, m.Old, m.Params, found, m.Says)
		}
	}
}

// problemsOf runs one check on a template, or only reads it.
func problemsOf(text, name, params string) []string {
	template, err := parse(text)
	if err != nil {
		return []string{err.Error()}
	}
	s, err := evaluate(template, split(params))
	if err != nil {
		return []string{err.Error()}
	}
	if name == "" {
		return nil
	}
	return checks[name](s)
}

func TestEveryCheckFindsAMistake(t *testing.T) {
	t.Parallel()
	all := mutations(t)
	for name := range checks {
		if !slices.ContainsFunc(all, func(m mutation) bool { return m.Check == name }) {
			t.Errorf("no mutation shows that the check %q can fail", name)
		}
	}
}

// A dead-letter queue that refers to its source, which refers to it.
func TestCircularReferenceIsFound(t *testing.T) {
	t.Parallel()
	const old = "          - !Sub\n" +
		"            - arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:${AWS::StackName}-orders${Suffix}\n" +
		"            - Suffix: !If [IsFifo, .fifo, '']\n"
	text := source(t)
	mutated := strings.Replace(text, old, "          - !GetAtt OrdersQueue.Arn\n", 1)
	if mutated == text {
		t.Fatal("the template has no such RedriveAllowPolicy")
	}
	template, err := parse(mutated)
	if err != nil {
		t.Fatal(err)
	}
	if got := cycles(template); len(got) != 1 || !strings.Contains(got[0], "OrdersQueue") || !strings.Contains(got[0], "OrdersDeadLetterQueue") {
		t.Errorf("found %q", got)
	}
}
