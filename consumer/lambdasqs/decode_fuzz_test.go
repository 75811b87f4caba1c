package lambdasqs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// fixtures reads all of testdata.
func fixtures(tb testing.TB) map[string][]byte {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no fixtures: %v", err)
	}
	files := make(map[string][]byte)
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		files[strings.TrimSuffix(filepath.Base(path), ".json")] = b
	}
	return files
}

// compact takes the white space out of a fixture, as in what Lambda sends.
func compact(tb testing.TB, b []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// oddities are events that Lambda does not send.
var oddities = []string{
	``, ` `, `null`, ` null `, `nul`, `{}`, `[]`, `5`, `"x"`, `true`, `{} {}`, `{}x`, `{},`, "\ufeff{}",
	`{"Records":5}`, `{"Records":{}}`, `{"Records":"x"}`, `{"Records":[5,null,"x",[],{},true]}`,
	`{"Records":[{}],"Records":[{},{}],"Records":[null]}`, `{"Records":[{"body":"a"}],"Records":[],"Records":[{}]}`,
	`{"Records":[{"body":"a"}],"Records":null,"Records":[{}]}`, `{"Records":[{"body":"a"}],"Records":null}`,
	`{"Records":[{"body":1}],"Records":[{"body":"a"}]}`, `{"records":[{"body":"a"}]}`, `{"RECORDS":5}`,
	`{"Records":[{"messageID":5,"BODY":"x","MessageAttributes":5}]}`, `{"Records":[{"body":"a",}]}`, `{"Records":[{},]}`,
	`{"Record\u0073":[{"\u0062ody":"a"}]}`, `{"Records":[{"body":"\ud800\ud800\udc00\udc00\ud83d\ude00\ud800x\ud800\n"}]}`,
	"{\"Records\":[{\"body\":\"\xff\xc3\x28\xe2\x82\",\"attributes\":{\"\xff\":\"\\ud800\",\"\\ud800\":\"x\"}}]}",
	"{\"Records\":[{\"body\":\"\x00\"}]}", "{\"Records\":[{\"body\":\"\x7f\u2028\"}]}", `{"Records":[{"body":"\x"}]}`,
	`{"Records":[{"body":"\u12"}]}`, `{"Records":[{"attributes":{"a":"1"},"attributes":null}]}`,
	`{"Records":[{"attributes":{"a":"1","a":null,"b":[],"c":{"d":1}},"attributes":{"MessageGroupId":"g"}}]}`,
	`{"Records":[{"messageAttributes":{"a":{"stringValue":"x","stringValue":null,"dataType":"y","dataType":null},"b":null}}]}`,
	`{"Records":[{"messageAttributes":{"a":{"stringValue":"x"}},"messageAttributes":null}]}`,
	`{"Records":[{"messageAttributes":{"a":{"stringValue":"x"},"a":{"dataType":"String"}},"messageAttributes":{"c":5}}]}`,
	`{"Records":[{"messageAttributes":{"a":{"stringValue":"x"}},"messageAttributes":{"b":{"stringValue":"y"}}},{"body":"b"}]}`,
	`{"Records":[{"messageAttributes":{"a":{"stringValue":"x"}}},{"body":"b"}]}`,
	`{"Records":[{"messageAttributes":{"a":{"binaryValue":[1,2,255]},"b":{"binaryValue":[256]},"c":{"binaryValue":"QQ=="}}}]}`,
	`{"Records":[{"messageAttributes":{"a":{"binaryValue":"QUJD","binaryValue":[null,null,null,7]}}}]}`,
	`{"Records":[{"messageAttributes":{"a":{"binaryValue":"QQ\r\n=="},"b":{"binaryValue":"QQ"},"c":{"binaryValue":""}}}]}`,
	`{"Records":[{"messageAttributes":{"a":{"stringListValues":[null,"x"],"binaryListValues":[null,"QQ==",[1]]}}}]}`,
	`{"Records":[{"messageAttributes":{"a":{"stringListValues":{},"binaryListValues":["?"]}}}]}`,
	`{"x":01}`, `{"x":-}`, `{"x":1.}`, `{"x":1e}`, `{"x":1e999,"y":-0.0E+1}`, `{"x":+1}`, `{"x":.5}`, `{"x":NaN}`, `{"x":0x1}`,
	`{"x":tru}`, `{"x":nulL}`, `{"x":[1,]}`, `{"x":[,1]}`, `{,"x":1}`, `{"x"}`, `{"x":}`, `{"x":1 "y":2}`, `{x:1}`, `{'x':1}`,
	"{\v\"x\":1}", "\t{\r\n\"Records\" : [ ] }\n", `{"x":"` + "\n" + `"}`, `{"Records":[{"body":"a"`, `{"Records":[{"body":"a"}]`,
}

// FuzzDecode compares decodeEvent with encoding/json on arbitrary bytes.
func FuzzDecode(f *testing.F) {
	for _, b := range fixtures(f) {
		f.Add(b)
		f.Add(compact(f, b))
	}
	f.Add([]byte(usualAttributes))
	for _, s := range oddities {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, payload []byte) { checkAgainstStandard(t, payload) })
}

