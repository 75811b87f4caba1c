package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	jsonv1 "github.com/go-json-experiment/json/v1"
	"pgregory.net/rapid"
)

// order has everything that a body may have without being left to
// encoding/json.
type order struct {
	Text     string  `json:"s"`
	Kelvin   string  `json:"k"`
	Number   int     `json:"n"`
	Small    int8    `json:"small,omitempty"`
	Unsigned uint16  `json:"u,omitzero"`
	Float    float64 `json:"f"`
	Single   float32
	Flag     bool
	For      time.Duration `json:"for"`
	Maybe    *int
	Inner    struct{ A, B string }
	Other    *plainLine `json:"other"`
	List     []int
	Lists    [][]string
	Lines    []plainLine `json:"lines"`
	Prices   map[string]float64
	Labels   map[string][]plainLine
	Hidden   string `json:"-"`
	hidden   string
}

type plainLine struct {
	SKU   string `json:"sku"`
	N     *uint8
	Price float64
}

var plainBodies = []string{
	`{}`, ` { } `, `{"s":"x","n":7}`, "\t{ \"s\" : \"x\" ,\r\n\"n\" : 7 }\n",
	`{"n":7,"s":"x"}`, `{"s":""}`, `{"s":"äöü€😀"}`, `{"s":"a\"b\u00e4\n\ud83d\ude00\ud800"}`,
	`{"n":-0,"small":-128,"u":65535,"f":-0.5e-3,"Single":1E+2,"Flag":true,"for":1000}`, `{"Flag":false,"k":"k","f":1}`,
	`{"at":"2026-11-30T12:00:00Z","MaybeAt":"2026-11-30T12:00:00.5+01:00","Maybe":3}`,
	`{"s":null,"n":null,"f":null,"Flag":null,"at":null,"Maybe":null,"MaybeAt":null,"Inner":null,"other":null,"List":null,"lines":null}`,
	`{"Inner":{"A":"a","C":[1,{"x":null}],"B":"b"},"other":{"sku":"1","N":255,"Price":1.5},"-":"d","Hidden":"h","hidden":"h"}`,
	`{"List":[],"Lists":[[],["a","b"],null,[null,"c"]],"lines":[{},null,{"sku":"x"},{"N":1}]}`, `{"List":[1,2,3,null,5,6,7,8,9]}`,
	`{"Prices":{"a":1.5,"b":null,"":2},"Labels":{"x":[{"sku":"1"}],"y":null}}`, `{"Prices":{}}`, `{"Prices":null}`,
	`{"unknown":{"a":[1,-2.5e3,"x\u00e4\\",true,false,null,{}]},"":0,"s":"x"}`,
}

// TestBody_IsDecodedQuickly keeps the quick way from being dead.
func TestBody_IsDecodedQuickly(t *testing.T) {
	t.Parallel()
	if !plainBody(reflect.TypeFor[order]()) {
		t.Fatal("the type is left to encoding/json")
	}
	for _, body := range plainBodies {
		var v order
		if err := jsonv1.Unmarshal([]byte(body), &v); err != nil {
			t.Errorf("%s is left to encoding/json: %v", body, err)
		}
		if v.Hidden+v.hidden != "" {
			t.Errorf("%s is read into what has no name", body)
		}
	}
}

type recursive struct{ Next *recursive }

func TestBody_TypesLeftToEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		0, "", []int{}, map[string]int{}, time.Time{}, struct{ A time.Time }{}, struct{ A *time.Time }{}, &order{}, recursive{}, json.RawMessage{}, Verdict(0),
		struct{ A any }{}, struct{ A error }{}, struct{ A map[int]int }{}, struct{ A json.Number }{}, struct{ A json.RawMessage }{},
		struct{ A []json.Number }{}, struct{ A *json.Number }{}, struct{ A []byte }{}, struct{ A [2]int }{},
		struct{ A ownJSON }{}, struct{ A textual }{}, struct{ A []textual }{}, struct{ A *textual }{}, struct{ A complex64 }{}, struct{ plainLine }{},
		struct {
			A int `json:"a,string"`
		}{},
		struct {
			A int `json:"ä"`
		}{},
		struct {
			A int `json:"a.b"`
		}{},
		struct {
			A int `json:"-,"` //nolint:staticcheck // its name is -
		}{},
		struct {
			A int `json:"a"`
			B int `json:"A"`
		}{},
	} {
		if plainBody(reflect.TypeOf(v)) {
			t.Errorf("%T is not left to encoding/json", v)
		}
	}
}

type ownJSON struct{}

func (*ownJSON) UnmarshalJSON([]byte) error { return errors.New("never") }

type textual struct{}

func (*textual) UnmarshalText([]byte) error { return errors.New("never") }

// checkBody compares JSON with encoding/json on a body.
func checkBody[T any](t interface {
	Fatalf(format string, args ...any)
}, body string) {
	var want, got T
	wantErr := json.Unmarshal([]byte(body), &want)
	if wantErr == nil && isNull(body) {
		wantErr = errNullBody
	}
	gotErr := JSON(func(_ context.Context, v T, _ *Message) error {
		got = v
		return nil
	}).Handle(context.Background(), &Message{Body: body})
	if wantErr != nil {
		if d, ok := errors.AsType[*DecodeError](gotErr); !ok || d.Unwrap().Error() != wantErr.Error() {
			t.Fatalf("%q: error %v, want %v", body, gotErr, wantErr)
		}
		return
	}
	if gotErr != nil || !reflect.DeepEqual(want, got) { // which tells a slice that is nil from an empty one
		t.Fatalf("%q: error %v, %+v, want %+v", body, gotErr, got, want)
	}
}

