package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// Programs and tests that the pages show are pasted by their readers: they have
// to compile, and to pass, as they stand.
func TestPagesCompile(t *testing.T) {
	t.Parallel()
	for page, tt := range map[string]struct{ file, command string }{
		"../README.md":       {"main.go", "vet"},
		"../docs/testing.md": {"orders_test.go", "test"},
	} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			programs := regexp.MustCompile("(?s)```go\n(package .*?)```").FindAllSubmatch(text, -1)
			if len(programs) == 0 {
				t.Fatal("the page shows no program")
			}
			for _, p := range programs {
				file := filepath.Join(t.TempDir(), tt.file)
				if err := os.WriteFile(file, p[1], 0o600); err != nil {
					t.Fatal(err)
				}
				if out, err := exec.CommandContext(t.Context(), "go", tt.command, file).CombinedOutput(); err != nil {
					t.Errorf("%v\n%s\n%s", err, out, p[1])
				}
			}
		})
	}
}
