package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

func text(s string) types.MessageAttributeValue {
	dataType := "String"
	return types.MessageAttributeValue{DataType: &dataType, StringValue: &s}
}

func number(s string) types.MessageAttributeValue {
	dataType := "Number"
	return types.MessageAttributeValue{DataType: &dataType, StringValue: &s}
}

func TestParse(t *testing.T) {
	t.Parallel()
	const file = "\ufeff" + `{"id":"A-1","amount":  5}
` + "\r\n" + `{"body":{"id":17},"group":"g","delay":"90s","attributes":{"a":"x","b":1.50},"twice":true}` + "\r\n" + `
"plain \u00e9"
{"body":"{\"id\":","delay":15}
[1]
{"Body":"x"}
null`
	in, err := parse("f", strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	want := []line{
		{number: 1, order: "A-1", message: sqstest.Message{Body: `{"id":"A-1","amount":  5}`}},
		{number: 3, order: "17", twice: true, message: sqstest.Message{
			Body: `{"id":17}`, GroupID: "g", Delay: 90 * time.Second,
			Attributes: map[string]types.MessageAttributeValue{"a": text("x"), "b": number("1.50")},
		}},
		{number: 5, message: sqstest.Message{Body: "plain é"}},
		{number: 6, message: sqstest.Message{Body: `{"id":`, Delay: 15 * time.Second}},
		{number: 7, message: sqstest.Message{Body: `[1]`}},
		{number: 8, message: sqstest.Message{Body: `{"Body":"x"}`}},
		{number: 9, message: sqstest.Message{Body: `null`}},
	}
	opts := cmp.Options{cmp.AllowUnexported(line{}), cmpopts.IgnoreUnexported(types.MessageAttributeValue{})}
	if diff := cmp.Diff(want, in.lines, opts); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if in.notes != nil {
		t.Errorf("notes: %v", in.notes)
	}
}

// What may be a misspelling is taken as it stands, and said.
func TestNotes(t *testing.T) {
	t.Parallel()
	const good = "; the handler takes it for a good order"
	for line, want := range map[string]string{
		`{"body":"x","attribs":{},"zip":1}`: `f:1: it has a member "attribs" beside "body", so the whole line is taken for the body`,
		`{"simulate":"flakey:2"}`:           `f:1: simulate is "flakey:2"; use flaky:N, slow:D, stall, after:D, poison, invalid or panic` + good,
		`{"simulate":"flaky:none"}`:         `f:1: simulate is "flaky:none"; use flaky:N with the number of tries that fail` + good,
		`{"simulate":"slow:-1s"}`:           `f:1: simulate is "slow:-1s"; use slow:D with a time such as 15s` + good,
		`{"simulate":"panic:1"}`:            `f:1: simulate is "panic:1"; "panic" takes no number or time` + good,
	} {
		in, err := parse("f", strings.NewReader(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if diff := cmp.Diff([]string{want}, in.remarks(options{})); diff != "" {
			t.Errorf("%s: notes (-want +got):\n%s", line, diff)
		}
		r := program(t, line, 0, "-f", "-")
		r.want(t, exitOK, "done 1")
	}
}

// Bad input: exit code 2 and a message that names file and line.
func TestBadInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, want string }{
		{"empty", "\n \n", ":1: there is no message"},
		{"not JSON", "{}\n\n{\"id\": \n", ":3: the line is not JSON: unexpected end of JSON input (at byte 6)"},
		{"plain text", "{}\nhello\n", ":2: the line is not JSON: invalid character 'h' looking for beginning of value (at byte 1); " +
			"a body that is plain text goes in quotes"},
		{"two values", "{} {}", ":1: the line is not JSON: "},
		{"not UTF-8", "{}\n\"\xff\"", ":2: the line is not valid UTF-8"},
		{"long line", "{}\n\"" + strings.Repeat("x", maxLine) + "\"", ":2: the line has more than 8388608 bytes"},
		{"long line after blank ones", "{\"id\":\"ok\"}\n\n\n\n\"" + strings.Repeat("x", maxLine) + "\"", ":5: the line has more than 8388608 bytes"},
		{"long line after blank ones alone", "\n\r\n" + strings.Repeat("x", maxLine+1), ":3: the line has more than"},
		{"empty body", `{"body":""}`, ":1: the body is empty"},
		{"empty text", `""`, ":1: the body is empty"},
		{"delay too long", `{"body":1,"delay":"15m1s"}`, `:1: delay is "15m1s"; use a time from "0s" to "15m"`},
		{"delay too many seconds", `{"body":1,"delay":1e300}`, ":1: delay is 1e300; "},
		{"negative delay", `{"body":1,"delay":-1}`, ":1: delay is -1; "},
		{"delay of another type", `{"body":1,"delay":[]}`, ":1: delay is []; "},
		{"delay without unit", `{"body":1,"delay":"15"}`, `:1: delay is "15"; `},
		{"attribute of another type", `{"body":1,"attributes":{"a":null}}`, `:1: attribute "a": its value is null; use a text or a number`},
		{"attributes of another type", "\n\n" + `{"body":1,"attributes":[7]}`, ":3: attributes is [7]; " +
			"use an object whose values are texts and numbers, or leave it out\n"},
		{"twice of another type", "\n\n" + `{"body":1,"twice":"yes"}`, `:3: twice is "yes"; use true or false, or leave it out` + "\n"},
		{"group of another type", "\n\n" + `{"body":1,"group":7}`, ":3: group is 7; use a text, or leave it out\n"},
		{"null for a member", `{"body":1,"twice":null}`, ":1: twice is null; use true or false"},
		{"null for attributes", `{"body":1,"attributes":null}`, ":1: attributes is null; use an object"},
		{"long value", `{"body":1,"twice":"` + strings.Repeat("é", 70) + `"}`, `:1: twice is "` + strings.Repeat("é", 59) + "…; use true or false"},
		{"first of two attributes", `{"body":1,"attributes":{"b":[],"a":{}}}`, `:1: attribute "a": its value is {}; use a text or a number`},
		{"value that a terminal acts on", "{\"body\":1,\"twice\":\"\u009b2J\"}", `:1: twice is "\u009b2J"; use true or false`},
		{"body too large for SQS", "1\n\"" + strings.Repeat("x", 1<<20+1) + "\"", ":2: sqstest: send to orders: InvalidParameterValue"},
		{"character that SQS refuses", `"a\u0001"`, ":1: sqstest: send to orders: InvalidMessageContents"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, c.file)
			r := program(t, "", 0, "-f", path)
			r.want(t, exitUsage)
			if !strings.HasPrefix(r.stderr, "local: "+path+c.want) {
				t.Errorf("standard error: %.300q, want %q", r.stderr, "local: "+path+c.want)
			}
			if r.stdout != "" {
				t.Errorf("standard output: %q", r.stdout)
			}
		})
	}
}

func TestMissingFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none.jsonl")
	r := program(t, "", 0, "-f", path)
	r.want(t, exitUsage)
	if !strings.Contains(r.stderr, path) || !strings.Contains(r.stderr, "no such file") {
		t.Errorf("standard error: %q", r.stderr)
	}
}

func TestDirectoryAsFile(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	r := program(t, "", 0, "-f", path)
	r.want(t, exitUsage)
	if want := "local: " + path + " is a directory; give a file or -\n"; r.stderr != want {
		t.Errorf("standard error: %q, want %q", r.stderr, want)
	}
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"orders.jsonl":   `unexpected argument "orders.jsonl"; name a file of messages with -f`,
		"-speed 0":       "-speed is 0; use 1 (real time) to 100",
		"-speed 101":     "-speed is 101; use 1 (real time) to 100",
		"-speed fast":    `invalid value "fast" for flag -speed`,
		"-dlq none":      `-dlq is "none"; use park or sqs`,
		"-timeout -1s":   "-timeout is -1s; use a time such as 5m",
		"-host ecs":      `-host is "ecs"; use lambda or poller`,
		"-store disk":    `-store is "disk"; use memory`,
		"-timeout 5":     `invalid value "5" for flag -timeout`,
		"-nosuch":        "flag provided but not defined: -nosuch",
		"-f":             "flag needs an argument: -f",
		"-speed 2 extra": `unexpected argument "extra"`,
	} {
		r := program(t, "", 0, strings.Fields(args)...)
		r.want(t, exitUsage)
		if !strings.HasPrefix(r.stderr, "local: "+want) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: standard error: %q", args, r.stderr)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	r := program(t, "", 0, "-help")
	r.want(t, exitOK)
	for _, part := range []string{"-speed", "-dlq", "-host", "-store", "-timeout", "flaky:N", `"attributes"`,
		"local -store memory", "local -host poller",
		"local -invoke URL", "-listen 0.0.0.0:9324", "host.docker.internal", "-function-timeout",
		"\n  0 ", "\n  1 ", "\n  2 ", "\n  130 ", `"go run" makes 1 of all but 0`} {
		if !strings.Contains(r.stderr, part) {
			t.Errorf("the help lacks %q", part)
		}
	}
}
