package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// TestMain lets the test binary be the servers and consumers of the tests.
func TestMain(m *testing.M) {
	played, err := playRole(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if !played {
		goleak.VerifyTestMain(m)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		want options
		err  string // part of it; "": none
	}{
		{args: "", want: options{rounds: 5, scale: 1}},
		{
			args: "-rounds 2 -scale 0.5 -only fast,slow -check",
			want: options{rounds: 2, scale: 0.5, only: []string{"fast", "slow"}, check: true},
		},
		{args: "-rounds 0", err: "at least 1"},
		{args: "-scale 0", err: "above 0"},
		{args: "-scale NaN", err: "above 0"},
		{args: "-only fsat", err: "there are fast, 10ms, emulator, slow"},
		{args: "fast", err: `unexpected argument "fast"`},
	} {
		got, err := parse(strings.Fields(test.args))
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("parse(%q): %v, want an error with %q", test.args, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("parse(%q): %v", test.args, err)
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(options{})); diff != "" {
			t.Errorf("parse(%q) (-want +got):\n%s", test.args, diff)
		}
	}
}

// Every consumer consumes everything, on both kinds of servers that this program
// starts, in processes as the real runs have them.
func TestMeasure(t *testing.T) {
	t.Parallel()
	all := scenarios("")
	for i := range all {
		s := &all[i]
		if s.name != emulated && s.name != headOfLine {
			continue // the stub again
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.messages, s.slow = 200, s.slow/50
			got, err := measure(t.Context(), s, &options{rounds: 1, scale: 0.5})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.rows) != len(consumers()) {
				t.Fatalf("%d rows for %d consumers", len(got.rows), len(consumers()))
			}
			for _, r := range got.rows {
				// No consumer needs fewer calls than one receive and one delete per ten.
				if r.perSecond <= 0 || r.cpu <= 0 || r.allocs < 1 || r.calls.receive < 100 || r.calls.remove < 100 {
					t.Errorf("figures of nothing: %+v", r)
				}
			}
		})
	}
}

// A run that cannot succeed ends with an error, and does not take its limit.
func TestMeasureFails(t *testing.T) {
	t.Parallel()
	s := scenario{server: serverOrder{Kind: stubServer}, seconds: 60}
	up, err := startServer(t.Context(), s.server)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := up.run(t.Context(), &consumer{name: "nobody"}, &s, 10); err == nil {
		t.Error("a consumer that does not exist was measured")
	}
	if err := up.stop(); err != nil {
		t.Error(err)
	}
	if _, err := startServer(t.Context(), serverOrder{Kind: "none"}); err == nil {
		t.Error("a server that does not exist was started")
	}
}
