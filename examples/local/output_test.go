package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/ackwise/ackwise/consumer"
)

// disk is a writer that is full after some bytes.
type disk struct{ free int }

func (d *disk) Write(b []byte) (int, error) {
	if d.free < len(b) {
		return 0, errors.New("no space left on device")
	}
	d.free -= len(b)
	return len(b), nil
}

// What nobody can read was no success, however the messages fared.
func TestOutputFails(t *testing.T) {
	t.Parallel()
	const complaint = "local: standard output is not complete: no space left on device\n"
	for name, c := range map[string]struct {
		free      int
		args      string
		interrupt time.Duration
		code      int
		stderr    string
	}{
		"at once":         {0, "", 0, exitUnfinished, complaint},
		"in the middle":   {500, "", 0, exitUnfinished, complaint},
		"enough":          {1 << 20, "", 0, exitOK, ""},
		"time ran out":    {0, "-timeout 3s", 0, exitUnfinished, "local: time ran out after 3s; -timeout gives more\n" + complaint},
		"interrupted":     {0, "", 2500 * time.Millisecond, exitInterrupted, finishing + complaint},
		"nothing to show": {0, "-dlq none", 0, exitUsage, "local: -dlq is \"none\"; use park or sqs; -help shows all flags\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.interrupt > 0 {
					defer time.AfterFunc(c.interrupt, cancel).Stop()
				}
				var stderr bytes.Buffer
				code := run(ctx, strings.Fields(c.args), nil, &disk{free: c.free}, &stderr)
				if code != c.code || stderr.String() != c.stderr {
					t.Errorf("exit code %d, want %d; standard error %q, want %q", code, c.code, &stderr, c.stderr)
				}
			})
		})
	}
}

// Nothing follows a hole.
func TestOutputEndsWithItsFirstError(t *testing.T) {
	t.Parallel()
	o := &output{w: &disk{free: 3}}
	for _, text := range []string{"ab", "cd", "e"} {
		printf(o, "%s", text)
	}
	if o.failed() == nil {
		t.Error("it has not failed")
	}
	if free := o.w.(*disk).free; free != 1 {
		t.Errorf("%d bytes free, want 1", free)
	}
}

// What a message says does not reach the terminal as it is: not in outcomes, not
// in tables, not in notes, not in the sentence about what was delivered twice.
func TestControlCharactersAreEscaped(t *testing.T) {
	t.Parallel()
	const lines = `{"id":"A\u001b[2J\u0007","simulate":"invalid"}
{"body":{"id":"B\u009b31m\r\nNothing was lost:\u202e\tx","simulate":"slow:2s"},"twice":true}
{"id":"C\u0000","simulate":"\u001b]0;x\u0007"}
{"id":"D` + "\u009b\u202e" + `","simulate":"stall"}
{"body":1,"\u001b":1}
`
	r := program(t, lines, 0, "-f", "-", "-v")
	r.want(t, exitOK,
		`A\x1b[2J\a receive 1 rejected 1 try, parked: the address does not exist`,
		`A\x1b[2J\a library 1 1 the address does not exist`,
		`B\u009b31m\r\nNothing was lost:\u202e\tx receive 1 done 1 try`,
		`B\u009b31m\r\nNothing was lost:\u202e\tx was delivered twice on purpose`,
		`C\x00 receive 1 done`, `D\u009b\u202e receive 1`)
	for name, text := range map[string]string{"output": r.stdout, "error": r.stderr} {
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("standard %s has %q in %q", name, text[i:i+1], text)
		}
	}
	if n := strings.Count(r.stdout, "\nNothing was lost:"); n != 1 {
		t.Errorf("%d lines begin as the last one does", n)
	}
	if n := strings.Count(r.stderr, "\n"); n != 2 {
		t.Errorf("standard error has %d lines, want two notes: %q", n, r.stderr)
	}
}

// Labels of messages that are left, too, and none makes a table wider than a
// terminal.
func TestLabelsOfWhatIsLeft(t *testing.T) {
	t.Parallel()
	lines := `{"id":"\u001bX","simulate":"poison"}
{"id":"` + strings.Repeat("é", 100) + `","simulate":"poison"}`
	r := program(t, lines, 0, "-f", "-", "-timeout", "1s")
	r.want(t, exitUnfinished, `left 2 still in the queue: \x1bX, `+strings.Repeat("é", 60)+"…\n")
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                   "",
		"Zoë's \"tea\" 🫖":    "Zoë's \"tea\" 🫖",
		"\x1b[1m\x7f":        `\x1b[1m\x7f`,
		"a\nb\tc\r":          `a\nb\tc\r`,
		"\u2028\u200e\ufeff": `\u2028\u200e\ufeff`,
		"it's '":             "it's '",
	} {
		if got := printable(text); got != want {
			t.Errorf("printable(%q) is %q, want %q", text, got, want)
		}
	}
}

// What errors say is escaped as well: a handler puts into them what it read.
func TestErrorsAreEscaped(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	row(&b, "A-1", 5, errors.New("no customer \x1b[2J\n here"))
	if want := "  A-1\t5\tno customer \\x1b[2J\\n here\n"; b.String() != want {
		t.Errorf("row is %q, want %q", &b, want)
	}
	o := consumer.Outcome{
		Delivery: &consumer.Delivery{Message: &consumer.Message{ReceiveCount: 1}},
		Verdict:  consumer.VerdictRejected, Tries: 1, Err: errors.New("no customer \x1b[2J\n here"),
	}
	if got, want := describe("A-1", &o), `no customer \x1b[2J\n here`; !strings.HasSuffix(got, ": "+want) {
		t.Errorf("outcome is %q, want it to end in %q", got, want)
	}
}

// A file's name may come from a shell's pattern, and is no safer.
func TestFileNamesAreEscaped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "or\x1b[2Jders")
	if err := os.WriteFile(path, []byte(`{"simulate":"x"}`), 0o600); err != nil {
		t.Skipf("no such names here: %v", err)
	}
	r := program(t, "", 0, "-f", path)
	r.want(t, exitOK, `or\x1b[2Jders, sent to`)
	if !strings.Contains(r.stderr, `or\x1b[2Jders:1: simulate is "x"`) {
		t.Errorf("standard error: %q", r.stderr)
	}
}
