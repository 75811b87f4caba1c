package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// result is what a run of the program leaves behind.
type result struct {
	code           int
	stdout, stderr string
	took           time.Duration
}

// program runs the program in virtual time, with an interrupt after some time if
// that is not 0.
func program(t *testing.T, stdin string, interrupt time.Duration, args ...string) (r result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		if interrupt > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, interrupt)
			defer cancel()
		}
		var stdout, stderr bytes.Buffer
		start := time.Now()
		r.code = run(ctx, args, strings.NewReader(stdin), &stdout, &stderr)
		r.stdout, r.stderr, r.took = stdout.String(), stderr.String(), time.Since(start)
	})
	return r
}

// want checks exit code and parts of the output.
func (r result) want(t *testing.T, code int, stdout ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	for _, part := range stdout {
		if !strings.Contains(squeeze(r.stdout), squeeze(part)) {
			t.Errorf("the output lacks %q", part)
		}
	}
	if t.Failed() {
		t.Logf("standard output:\n%s\nstandard error:\n%s", r.stdout, r.stderr)
	}
}

// squeeze makes one blank of many, so that tables can be looked into.
func squeeze(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	return strings.Join(lines, "\n")
}

// writeFile makes a file of messages and returns its path.
func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "orders.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
