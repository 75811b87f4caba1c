package templatetest

import (
	"maps"
	"os"
	"slices"
	"testing"
)

const root = "../../" // of the repository

func source(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(root + "template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func load(t *testing.T) map[string]any {
	t.Helper()
	template, err := parse(source(t))
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// check returns what is wrong with a stack, each a sentence that names the
// resource and says what to change.
type check func(s *stack) []string

var checks = map[string]check{
	"partial batches": partialBatches,
	"visibility":      visibility,
	"event sources":   eventSources,
	"queue types":     queueTypes,
	"redrive":         redrive,
	"receives":        receives,
	"subscriptions":   subscriptions,
	"queue policies":  queuePolicies,
	"encryption":      encryption,
	"keys":            keys,
	"only known":      onlyKnown,
	"roles":           roles,
	"permissions":     permissions,
	"alarms":          alarms,
	"alarm actions":   alarmActions,
	"metric filters":  metricFilters,
	"logs":            logs,
	"table":           table,
	"functions":       functions,
	"dashboard":       dashboard,
	"outputs":         outputs,
	"lifecycles":      lifecycles,
}

const (
	customerKey = "arn:aws:kms:eu-central-1:111122223333:key/0a1b2c3d"
	alarmTopic  = "arn:aws:sns:eu-central-1:111122223333:alarms"
)

// variants are parameters that make a difference to what the stack is made of.
var variants = []string{
	"",
	"Fifo=true",
	"KmsKeyArn=new",
	"KmsKeyArn=" + customerKey,
	"Fifo=true KmsKeyArn=new",
	"BatchingWindow=60",
	"FunctionTimeout=10 BatchingWindow=60",
	"FunctionTimeout=60 BatchingWindow=60",
	"FunctionTimeout=120 BatchingWindow=60",
	"FunctionTimeout=300 BatchingWindow=60",
	"FunctionTimeout=600 BatchingWindow=60",
	"FunctionTimeout=900 BatchingWindow=60",
	"DrainDeadLetters=true",
	"AlarmTopicArn=" + alarmTopic,
	"Architecture=x86_64",
	"MaxAttempts=15 MaxReceiveCount=100",
	"OldestMessageAlarmSeconds=259200 PutBackAlarmPerMinute=500",
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	template := load(t)
	if problems := cycles(template); len(problems) > 0 {
		t.Error(problems)
	}
	for _, params := range variants {
		s, err := evaluate(template, split(params))
		if err != nil {
			t.Errorf("%q: %v", params, err)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(checks)) {
			for _, p := range checks[name](s) {
				t.Errorf("%q: %s: %s", params, name, p)
			}
		}
	}
}

// What each parameter is said to do, it does.
func TestParametersMatter(t *testing.T) {
	t.Parallel()
	template := load(t)
	for _, tt := range []struct {
		params, resource string
		path             []string
		want             string
	}{
		{"FunctionTimeout=60", "OrdersFunction", []string{"Timeout"}, "60"},
		{"FunctionTimeout=60", "OrdersQueue", []string{"VisibilityTimeout"}, "420"},
		{"MemorySize=512", "OrdersFunction", []string{"MemorySize"}, "512"},
		{"MaxAttempts=3", "OrdersFunction", []string{"Environment", "Variables", "ORDERS_MAX_ATTEMPTS"}, "3"},
		{"LogRetentionDays=90", "OrdersLogGroup", []string{"RetentionInDays"}, "90"},
		{"BatchSize=1", "OrdersFunction", []string{"Events", "Orders", "Properties", "BatchSize"}, "1"},
		{"BatchingWindow=5", "OrdersFunction", []string{"Events", "Orders", "Properties", "MaximumBatchingWindowInSeconds"}, "5"},
		{"MaximumConcurrency=40", "OrdersFunction", []string{"Events", "Orders", "Properties", "ScalingConfig", "MaximumConcurrency"}, "40"},
		{"MaxReceiveCount=200", "OrdersQueue", []string{"RedrivePolicy", "maxReceiveCount"}, "200"},
		{"DrainDeadLetters=true", "FindingsFunction", []string{"Events", "DeadLetters", "Properties", "Enabled"}, "true"},
		{"", "FindingsFunction", []string{"Events", "DeadLetters", "Properties", "Enabled"}, "false"},
		{"AlarmTopicArn=" + alarmTopic, "DeadLetterAlarm", []string{"AlarmActions"}, "[" + alarmTopic + "]"},
		{"OldestMessageAlarmSeconds=60", "OldestOrderAlarm", []string{"Threshold"}, "60"},
		{"PutBackAlarmPerMinute=50", "RetryAlarm", []string{"Threshold"}, "50"},
		{"Fifo=true", "OrdersQueue", []string{"QueueName"}, "shop-orders.fifo"},
		{"KmsKeyArn=" + customerKey, "OrdersQueue", []string{"KmsMasterKeyId"}, customerKey},
		{"KmsKeyArn=" + customerKey, "FindingsLogGroup", []string{"KmsKeyId"}, customerKey},
		{"KmsKeyArn=new", "OrdersTable", []string{"SSESpecification", "KMSMasterKeyId"}, "arn:aws:kms:eu-central-1:111122223333:key/OrdersKey"},
	} {
		s, err := evaluate(template, split(tt.params))
		if err != nil {
			t.Errorf("%q: %v", tt.params, err)
			continue
		}
		if got := text(s.property(tt.resource, tt.path...)); got != tt.want {
			t.Errorf("%q: %s.%v is %q, want %q", tt.params, tt.resource, tt.path, got, tt.want)
		}
	}
	s, err := evaluate(template, split("Architecture=x86_64"))
	if err != nil {
		t.Fatal(err)
	}
	if got := text(s.globals["Architectures"]); got != "[x86_64]" {
		t.Errorf("Architecture=x86_64: functions are for %s", got)
	}
}
