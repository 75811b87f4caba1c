package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const finishing = "local: interrupted: finishing what runs; once more to quit\n"

func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, host := range hosts {
		r := program(t, "", 2500*time.Millisecond, "-host", host)
		r.want(t, exitInterrupted, "lost 0", "still in the queue.")
		if r.stderr != finishing {
			t.Errorf("%s: standard error: %q", host, r.stderr)
		}
	}
}

// It is said at the interrupt, not when the handlers that run have come to their
// end.
func TestInterruptIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	for _, host := range hosts {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { interruptSlowly(t, host) })
		})
	}
}

func interruptSlowly(t *testing.T, host string) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var stdout, stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		const slow = `{"simulate":"slow:20s"}` // a function has 30 s, a drain 25
		code <- run(ctx, []string{"-f", "-", "-speed", "1", "-host", host}, strings.NewReader(slow), &stdout, &stderr)
	}()
	time.Sleep(5 * time.Second)
	interrupt()
	synctest.Wait() // and no time passes
	if stderr.String() != finishing {
		t.Errorf("standard error: %q", &stderr)
	}
	if len(code) > 0 {
		t.Error("the run has not waited for what runs")
	}
	if got := <-code; got != exitInterrupted {
		t.Errorf("exit code %d", got)
	}
	if !strings.Contains(stdout.String(), "Nothing was lost: 1 sent = 1 done + 0 in") {
		t.Errorf("what ran was not finished:\n%s", &stdout)
	}
	if stderr.String() != finishing {
		t.Errorf("standard error at the end: %q", &stderr)
	}
}

func TestInterruptWhileReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		stdin, silent := io.Pipe()
		var stdout, stderr bytes.Buffer
		start := time.Now()
		if code := run(ctx, []string{"-f", "-"}, stdin, &stdout, &stderr); code != exitInterrupted {
			t.Errorf("exit code %d", code)
		}
		if took := time.Since(start); took != time.Hour {
			t.Errorf("it ended after %v", took)
		}
		if stderr.String() != "local: interrupted: nothing was sent\n" || stdout.Len() > 0 {
			t.Errorf("standard error: %q, standard output: %q", &stderr, &stdout)
		}
		_ = silent.Close() // lets the reader go, as the end of the process does
		synctest.Wait()
	})
}

// The first signal ends the run, the second one the process, at whatever time.
func TestSecondSignalQuits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal)
		var ended, quit int
		go heed(signals, func() { ended++ }, func() { quit++ })
		synctest.Wait()
		for n, want := range [][2]int{{0, 0}, {1, 0}, {1, 1}} {
			if n > 0 {
				signals <- os.Interrupt
				synctest.Wait()
			}
			if got := [2]int{ended, quit}; got != want {
				t.Errorf("after %d signals the run was ended %d times and the process %d times", n, got[0], got[1])
			}
		}
	})
}