var oddBodies = []string{
	``, ` `, `null`, `5`, `"x"`, `[]`, `{`, `{}{}`, `{}x`, `{} null`, "\ufeff{}",
	`{,}`, `{"s":"x",}`, `{"s"}`, `{"s":}`, `{"s" "x"}`, `{s:1}`, `{"s":'x'}`,
	`{"S":"x"}`, `{"s":"x","S":"y"}`, `{"S":"y","s":"x"}`, `{"s":"x","s":"y"}`, `{"\u0073":"x"}`, "{\"\u212a\":\"kelvin\"}", `{"ſ":"long s"}`,
	`{"other":{"sku":"x"},"other":{"N":1}}`, `{"lines":[{"sku":"x","N":1}],"lines":[{"sku":"y"}]}`, `{"List":[1,2,3],"List":[4]}`, `{"x":1,"x":2}`,
	`{"n":"7"}`, `{"n":7.0}`, `{"n":7e0}`, `{"n":07}`, `{"n":+7}`, `{"n":-}`,
	`{"n":9223372036854775808}`, `{"small":128}`, `{"u":-1}`, `{"u":-0}`, `{"u":65536}`,
	`{"f":1e999}`, `{"Single":1e39}`, `{"f":1.}`, `{"f":.5}`, `{"f":1e}`, `{"f":0x1}`,
	`{"Single":1.00000005960464477539062500001}`, `{"f":NaN}`, `{"Flag":1}`, `{"Flag":tru}`, `{"Flag":truee}`, `{"s":nul}`, `{"s":nulll}`,
	"{\"s\":\"a\x01\"}", "{\"s\":\"a\xff\"}", "{\"s\xff\":\"a\"}", "{\"x\":\"\xff\x01\"}", `{"s":"\x"}`,
	`{"s":"\u12"}`, `{"x":"\u12g4"}`, `{"x":"\`, `{"s":"`, "{\"s\":\"\x00\"}", "{\"s\":1\x00}",
	`{"at":"yesterday"}`, `{"at":5}`, `{"at":"2026-11-30T12:00:00\u005a"}`, `{"MaybeAt":{}}`,
	`{"for":"1s"}`, `{"List":{}}`, `{"List":[1,]}`, `{"List":[,1]}`, `{"List":[1 2]}`, `{"Lists":["a"]}`,
	`{"Inner":[]}`, `{"lines":[[]]}`, `{"lines":{"sku":"x"}}`, `{"x":[1,{"y":[}]}`,
	`{"x":{"y":1,}}`, `{"x":{"y"}}`, `{"x":01}`, `{"x":-}`, "{\"x\"\v:1}", "{\"n\":7\u00a0}",
	`{"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
	`{"x":` + strings.Repeat(`[`, 20000) + strings.Repeat("]", 20000) + "}",
}

func FuzzBody(f *testing.F) {
	for _, body := range append(plainBodies, oddBodies...) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		checkBody[order](t, body)
		checkBody[struct{}](t, body)
		checkBody[any](t, body)
	})
}

// TestBody_Damaged cuts and spoils bodies at every byte.
func TestBody_Damaged(t *testing.T) {
	t.Parallel()
	for _, body := range plainBodies {
		for i := range body {
			checkBody[order](t, body[:i])
			for _, c := range "\"\\{}[]:, 0n\x1f\xff" {
				checkBody[order](t, body[:i]+string(c)+body[i+1:])
				checkBody[order](t, body[:i]+string(c)+body[i:])
			}
		}
	}
}

// TestBody_AnyMembers puts any value under any name, of a field or not.
func TestBody_AnyMembers(t *testing.T) {
	t.Parallel()
	names := []string{
		"s", "k", "n", "small", "u", "f", "Single", "Flag", "at", "for", "Maybe", "MaybeAt",
		"Inner", "other", "List", "Lists", "lines", "-", "S", "flag", "x", "", `\u0073`, "K",
	}
	values := []string{
		`null`, `true`, `false`, `0`, `-1`, `7`, `128`, `1.5`, `1e2`, `""`, `"x"`, `"\n"`, `"ä"`,
		`"2026-11-30T12:00:00Z"`, `{}`, `[]`, `[null]`, `[1,2,3]`, `["a",null]`, `[["a"],[]]`,
		`{"A":"a","B":null}`, `{"sku":"1","N":2}`, `[{"sku":"1"},{"N":3,"Price":1}]`, ` 1 `, `{"sku":1}`, `[{"N":256}]`,
	}
	rapid.Check(t, func(rt *rapid.T) {
		var members []string
		for range rapid.IntRange(0, 6).Draw(rt, "members") {
			members = append(members, `"`+rapid.SampledFrom(names).Draw(rt, "name")+`":`+rapid.SampledFrom(values).Draw(rt, "value"))
		}
		checkBody[order](rt, "{"+strings.Join(members, ",")+"}")
	})
}
