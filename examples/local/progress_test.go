package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var progressLine = regexp.MustCompile(`^ +\d+s  (\d+) sent = (\d+) done \+ ` +
	`(\d+) in the queue(?: \(([^)]*)\))? \+ (\d+) in the dead-letter queue; \d+ tr(?:y|ies)$`)

// Each line counts every message once, also those that are between two places:
// handled and not deleted, or parked and not deleted.
func TestProgressAddsUp(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "-speed 1", "-speed 100", "-dlq sqs", "-store memory", "-store memory -dlq sqs", "-timeout 3s",
		"-host poller", "-host poller -speed 1", "-host poller -speed 100", "-host poller -dlq sqs"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			r := program(t, "", 0, strings.Fields(args)...)
			_, text, _ := strings.Cut(r.stdout, "\n\n")
			text, _, _ = strings.Cut(text, "\n\nAfter ")
			handled := false
			lines := strings.Split(text, "\n")
			for _, line := range lines {
				m := progressLine.FindStringSubmatch(line)
				if m == nil {
					t.Errorf("not a line of progress: %q", line)
					continue
				}
				sum := 0
				for _, part := range []string{m[2], m[3], m[5]} {
					n, _ := strconv.Atoi(part)
					sum += n
				}
				if m[1] != "60" || sum != 60 {
					t.Errorf("%q adds up to %d", line, sum)
				}
				handled = handled || strings.Contains(m[4], "handled")
			}
			if len(lines) < 3 {
				t.Errorf("%d lines of progress", len(lines))
			}
			// At -speed 100 each invocation is over between two lines, and a poller
			// deletes what is done within a tenth of a second.
			if !handled && args != "-speed 100" && !strings.Contains(args, "poller") {
				t.Errorf("no line shows messages that are handled and not yet deleted:\n%s", text)
			}
		})
	}
}

func TestProgressString(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]progress{
		"3 sent = 1 done + 2 in the queue + 0 in the dead-letter queue; 1 try": {sent: 3, done: 1, queued: 2, tries: 1},
		"9 sent = 1 done + 4 in the queue (3 hidden, one for 1.5s; 2 handled) + 3 in the dead-letter queue + 1 LOST; 7 tries": {
			sent: 9, done: 1, queued: 4, hidden: 3, next: 1500 * time.Millisecond, handled: 2, dead: 3, lost: 1, tries: 7,
		},
	} {
		if got := p.String(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
