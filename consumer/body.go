package consumer

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	jsonv1 "github.com/go-json-experiment/json/v1"
)

// decodeBody decodes a body into v, a pointer to a zero value, as encoding/json
// does. Where quick says that the type is plain, that is left to what is to become
// encoding/json, which takes half the time; whatever that refuses, encoding/json
// itself decides.
func decodeBody[T any](body string, v *T, quick bool) error {
	data := []byte(body)
	if quick && jsonv1.Unmarshal(data, v) == nil {
		return nil
	}
	*v = *new(T)
	return json.Unmarshal(data, v)
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	numberType      = reflect.TypeFor[json.Number]()
)

// plainBody reports whether both decoders know the same rules for a type: it is a
// struct of strings, booleans and numbers, of pointers to them, and of slices, maps
// and structs of all that. Types that decode themselves, as times do, interfaces
// and tags out of the ordinary are not.
func plainBody(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && plainType(t, nil)
}

// plainType does so for a type within those of outer.
func plainType(t reflect.Type, outer []reflect.Type) bool {
	p := reflect.PointerTo(t)
	if t == numberType || p.Implements(unmarshaler) || p.Implements(textUnmarshaler) || slices.Contains(outer, t) {
		return false
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Struct:
		return plainFields(t, append(outer, t))
	case reflect.Map:
		return t.Key() == reflect.TypeFor[string]() && plainType(t.Elem(), append(outer, t))
	case reflect.Pointer:
		return plainType(t.Elem(), append(outer, t))
	case reflect.Slice:
		// Bytes are base64.
		return t.Elem().Kind() != reflect.Uint8 && plainType(t.Elem(), append(outer, t))
	default:
		return false
	}
}

func plainFields(t reflect.Type, outer []reflect.Type) bool {
	var names []string
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		if f.Anonymous {
			return false
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		name := plainName(f.Name, tag)
		// Two names of one spelling have a rule of their own.
		if name == "" || slices.Contains(names, name) || !plainType(f.Type, outer) {
			return false
		}
		names = append(names, name)
	}
	return true
}

// ordinary is what an ordinary name is made of.
const ordinary = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// plainName gives the name of a field in small letters, or "" if it, or its tag, is
// out of the ordinary.
func plainName(name, tag string) string {
	tagged, options, _ := strings.Cut(tag, ",")
	if tagged != "" {
		name = tagged
	}
	if name == "-" || strings.Trim(name, ordinary) != "" || options != "" && options != "omitempty" && options != "omitzero" {
		return ""
	}
	return strings.ToLower(name)
}
