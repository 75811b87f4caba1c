package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// writeHead says what is measured, with what and on what.
func writeHead(w io.Writer, o *options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Machine: %s, GOMAXPROCS %d, %s/%s, %s. ",
		processor(), runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH, runtime.Version())
	fmt.Fprintf(&b, "Server and consumer share it, each in a process of its own. ")
	fmt.Fprintf(&b, "Medians of %d rounds.\n\nVersions: %s.\n\n", o.rounds, strings.Join(versions(), ", "))
	for _, c := range consumers() {
		fmt.Fprintf(&b, "- %s: %s.\n", c.name, c.settings)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// versions are those of the modules that are compared and of the client below
// all of them.
func versions() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return []string{"unknown"}
	}
	var out []string
	for _, m := range info.Deps {
		switch m.Path {
		case "github.com/ackwise/ackwise":
			out = append(out, m.Path+" of this tree")
		case "github.com/aws/aws-sdk-go-v2/service/sqs", "gocloud.dev":
			out = append(out, m.Path+" "+m.Version)
		}
	}
	return out
}

// processor is the processor's name where the system tells it.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
