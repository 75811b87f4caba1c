package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The programs that the README shows are pasted by its readers: they have to
// compile as they stand.
func TestREADMEProgramsCompile(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindAllSubmatch(readme, -1)
	if len(programs) == 0 {
		t.Fatal("the README shows no program")
	}
	for _, p := range programs {
		file := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(file, p[1], 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, out, p[1])
		}
	}
}