// TestDecodeDamagedFixtures cuts every fixture at every 37th byte, and puts a
// byte that means something to JSON in its place.
func TestDecodeDamagedFixtures(t *testing.T) {
	t.Parallel()
	for name, b := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := 0; i < len(b); i += 37 {
				checkAgainstStandard(t, b[:i])
				c := "\"\\{[,:0nu \x00\xff"[i%12]
				damaged := append([]byte(nil), b...)
				damaged[i] = c
				checkAgainstStandard(t, damaged)
			}
		})
	}
}

// TestDecodeRandomEvents compares decodeEvent with encoding/json on events that
// are valid JSON more often than a fuzzer's are, and wrong in every other way.
func TestDecodeRandomEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		payload := []byte(object(rt, "Records", func() string {
			return array(rt, func() string { return anyRecord(rt) })
		}))
		checkAgainstStandard(rt, payload)
	})
}

// object is an object of members that are likely to have one of the names, and
// a value that fits, but not certain to.
func object(rt *rapid.T, name string, value func() string) string {
	return members(rt, map[string]func() string{name: value})
}

func members(rt *rapid.T, values map[string]func() string) string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	// A map has no order, and a failure is to be found again.
	slices.Sort(names)
	n := rapid.IntRange(0, 2*len(names)).Draw(rt, "members")
	out := make([]string, n)
	for i := range out {
		name := rapid.SampledFrom(names).Draw(rt, "name")
		v := anything(rt)
		if rapid.IntRange(0, 9).Draw(rt, "fits") > 0 {
			v = values[name]()
		}
		switch rapid.IntRange(0, 19).Draw(rt, "spelling") {
		case 0:
			name = strings.ToUpper(name)
		case 1:
			name = fmt.Sprintf(`\u%04x%s`, name[0], name[1:])
		case 2:
			name = "x" + name
		}
		out[i] = fmt.Sprintf(`"%s": %s`, name, v)
	}
	return "{" + strings.Join(out, ",") + "}"
}

func array(rt *rapid.T, value func() string) string {
	out := make([]string, rapid.IntRange(0, 3).Draw(rt, "elements"))
	for i := range out {
		out[i] = value()
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func anyRecord(rt *rapid.T) string {
	str := func() string { return quoted(rt) }
	values := map[string]func() string{
		"attributes": func() string {
			return members(rt, map[string]func() string{
				"MessageGroupId": str, "ApproximateReceiveCount": str, "SentTimestamp": str, "\u2028": str,
			})
		},
		"messageAttributes": func() string {
			return members(rt, map[string]func() string{"a": func() string { return anyAttribute(rt) }})
		},
	}
	for _, name := range fieldsOf["record"] {
		if values[name] == nil {
			values[name] = str
		}
	}
	return members(rt, values)
}

func anyAttribute(rt *rapid.T) string {
	str := func() string { return quoted(rt) }
	return members(rt, map[string]func() string{
		"dataType": str, "stringValue": str, "binaryValue": str,
		"stringListValues": func() string { return array(rt, str) },
		"binaryListValues": func() string { return array(rt, str) },
	})
}

func quoted(rt *rapid.T) string {
	return `"` + rapid.SampledFrom([]string{
		``, `1`, `7`, `-1`, `1796040000000`, `QUJD`, `QQ==`, `a b`, `\"`, `\\u`, `\ud800`, `\ud83d\ude00`, `\udc00\ud800\udc00`,
		"\xff", "\xe2\x80\xa8", `\u00e9`, `\/\b\f\n\r\t`, "\u00e9\x80", `\ufffd`,
	}).Draw(rt, "string") + `"`
}

func anything(rt *rapid.T) string {
	return rapid.SampledFrom([]string{
		`null`, `true`, `0`, `-1.5e3`, `""`, `"QQ=="`, `[]`, `{}`, `[1,2]`, `[null]`, `["QQ=="]`, `{"a":null}`, `{"a":"b"}`,
		`[{"body":"x"}]`, `{"a":{"stringValue":"x"}}`, `[[]]`,
	}).Draw(rt, "value")
}
