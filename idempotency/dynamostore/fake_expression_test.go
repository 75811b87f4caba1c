package dynamostore_test

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
)

// expression evaluates DynamoDB's expressions, as far as they are used here. An
// error in one is a panic: it is a defect of the store or of the fake.
type expression struct {
	w      wireWrite
	item   wireItem // what it is about, as it was
	tokens []string
}

var tokens = regexp.MustCompile(`<>|<=|>=|[#:]?[A-Za-z0-9_]+|[^\s]`)

func (w wireWrite) expression(it wireItem, s string) *expression {
	return &expression{w: w, item: it, tokens: tokens.FindAllString(s, -1)}
}

func (e *expression) peek() string {
	if len(e.tokens) == 0 {
		return ""
	}
	return e.tokens[0]
}

func (e *expression) take(want string) string {
	got := e.peek()
	if got == "" || want != "" && got != want {
		panic(fmt.Sprintf("expression: %q, want %q", e.tokens, want))
	}
	e.tokens = e.tokens[1:]
	return got
}

func (e *expression) accept(s string) bool {
	if e.peek() != s {
		return false
	}
	e.take(s)
	return true
}

// condition is all of the expression.
func (e *expression) condition() bool {
	v := e.or()
	if e.peek() != "" {
		panic(fmt.Sprintf("expression: %q is left over", e.tokens))
	}
	return v
}

func (e *expression) or() bool {
	v := e.and()
	for e.accept("OR") {
		w := e.and() // read in any case
		v = v || w
	}
	return v
}

func (e *expression) and() bool {
	v := e.unit()
	for e.accept("AND") {
		w := e.unit()
		v = v && w
	}
	return v
}

func (e *expression) unit() bool {
	if e.accept("(") {
		v := e.or()
		e.take(")")
		return v
	}
	if e.accept("attribute_not_exists") {
		e.take("(")
		_, found := e.item[e.name()]
		e.take(")")
		return !found
	}
	a := e.operand()
	op := e.take("")
	return compare(a, op, e.operand())
}

// compare is false for what is not there, and for values of two types.
func compare(a wire, op string, b wire) bool {
	an, aok := a["N"]
	bn, bok := b["N"]
	if aok != bok || a == nil || b == nil {
		return false
	}
	order := 0
	if aok {
		order = rat(an).Cmp(rat(bn))
	} else if a["S"] != b["S"] {
		order = 1 // strings are only compared for being the same
	}
	switch op {
	case "=":
		return order == 0
	case "<>":
		return order != 0
	case "<":
		return order < 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	}
	panic("expression: comparator " + op)
}

func rat(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic("expression: number " + s)
	}
	return r
}

func num(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// name takes the placeholder of a name.
func (e *expression) name() string {
	placeholder := e.take("")
	name, found := e.w.ExpressionAttributeNames[placeholder]
	if !found {
		panic("expression: no name " + placeholder)
	}
	return name
}

func (e *expression) operand() wire {
	switch t := e.peek(); {
	case t == "if_not_exists":
		e.take(t)
		e.take("(")
		v, found := e.item[e.name()]
		e.take(",")
		other := e.operand()
		e.take(")")
		if found {
			return v
		}
		return other
	case t != "" && t[0] == ':':
		v, found := e.w.ExpressionAttributeValues[e.take(t)]
		if !found {
			panic("expression: no value " + t)
		}
		return v
	default:
		return e.item[e.name()]
	}
}

// update applies all of an update expression to it.
func (e *expression) update(it wireItem) {
	for e.peek() != "" {
		switch action := e.take(""); action {
		case "SET":
			for more := true; more; more = e.accept(",") {
				name := e.name()
				e.take("=")
				it[name] = e.sum()
			}
		case "REMOVE":
			for more := true; more; more = e.accept(",") {
				delete(it, e.name())
			}
		default:
			panic("expression: action " + action)
		}
	}
}

func (e *expression) sum() wire {
	v := e.operand()
	switch {
	case e.accept("+"):
		return wire{"N": strconv.Itoa(num(v["N"]) + num(e.operand()["N"]))}
	case e.accept("-"):
		return wire{"N": strconv.Itoa(num(v["N"]) - num(e.operand()["N"]))}
	}
	return v
}
