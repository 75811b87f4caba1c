package main

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTarget(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]target{
		"http://127.0.0.1:9000/2015-03-31/functions/function/invocations":               {"http://127.0.0.1:9000", "function", "127.0.0.1:9000"},
		"https://lambda.test/2015-03-31/functions/A%2Fb/invocations":                    {"https://lambda.test", "A/b", "lambda.test:443"},
		"http://[::1]/x/2015-03-31/functions/arn:aws:lambda:a:1:function:f/invocations": {"http://[::1]/x", "arn:aws:lambda:a:1:function:f", "[::1]:80"},
	} {
		got, err := parseTarget(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(target{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestBadTarget(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "x", "http://127.0.0.1:9000", "127.0.0.1:9000/2015-03-31/functions/function/invocations",
		"ftp://h/2015-03-31/functions/function/invocations", "http:///2015-03-31/functions/function/invocations",
		"http://h/2015-03-31/functions//invocations", "http://h/2015-03-31/functions/f/invoke-async",
		"http://h/2015-03-31/functions/f", "http://h/2015-03-31/functions/f/invocations/", "http://h/functions/f/invocations",
		"http://h/2015-03-31/functions/f/invocations?Qualifier=1", "http://h/2015-03-31/functions/f/invocations#a",
		"http://me:secret@h/2015-03-31/functions/f/invocations", "http://h:port/2015-03-31/functions/f/invocations",
		"http://h:99999/2015-03-31/functions/f/invocations",
	} {
		r := program(t, "", 0, "-invoke", text)
		r.want(t, exitUsage)
		if !strings.HasPrefix(r.stderr, `local: -invoke is "`) || !strings.Contains(r.stderr, "; use a URL such as http://") ||
			strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%q: standard error: %q", text, r.stderr)
		}
	}
}

// What contradicts itself is a sentence and exit code 2.
func TestBadInvokeFlags(t *testing.T) {
	t.Parallel()
	const invoke = "-invoke " + someURL + " "
	for args, want := range map[string]string{
		invoke + "-host poller":         "-host poller and -invoke exclude each other",
		invoke + "-store memory":        "-store and -invoke exclude each other",
		invoke + "-dlq park":            "-dlq and -invoke exclude each other",
		invoke + "-speed 20":            "-speed 20 and -invoke exclude each other",
		invoke + "-speed 0":             "-speed is 0; use 1",
		invoke + "-queue http://h/1/q":  "-endpoint and -queue go together",
		invoke + "-endpoint http://h":   "-endpoint and -queue go together",
		invoke + "-concurrency 0":       "-concurrency is 0; use 1",
		invoke + "-receives 0":          "-receives is 0; use 1 to 1000",
		invoke + "-receives 1001":       "-receives is 1001; use 1 to 1000",
		invoke + "-function-timeout 0s": "-function-timeout is 0s; use 1s to 15m0s",
		invoke + "-function-timeout 1h": "-function-timeout is 1h0m0s; use 1s to 15m0s",
		invoke + "-wait -1s":            "-wait is -1s; use a time such as 30s",
		invoke + "-listen=":             "-listen is empty; use an address such as 127.0.0.1:0",
		invoke + "-endpoint http://h -queue http://h/1/q -listen :0":  "-listen and -endpoint exclude each other",
		invoke + "-endpoint http://h -queue http://h/1/q -receives 3": "-receives and -endpoint exclude each other",
		invoke + "-endpoint h:1 -queue http://h/1/q":                  `-endpoint is "h:1"; use a URL such as`,
		invoke + "-endpoint http://h -queue orders":                   `-queue is "orders"; use a URL such as`,
		"-listen 127.0.0.1:9324":                                      "-listen is about a function in another process; give its URL with -invoke",
		"-endpoint http://h -queue http://h/1/q":                      "-endpoint is about a function in another process",
		"-concurrency 2":                                              "-concurrency is about",
		"-receives 2":                                                 "-receives is about",
		"-function-timeout 3s":                                        "-function-timeout is about",
		"-wait 3s":                                                    "-wait is about",
		invoke + "-f nosuch":                                          "open nosuch: ",
	} {
		r := program(t, "{}", 0, strings.Fields(args)...)
		r.want(t, exitUsage)
		if !strings.HasPrefix(r.stderr, "local: "+want) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: standard error: %q", args, r.stderr)
		}
	}
}

// What does not contradict is allowed.
func TestInvokeFlagsThatAgree(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "-speed 1", "-host lambda", "-store=", "-listen 0.0.0.0:9324", "-endpoint http://h -queue http://h/1/q"} {
		o, err := parseArgs(append([]string{"-invoke", someURL}, strings.Fields(args)...), io.Discard)
		if err != nil {
			t.Errorf("%s: %v", args, err)
		}
		if o.speed != 1 {
			t.Errorf("%s: speed %d", args, o.speed)
		}
	}
}

// Notes are about the handler of this program; messages for another one have none.
func TestNotesWithInvoke(t *testing.T) {
	t.Parallel()
	in, err := parse("f", strings.NewReader(`{"id":"A-1","simulate":"fail"}
{"body":"x","attribs":{}}
{"body":"x","twice":true}`))
	if err != nil {
		t.Fatal(err)
	}
	got := in.remarks(options{invoke: invocation{url: someURL}})
	if len(got) != 2 || !strings.Contains(got[0], "attribs") || !strings.HasPrefix(got[1], `1 message with "twice"`) {
		t.Errorf("notes: %q", got)
	}
}

func TestReachable(t *testing.T) {
	t.Parallel()
	for base, want := range map[string][2]string{
		"http://127.0.0.1:9324": {"http://127.0.0.1:9324", ""},
		"http://[::]:9324":      {"http://127.0.0.1:9324", "http://host.docker.internal:9324"},
		"http://0.0.0.0:9324":   {"http://127.0.0.1:9324", "http://host.docker.internal:9324"},
		"http://host:9324":      {"http://host:9324", ""},
	} {
		near, far := reachable(base)
		if got := [2]string{near, far}; got != want {
			t.Errorf("%s: %q, want %q", base, got, want)
		}
	}
}
