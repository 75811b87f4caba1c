package crashtest_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// What happens to an order, beside the verdicts, which are events by their
// names. The worker writes the first four, and the gate, which has seen the
// answer of the table, the others.
const (
	eventStart      = "start"      // the handler is entered
	eventFinish     = "finish"     // it is about to return nil
	eventFail       = "fail"       // it is about to return an error
	eventUnrecorded = "unrecorded" // the outcome did not get into the store
	eventClaimed    = "claimed"
	eventGivenBack  = "given-back" // after a failure, or for good
	eventEffect     = "effect"     // the order's counter was raised
	eventCompleted  = "completed"
)

// line is an entry of the journal. The gate does not know which run it was.
type line struct {
	event               string
	order, attempt, run int
}

// String is the line in the file.
func (l line) String() string {
	return fmt.Sprintf("%s order=%d attempt=%d run=%d\n", l.event, l.order, l.attempt, l.run)
}

// journal is a file that several processes append to, so that the order of its
// lines is the order in which things happened. A line is one write: a process
// that is killed leaves none half written.
type journal struct{ f *os.File }

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return &journal{f}, err
}

// write appends. A journal with gaps proves nothing, so failing ends the process.
func (j *journal) write(l line) {
	if _, err := j.f.WriteString(l.String()); err != nil {
		panic(err)
	}
}

// readJournal returns the lines by order.
func readJournal(path string) (map[int][]line, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := make(map[int][]line)
	for scanner := bufio.NewScanner(strings.NewReader(string(text))); scanner.Scan(); {
		var l line
		if _, err := fmt.Sscanf(scanner.Text(), "%s order=%d attempt=%d run=%d", &l.event, &l.order, &l.attempt, &l.run); err != nil {
			return nil, fmt.Errorf("journal: %q: %w", scanner.Text(), err)
		}
		lines[l.order] = append(lines[l.order], l)
	}
	return lines, nil
}
