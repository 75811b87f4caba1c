package crashtest_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or in a process that they have started, the worker
// that is to be killed.
func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(workerEnv); ok {
		if err := workUntilEOF(text); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
