package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// output is standard output or standard error. Its methods are safe for
// concurrent use: outcomes, progress, warnings and an interrupt come from
// goroutines of their own.
type output struct {
	mu  sync.Mutex // guards what follows; held for one Write
	w   io.Writer
	err error
}

// Write implements io.Writer. Nothing follows what could not be written: text
// with a hole in it says something else.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(b)
	o.err = err
	return n, err
}

// failed is why the text is not complete, nil if it is.
func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// printf writes to w. That it cannot is seen when all is over (output.failed):
// the account and the exit code still count.
func printf(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...)
}

// printable is text that may come from a message, for one line of a terminal:
// what is not shown but acted on (escape sequences, line breaks, marks that turn
// the direction of writing) is escaped as in Go.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// excerpt is the beginning of a text: a member of a message may have a megabyte.
func excerpt(text string) string {
	const most = 60
	n := 0
	for i := range text {
		if n++; n > most {
			return text[:i] + "…"
		}
	}
	return text
}
