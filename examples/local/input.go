package main

import (
	"bufio"
	"bytes"
	_ "embed" // for the sample
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

//go:embed sample.jsonl
var sample []byte

// maxLine is more than a message of 1 MiB takes with every byte escaped.
const maxLine = 8 << 20

// input is a file of messages as it was read.
type input struct {
	name  string
	lines []line
	notes []note // what may not be meant as it stands
}

// note is a remark on one line.
type note struct {
	text string
	// handler is a remark on what the handler of this program makes of it.
	handler bool
}

// remarks are the notes that matter to whom the messages go to.
func (in *input) remarks(o options) (texts []string) {
	twice := 0
	for _, l := range in.lines {
		if l.twice {
			twice++
		}
	}
	for _, n := range in.notes {
		if !n.handler || o.invoke.url == "" {
			texts = append(texts, n.text)
		}
	}
	if twice > 0 && o.invoke.url != "" {
		texts = append(texts, fmt.Sprintf("%s with \"twice\" will not be delivered twice: with -invoke nobody sees when the function is at it",
			plural(twice, "message", "messages")))
	}
	return texts
}

// read reads the messages that the options name. An error names file and line.
func read(o options, stdin io.Reader) (*input, error) {
	switch o.file {
	case "":
		if o.invoke.queue != "" {
			return &input{}, nil // what is in the queue
		}
		return parse("sample.jsonl", bytes.NewReader(sample))
	case "-":
		return parse("standard input", stdin)
	}
	f, err := os.Open(o.file)
	if err != nil {
		return nil, fmt.Errorf("%w; -f takes a file of JSON lines, or - for standard input", err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory; give a file or -", o.file)
	}
	return parse(o.file, f)
}

// parse reads one message from each line that is not blank.
func parse(name string, r io.Reader) (*input, error) {
	in := &input{name: name}
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLine)
	n := 1 // the line that is being read; blank ones count
	for ; scanner.Scan(); n++ {
		text := scanner.Bytes()
		if n == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		l, note, err := parseLine(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		l.number = n
		if note.text != "" {
			note.text = fmt.Sprintf("%s:%d: %s", name, n, note.text)
			in.notes = append(in.notes, note)
		}
		in.lines = append(in.lines, l)
	}
	if err := scanner.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("the line has more than %d bytes, and SQS takes messages of 1 MiB", maxLine)
		}
		return nil, fmt.Errorf("%s:%d: %w", name, n, err)
	}
	if len(in.lines) == 0 {
		return nil, fmt.Errorf("%s:1: there is no message; each line is to be one, as JSON", name)
	}
	return in, nil
}

func parseLine(text []byte) (l line, n note, err error) {
	if !utf8.Valid(text) {
		return l, n, errors.New("the line is not valid UTF-8, which SQS asks for")
	}
	if !json.Valid(text) {
		return l, n, syntaxError(text)
	}
	e, odd := envelopeOf(text)
	if e == nil {
		if odd != "" {
			n.text = fmt.Sprintf("it has a member %q beside \"body\", so the whole line is taken for the body", odd)
		}
		l.message.Body, err = bodyOf(text)
	} else {
		l, err = e.line()
	}
	if err != nil {
		return l, n, err
	}
	var o order
	if json.Unmarshal([]byte(l.message.Body), &o) == nil {
		l.order = o.id
		if _, err := parseSimulation(o.simulate); err != nil {
			n = note{err.Error() + "; the handler takes it for a good order", true}
		}
	}
	return l, n, nil
}

// syntaxError says where a line stops being JSON.
func syntaxError(text []byte) error {
	var v any
	err := json.Unmarshal(text, &v)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("the line is not JSON: %w (at byte %d); a body that is plain text goes in quotes", err, syntax.Offset)
	}
	return fmt.Errorf("the line is not JSON: %w", err)
}

// bodyOf is a text as it is, and the JSON of any other value.
func bodyOf(value []byte) (string, error) {
	body := string(value)
	if value[0] == '"' {
		if err := json.Unmarshal(value, &body); err != nil {
			return "", err
		}
	}
	if body == "" {
		return "", errors.New("the body is empty, and SQS takes no such message")
	}
	return body, nil
}
