package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const queueURL = "https://sqs.eu-central-1.amazonaws.com/111122223333/orders"

// variables is an environment.
func variables(pairs ...string) func(string) string {
	env := map[string]string{"ORDERS_QUEUE_URL": queueURL, "AWS_REGION": "eu-central-1"}
	for i := 0; i < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return env[name] }
}

func TestReadSettings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env  func(string) string
		want settings
	}{
		"only the queue": {variables(), settings{Queue: queueURL}},
		"all": {
			variables("ORDERS_DEAD_LETTER_URL", queueURL+"-dlq", "ORDERS_TABLE", "done", "ORDERS_CONCURRENCY", "4", "ORDERS_PREFETCH", "7",
				"ORDERS_GRACE", "1m30s", "ORDERS_HEALTH_ADDR", ":8080", "ORDERS_PROTECT_TASK", "true"),
			settings{
				Queue: queueURL, DeadLetter: queueURL + "-dlq", Table: "done", Concurrency: 4, Prefetch: 7,
				Grace: 90 * time.Second, HealthAddr: ":8080", ProtectTask: true,
			},
		},
		"no prefetch":   {variables("ORDERS_PREFETCH", "0"), settings{Queue: queueURL, Prefetch: -1}},
		"no protection": {variables("ORDERS_PROTECT_TASK", "0"), settings{Queue: queueURL}},
		"shortest":      {variables("ORDERS_GRACE", "1s"), settings{Queue: queueURL, Grace: time.Second}},
	} {
		got, err := readSettings(tt.env)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// A wrong setting is a sentence that names it and says what to do, on stderr, and
// the exit code 2. Nothing has been begun.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, value, want string }{
		{"ORDERS_QUEUE_URL", "", "ORDERS_QUEUE_URL is not set: set it to"},
		{"ORDERS_QUEUE_URL", "orders", `ORDERS_QUEUE_URL is "orders": set it to the whole URL`},
		{"ORDERS_QUEUE_URL", "https://%", `ORDERS_QUEUE_URL is "https://%": set it to the whole URL`},
		{"ORDERS_DEAD_LETTER_URL", "/1/dlq", "ORDERS_DEAD_LETTER_URL"},
		{"ORDERS_CONCURRENCY", "0", `ORDERS_CONCURRENCY is "0": set it to a number from 1 on`},
		{"ORDERS_CONCURRENCY", "many", "ORDERS_CONCURRENCY"},
		{"ORDERS_PREFETCH", "-1", `ORDERS_PREFETCH is "-1": set it to a number from 0 on`},
		{"ORDERS_PREFETCH", "1.5", "ORDERS_PREFETCH"},
		{"ORDERS_GRACE", "0", `ORDERS_GRACE is "0": a drain needs time; set it to a duration of 1s or more`},
		{"ORDERS_GRACE", "-5s", "ORDERS_GRACE"},
		{"ORDERS_GRACE", "25", "ORDERS_GRACE"},
		{"ORDERS_GRACE", "900ms", "ORDERS_GRACE"},
		{"ORDERS_HEALTH_ADDR", "8080", `ORDERS_HEALTH_ADDR is "8080": set it to an address with a port`},
		{"ORDERS_HEALTH_ADDR", "localhost:http", "ORDERS_HEALTH_ADDR"},
		{"ORDERS_HEALTH_ADDR", ":0", "ORDERS_HEALTH_ADDR"},
		{"ORDERS_HEALTH_ADDR", ":65536", "ORDERS_HEALTH_ADDR"},
		{"ORDERS_PROTECT_TASK", "please", `ORDERS_PROTECT_TASK is "please": set it to true or false`},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), nil, variables(tt.name, tt.value), &out, &errs)
		if code != exitSettings || !strings.Contains(errs.String(), tt.want) || strings.Count(errs.String(), "\n") != 1 || out.Len() > 0 {
			t.Errorf("%s=%q: exit code %d, stdout %q, stderr %q; want 2 and %q", tt.name, tt.value, code, &out, &errs, tt.want)
		}
	}
}

func TestSeveralWrongSettings(t *testing.T) {
	t.Parallel()
	_, err := readSettings(variables("ORDERS_QUEUE_URL", "", "ORDERS_GRACE", "0", "ORDERS_PREFETCH", "x"))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("error %v, want three lines", err)
	}
}

func TestUnknownFlag(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-verbose"}, variables(), &out, &errs); code != exitSettings || !strings.Contains(errs.String(), "-healthcheck") {
		t.Errorf("exit code %d, stderr %q", code, &errs)
	}
}
