package idempotency_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ackwise/ackwise/idempotency"
)

// whole is the hash of a payload, all of it.
func whole(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, payload string,
) string {
	t.Helper()
	h, err := idempotency.Hash(idempotency.Whole, payload)
	if err != nil {
		t.Fatalf("hash of %.80q: %v", payload, err)
	}
	return h
}

func TestHashEqual(t *testing.T) {
	t.Parallel()
	million := 1 << 20
	for name, p := range map[string][2]string{
		"order of members":        {`{"a":1,"b":{"c":2,"d":3}}`, `{"b":{"d":3,"c":2},"a":1}`},
		"white space":             {`{"a":[1,2]}`, " {\r\n\t\"a\" : [ 1 ,\n2 ] } \n"},
		"escapes":                 {`"é/\n"`, `"\u00e9\/\u000a"`},
		"escapes in names":        {`{"é":1}`, `{"\u00E9":1}`},
		"surrogate pair":          {`"🙂"`, `"\ud83d\ude42"`},
		"fraction of zeros":       {`1`, `1.000`},
		"exponent":                {`100`, `1e2`},
		"exponent spelled":        {`[1e2,1E+2,1e02]`, `[100,100,100]`},
		"negative exponent":       {`0.001`, `1E-3`},
		"digits moved":            {`12.5e-1`, `0.0125e2`},
		"zeros":                   {`[0,0,0,0,0]`, `[-0,0.0,0e9,-0.00E-5,0e99999999999999999999]`},
		"exponent beyond 64 bits": {`1e100000000000000000000`, `10e99999999999999999999`},
		"and borrowing":           {`1e-100000000000000000000`, `0.1e-99999999999999999999`},
		"zeros before exponents":  {`[1e2,1e-2]`, `[1e+000000000000000000000002,1e-000000000000000000000002]`},
		"the edge of 18 digits":   {`1e1000000000000000000`, `10e999999999999999999`},
		"a million digits":        {"1" + strings.Repeat("0", million), "1e1048576"},
		"a million in exponents":  {"1e" + strings.Repeat("9", million), "0.1e1" + strings.Repeat("0", million)},
		"last of two members":     {`{"a":1,"a":2}`, `{"a":2}`},
		"deep":                    {strings.Repeat("[", 5000) + strings.Repeat("]", 5000), strings.Repeat("[ ", 5000) + strings.Repeat(" ]", 5000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if whole(t, p[0]) != whole(t, p[1]) {
				t.Errorf("%.80s and %.80s have different hashes", p[0], p[1])
			}
		})
	}
}

func TestHashDifferent(t *testing.T) {
	t.Parallel()
	for name, p := range map[string][2]string{
		"order of elements":      {`[1,2]`, `[2,1]`},
		"beyond 2^53":            {`9007199254740993`, `9007199254740992`},
		"beyond 2^53, members":   {`{"id":90071992547409931}`, `{"id":90071992547409932}`},
		"the last digit of many": {"1" + strings.Repeat("0", 400) + "1", "1" + strings.Repeat("0", 400) + "2"},
		"a small fraction":       {`0.1`, `0.10000000000000000001`},
		"number and string":      {`1`, `"1"`},
		"true and string":        {`true`, `"true"`},
		"null and string":        {`null`, `"null"`},
		"null and nothing":       {`{"a":null}`, `{}`},
		"null and false":         {`null`, `false`},
		"null and zero":          {`[null]`, `[0]`},
		"sign":                   {`1`, `-1`},
		"exponent":               {`1e2`, `1e3`},
		"sign of the exponent":   {`1e2`, `1e-2`},
		"long exponents":         {`1e100000000000000000000`, `1e-100000000000000000000`},
		"empty array and object": {`[]`, `{}`},
		"nesting":                {`[[1],2]`, `[1,[2]]`},
		"one element more":       {`[1,1]`, `[11]`},
		"where a string ends":    {`["a","b"]`, `["a,b"]`},
		"quotes in strings":      {`["a\",\"b"]`, `["a","b"]`},
		"name and value":         {`{"a":"b"}`, `{"b":"a"}`},
		"case of names":          {`{"a":1}`, `{"A":1}`},
		"last of two members":    {`{"a":1,"a":2}`, `{"a":1}`},
		"accents":                {`"é"`, `"e\u0301"`},
		"JSON and text":          {`{"a":1}`, `{"a":1`},
		"text, white space":      {`a b`, `a  b`},
		"text, case":             {`hello`, `Hello`},
		"leading zero is text":   {`01`, `1`},
		"two values are text":    {`1 2`, `1  2`},
		"text that ends like it": {`{"a":1}x`, `{"a": 1}x`},
		"bytes of no UTF-8":      {"\"\xff\"", "\"\xfe\""},
		"replaced bytes":         {"\"\xff\"", `"` + "\uFFFD" + `"`},
		"too deep is text":       {strings.Repeat("[", 20000) + strings.Repeat("]", 20000), strings.Repeat("[", 20000) + " " + strings.Repeat("]", 20000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if whole(t, p[0]) == whole(t, p[1]) {
				t.Errorf("%.80q and %.80q have the same hash", p[0], p[1])
			}
		})
	}
}

