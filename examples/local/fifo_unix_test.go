//go:build unix

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A named pipe that nobody writes to blocks already when it is opened.
func TestInterruptWhileOpening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if code := run(ctx, []string{"-f", path}, nil, io.Discard, io.Discard); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	// Waits for the reader and lets it go, as the end of the process does.
	pipe, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := pipe.Close(); err != nil {
		t.Error(err)
	}
}
