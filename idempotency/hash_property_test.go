package idempotency_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A random JSON value is written twice, differently. Generators of rapid are not
// safe for concurrent use, so each test draws with its own.

// draw makes a value of maps, slices, strings, *big.Rat (with a finite decimal
// expansion), bool and nil.
func draw(t *rapid.T, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.Bool().Draw(t, "bool")
	case 1:
		return nil
	case 2:
		return rapid.StringN(0, 5, -1).Draw(t, "string")
	case 3:
		return drawNumber(t)
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, draw(t, depth-1))
		}
		return list
	default:
		members := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			members[rapid.StringN(0, 3, -1).Draw(t, "name")] = draw(t, depth-1)
		}
		return members
	}
}

// drawNumber draws mantissa·10^exponent, around where 64 bits end too.
func drawNumber(t *rapid.T) *big.Rat {
	mantissa := rapid.OneOf(rapid.Int64Range(-20, 20), rapid.Int64(), rapid.Just(int64(1)<<53+1)).Draw(t, "mantissa")
	return scaled(mantissa, rapid.IntRange(-30, 30).Draw(t, "exponent"))
}

func scaled(mantissa int64, exponent int) *big.Rat {
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil)
	if exponent < 0 {
		return new(big.Rat).SetFrac(big.NewInt(mantissa), ten)
	}
	return new(big.Rat).SetInt(ten.Mul(ten, big.NewInt(mantissa)))
}

// spell writes v, with all that JSON leaves open drawn anew.
func spell(t *rapid.T, v any) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r\n"}).Draw(t, "space") }
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		var members []string
		for _, name := range rapid.Permutation(names).Draw(t, "order") {
			members = append(members, space()+spellString(t, name)+space()+":"+space()+spell(t, v[name])+space())
		}
		return "{" + space() + strings.Join(members, ",") + "}"
	case []any:
		var elements []string
		for _, e := range v {
			elements = append(elements, space()+spell(t, e)+space())
		}
		return "[" + space() + strings.Join(elements, ",") + "]"
	case string:
		return spellString(t, v)
	case *big.Rat:
		return spellNumber(t, v)
	default:
		b, _ := json.Marshal(v)
		return string(b)
	}
}

func spellString(t *rapid.T, s string) string {
	if rapid.Bool().Draw(t, "escaped") {
		var b strings.Builder
		for _, r := range s {
			if r > 0xffff {
				r -= 0x10000
				fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
				continue
			}
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		return `"` + b.String() + `"`
	}
	b, _ := json.Marshal(s)
	return string(b)
}

// spellNumber moves the decimal point, and the exponent with it.
func spellNumber(t *rapid.T, v *big.Rat) string {
	shift := rapid.IntRange(-40, 40).Draw(t, "shift")
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(shift, -shift))), nil)
	moved := new(big.Rat).Set(v)
	if shift < 0 {
		moved.Mul(moved, new(big.Rat).SetInt(ten))
	} else {
		moved.Quo(moved, new(big.Rat).SetInt(ten))
	}
	digits := moved.FloatString(120) // all of them
	if rapid.Bool().Draw(t, "trimmed") {
		digits = strings.TrimSuffix(strings.TrimRight(digits, "0"), ".")
	}
	if shift == 0 && rapid.Bool().Draw(t, "plain") {
		return digits
	}
	sign := ""
	if shift >= 0 {
		sign = rapid.SampledFrom([]string{"", "+", "+0"}).Draw(t, "sign")
	}
	return digits + rapid.SampledFrom([]string{"e", "E"}).Draw(t, "e") + sign + fmt.Sprint(shift)
}

func TestHashIsOfTheValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := draw(t, 3)
		one, two := spell(t, v), spell(t, v)
		if !json.Valid([]byte(one)) || !json.Valid([]byte(two)) {
			t.Fatalf("the test wrote no JSON: %s or %s", one, two)
		}
		if whole(t, one) != whole(t, two) {
			t.Fatalf("one value, two hashes:\n%s\n%s", one, two)
		}
	})
}

func TestHashTellsValuesApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v, w := draw(t, 2), draw(t, 2)
		same := canon(v) == canon(w)
		if got := whole(t, spell(t, v)) == whole(t, spell(t, w)); got != same {
			t.Fatalf("same value: %v, same hash: %v\n%s\n%s", same, got, canon(v), canon(w))
		}
	})
}

func TestHashTellsNumbersApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := drawNumber(t)
		w := new(big.Rat).Set(v)
		if rapid.Bool().Draw(t, "different") {
			w.Add(w, scaled(1, rapid.IntRange(-60, 30).Draw(t, "by")))
		}
		one, two := spellNumber(t, v), spellNumber(t, w)
		if got := whole(t, one) == whole(t, two); got != (v.Cmp(w) == 0) {
			t.Fatalf("%s and %s: same hash: %v", one, two, got)
		}
	})
}

// canon writes a value in the test's own way: Go sorts the names.
func canon(v any) string {
	switch v := v.(type) {
	case *big.Rat:
		return "number " + v.RatString()
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = canon(e)
		}
		return fmt.Sprintf("list %q", parts)
	case map[string]any:
		parts := make(map[string]string, len(v))
		for name, e := range v {
			parts[name] = canon(e)
		}
		return fmt.Sprintf("object %q", parts)
	default:
		return fmt.Sprintf("%T %q", v, fmt.Sprint(v))
	}
}
