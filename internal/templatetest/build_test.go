package templatetest

import (
	"debug/elf"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What `sam build` made: ACKWISE_SAM_BUILDS names folders by architecture, such as
// "arm64=.aws-sam/build x86_64=.aws-sam/x86", from the root of the repository.
func TestBuilds(t *testing.T) {
	t.Parallel()
	builds := split(os.Getenv("ACKWISE_SAM_BUILDS"))
	if len(builds) == 0 {
		t.Skip("SKIPPED: ACKWISE_SAM_BUILDS is not set; run make sam, which builds")
	}
	s, err := evaluate(load(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for architecture, folder := range builds {
		for _, f := range s.of("AWS::Serverless::Function") {
			checkBootstrap(t, filepath.Join(root, folder, f, "bootstrap"), architecture)
		}
	}
}

// checkBootstrap: Lambda starts a file of this very name, which must be executable,
// for the function's processor, and need no C library that its system lacks.
func checkBootstrap(t *testing.T, path, architecture string) {
	t.Helper()
	machine, ok := map[string]elf.Machine{"arm64": elf.EM_AARCH64, "x86_64": elf.EM_X86_64}[architecture]
	if !ok {
		t.Fatalf("ACKWISE_SAM_BUILDS has the architecture %q; use arm64 or x86_64", architecture)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Error(err)
		return
	}
	if info.Mode()&0o111 != 0o111 {
		t.Errorf("%s has the mode %v; everybody has to be able to execute it", path, info.Mode())
	}
	file, err := elf.Open(path)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	defer func() { _ = file.Close() }()
	if file.Machine != machine || file.Type != elf.ET_EXEC && file.Type != elf.ET_DYN {
		t.Errorf("%s is of type %v for %v; want an executable for %v", path, file.Type, file.Machine, machine)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			t.Errorf("%s is linked dynamically; build with CGO_ENABLED=0, as make sam does", path)
		}
	}
	// The RPC of runtimes that are gone; the tag lambda.norpc leaves it out.
	symbols, err := file.Symbols()
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
	if slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return strings.HasPrefix(s.Name, "net/rpc.") }) {
		t.Errorf("%s has net/rpc in it; build with GOFLAGS=-tags=lambda.norpc, as make sam does", path)
	}
}

// sam local overrides only what the template declares, and events/local-env.json
// overrides all of it: a name that is left is one of an AWS resource.
func TestLocalEnvironmentIsWhole(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(root + "events/local-env.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Parameters map[string]string }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	s, err := evaluate(load(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]any{}
	maps.Copy(declared, get(s.globals, "Environment", "Variables").(map[string]any))
	for _, f := range s.of("AWS::Serverless::Function") {
		own, _ := s.property(f, "Environment", "Variables").(map[string]any)
		maps.Copy(declared, own)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(declared)), slices.Sorted(maps.Keys(file.Parameters))); diff != "" {
		t.Errorf("variables (-template +events/local-env.json):\n%s", diff)
	}
}
