package dynamostore

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackwise/ackwise/idempotency"
)

type (
	item   = map[string]types.AttributeValue
	values = map[string]types.AttributeValue
)

// change is one conditional update. Its expressions have attributes as
// placeholders such as #st, because names are the user's and some of the
// defaults are reserved words.
type change struct {
	update, condition string
	values            values
	// insist says to go on after failures that may pass, for as long as ctx
	// lasts; see [mayPass]. Only a fenced change can be made twice without harm.
	insist bool
}

// used is what DynamoDB wants to know of names: those that the expressions have,
// and no others.
func (s *Store) used(c *change) map[string]string {
	names := maps.Clone(s.names)
	maps.DeleteFunc(names, func(placeholder, _ string) bool {
		return !strings.Contains(c.update, placeholder) && !strings.Contains(c.condition, placeholder)
	})
	return names
}

func (s *Store) key(key string) item {
	k := item{s.names["#pk"]: text(key)}
	if s.sort.Name != "" {
		k[s.sort.Name] = text(s.sort.Value)
	}
	return k
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// millis is epoch milliseconds, and 0 for no time.
func millis(t time.Time) types.AttributeValue {
	if t.IsZero() {
		return number(0)
	}
	return number(t.UnixMilli())
}

// seconds is epoch seconds, as TTL has them; a fraction is cut off.
func seconds(t time.Time) types.AttributeValue { return number(t.Unix()) }

// is reports whether an item is in a state that owner brought it to.
func (s *Store) is(it item, owner string, st idempotency.Status) bool {
	own, _ := it[s.names["#own"]].(*types.AttributeValueMemberS)
	state, _ := it[s.names["#st"]].(*types.AttributeValueMemberS)
	return own != nil && own.Value == owner && state != nil && state.Value == st.String()
}

// parse reads an item as a record. One that is no record is an error and not
// overwritten: in a shared table it is something else of the user's.
func (s *Store) parse(it item) (idempotency.Record, error) {
	r := reader{s: s, it: it}
	rec := idempotency.Record{
		Status:   idempotency.ParseStatus(r.text("#st", true)),
		Owner:    r.text("#own", true),
		Lease:    unixMilli(r.number("#lease", true)),
		Life:     r.number("#life", true),
		Attempts: int(r.number("#att", true)),
		Hash:     r.text("#hash", false),
		Err:      r.text("#err", false),
		Updated:  unixMilli(r.number("#upd", true)),
		Created:  unixMilli(r.number("#cre", false)),
	}
	if exp := r.number("#exp", false); exp != 0 {
		rec.Expires = time.Unix(exp, 0)
	}
	if rec.Status == 0 {
		r.bad = append(r.bad, s.names["#st"])
	}
	if len(r.bad) > 0 {
		slices.Sort(r.bad)
		return idempotency.Record{}, fmt.Errorf("dynamostore: an item in table %q is where a record should be, but is none: look at %s; "+
			"if something else lives there, use other attribute names, another sort key or a table of its own",
			s.table, strings.Join(slices.Compact(r.bad), ", "))
	}
	return rec, nil
}

func unixMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// reader takes attributes out of an item and notes those that are not as they
// should be.
type reader struct {
	s   *Store
	it  item
	bad []string
}

func (r *reader) text(placeholder string, needed bool) string {
	name := r.s.names[placeholder]
	v, found := r.it[name]
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	if needed || found {
		r.bad = append(r.bad, name)
	}
	return ""
}

func (r *reader) number(placeholder string, needed bool) int64 {
	name := r.s.names[placeholder]
	v, found := r.it[name]
	if n, ok := v.(*types.AttributeValueMemberN); ok {
		if i, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return i
		}
	}
	if needed || found {
		r.bad = append(r.bad, name)
	}
	return 0
}