// The hash is in records: another version of the library, or of Go, must find the
// same. The last character was assigned in Unicode 16, which not every version of
// Go knows. (What is hashed is this text, with "json:" before it:
// {"amount":125e-1,"id":"7","lines":[{"n":2e0,"sku":"a",},<nil>,true,],"note":"\u00e9\n\U0001fae9",}.)
func TestHashStaysTheSame(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"id":"7","amount":12.50,"lines":[{"sku":"a","n":2},null,true],"note":"é\n🫩"}`: "f643da45c41ee0780befd620d8965f9c4cb9c9a2a9b742cdf8aec8b64fc87fef",
		`plain text`: "8970f8c6f3e52137a3f9cb6546b1dc72692555ff65c33a5c17710c31cde92803",
	} {
		if got := whole(t, payload); got != want {
			t.Errorf("hash of %s\n got %s\nwant %s", payload, got, want)
		}
	}
}

func TestField(t *testing.T) {
	t.Parallel()
	const payload = `{"order":{"id":"7","sum":1.50,"none":null,"a.b":{"":3}},"list":[1],"n":0,"twice":1,"twice":2}`
	for name, c := range map[string]struct {
		path []string
		like string // payload with the same hash; empty: nothing is found
	}{
		"member":           {[]string{"n"}, `0`},
		"path":             {[]string{"order", "sum"}, `1.5`},
		"object":           {[]string{"order", "a.b"}, `{"":3}`},
		"dots and no name": {[]string{"order", "a.b", ""}, `3`},
		"null":             {[]string{"order", "none"}, `null`},
		"no path":          {nil, payload},
		"missing":          {[]string{"sum"}, ""},
		"case counts":      {[]string{"Order"}, ""},
		"below a string":   {[]string{"order", "id", "x"}, ""},
		"twice":            {[]string{"twice"}, `2`},
		"below null":       {[]string{"order", "none", "x"}, ""},
		"below an array":   {[]string{"list", "0"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := idempotency.Hash(idempotency.Field(c.path...), payload)
			if c.like == "" {
				if !errors.Is(err, idempotency.ErrNoPayload) || !strings.Contains(err.Error(), strings.Join(c.path, ".")) {
					t.Errorf("error %v, want ErrNoPayload and the path", err)
				}
				return
			}
			if err != nil || got != whole(t, c.like) {
				t.Errorf("hash %s, %v; want that of %s", got, err, c.like)
			}
		})
	}
}

func TestSelectorFindsNothing(t *testing.T) {
	t.Parallel()
	cause := errors.New("no such thing")
	for name, c := range map[string]struct {
		sel     idempotency.Selector
		payload string
		says    string
	}{
		"nil":           {func(string) ([]byte, error) { return nil, nil }, "x", "found nothing"},
		"empty":         {func(string) ([]byte, error) { return []byte{}, nil }, "x", "found nothing"},
		"error":         {func(string) ([]byte, error) { return []byte("x"), cause }, "x", "no such thing"},
		"panic":         {func(s string) ([]byte, error) { return []byte(s[5:]), nil }, "x", "panicked"},
		"empty payload": {idempotency.Whole, "", "found nothing"},
		"no JSON":       {idempotency.Field("id"), "id=7", `"id"`},
		"JSON null":     {idempotency.Field("id"), "null", `"id"`},
		"JSON array":    {idempotency.Field("id"), "[7]", `"id"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := idempotency.Hash(c.sel, c.payload)
			if !errors.Is(err, idempotency.ErrNoPayload) || !strings.Contains(err.Error(), c.says) || h != "" {
				t.Errorf("hash %q, error %v; want ErrNoPayload that says %q", h, err, c.says)
			}
			if name == "error" && !errors.Is(err, cause) {
				t.Errorf("error %v lost the selector's own", err)
			}
		})
	}
}
