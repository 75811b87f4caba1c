package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// table is what one scenario came to.
type table struct {
	scenario scenario
	rows     []row
}

func (t *table) row(consumer string) (row, bool) {
	for _, r := range t.rows {
		if r.consumer == consumer {
			return r, true
		}
	}
	return row{}, false
}

// write writes the table as Markdown.
func (t *table) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n", upperFirst(t.scenario.title))
	b.WriteString("| consumer | messages | messages/s (worst–best) | in hand at most | CPU-s per 100,000 | allocs per message " +
		"| SQS calls per 1,000: receive | delete | visibility | other |\n")
	b.WriteString("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n")
	for _, r := range t.rows {
		fmt.Fprintf(&b, "| %s | %s | %s (%s–%s) | %s | %.1f | %.0f | %s | %s | %s | %s |\n",
			r.consumer, thousands(float64(r.messages)),
			thousands(r.perSecond), thousands(r.slowest), thousands(r.fastest), known(r.inHand),
			r.cpu, r.allocs,
			count(r.calls.receive), count(r.calls.remove), count(r.calls.visibility), count(r.calls.other))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// count is a number of calls: one decimal where it is not whole, and no zero
// that is not one.
func count(f float64) string {
	switch s := strconv.FormatFloat(f, 'f', 1, 64); {
	case f > 0 && s == "0.0":
		return "<0.1"
	default:
		return strings.TrimSuffix(s, ".0")
	}
}

// known is a whole number, or a dash for none.
func known(f float64) string {
	if f == 0 {
		return "–"
	}
	return thousands(f)
}

// thousands is a whole number with a comma every three digits.
func thousands(f float64) string {
	s := strconv.FormatFloat(f, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
