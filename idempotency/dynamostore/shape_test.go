package dynamostore_test

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

// shape is a request, with placeholders in place of names and values.
type shape struct{ Update, Condition string }

// lastShape checks what all requests have in common, and returns the last one.
func lastShape(t *testing.T, f *fake) shape {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.calls[len(f.calls)-1]
	var w wireWrite
	if err := json.Unmarshal([]byte(c.body), &w); err != nil || c.op != "UpdateItem" {
		t.Fatalf("%s, %v; want an UpdateItem", c.op, err)
	}
	if w.ReturnValues != "ALL_NEW" || w.ReturnValuesOnConditionCheckFailure != "ALL_OLD" {
		t.Errorf("returns %q, and %q on a failure; want ALL_NEW and ALL_OLD", w.ReturnValues, w.ReturnValuesOnConditionCheckFailure)
	}
	// DynamoDB refuses a request that has one too many or too few.
	all := w.UpdateExpression + " " + w.ConditionExpression
	has := append(slices.Collect(maps.Keys(w.ExpressionAttributeNames)), slices.Collect(maps.Keys(w.ExpressionAttributeValues))...)
	needs := regexp.MustCompile(`[#:]\w+`).FindAllString(all, -1)
	slices.Sort(has)
	slices.Sort(needs)
	if diff := cmp.Diff(slices.Compact(needs), has); diff != "" {
		t.Errorf("names and values (-used +given) in %q:\n%s", all, diff)
	}
	return shape{w.UpdateExpression, w.ConditionExpression}
}

type shapeCase struct {
	name string
	call func(context.Context, *dynamostore.Store) error
	want shape
}

func shapes() []shapeCase {
	hashed := func(r *idempotency.Request) { r.Hash = "h" }
	unlimited := func(r *idempotency.Request) { r.MaxAttempts = 0 }
	unknown := func(r *idempotency.Request) { r.Life = 0 }
	claim := func(change func(*idempotency.Request)) func(context.Context, *dynamostore.Store) error {
		return func(ctx context.Context, s *dynamostore.Store) error {
			r := request("a")
			change(&r)
			_, err := s.Claim(ctx, r)
			return err
		}
	}
	release := func(f idempotency.Failure) func(context.Context, *dynamostore.Store) error {
		return func(ctx context.Context, s *dynamostore.Store) error { return s.Release(ctx, key, "before", f) }
	}
	const (
		set = "SET #st = :ip, #own = :tok, #lease = :lease, #exp = :exp, #att = if_not_exists(#att, :zero) + :one, " +
			"#upd = :now, #cre = if_not_exists(#cre, :now)"
		over   = "(#st = :failed OR (#st = :ip AND #own <> :tok AND #lease < :over))"
		fenced = "#own = :tok AND #st = :ip"
	)
	return []shapeCase{
		{"claim", claim(func(*idempotency.Request) {}), shape{
			set + ", #life = :life", "attribute_not_exists(#pk) OR (#exp > :nowS AND #life = :life AND #att < :max AND " + over + ")",
		}},
		{"claim with a hash", claim(hashed), shape{
			set + ", #life = :life, #hash = :hash",
			"attribute_not_exists(#pk) OR (#exp > :nowS AND #life = :life AND #att < :max AND #hash = :hash AND " + over + ")",
		}},
		{"claim without a limit", claim(unlimited), shape{
			set + ", #life = :life", "attribute_not_exists(#pk) OR (#exp > :nowS AND #life = :life AND " + over + ")",
		}},
		{"claim of unknown life", claim(unknown), shape{
			set + ", #life = if_not_exists(#life, :life)",
			"attribute_not_exists(#pk) OR (#exp > :nowS AND #life >= :life AND #att < :max AND " + over + ")",
		}},
		{"renew", func(ctx context.Context, s *dynamostore.Store) error {
			return s.Renew(ctx, key, "before", time.Now(), time.Now())
		}, shape{"SET #lease = :lease, #exp = :exp, #upd = :now", fenced}},
		{"complete", func(ctx context.Context, s *dynamostore.Store) error {
			return s.Complete(ctx, key, "before", time.Now())
		}, shape{"SET #st = :done, #lease = :zero, #exp = :exp, #upd = :now REMOVE #err", fenced}},
		{"release", release(idempotency.Failure{Status: idempotency.Failed, Err: "no"}), shape{
			"SET #st = :to, #lease = :zero, #exp = :exp, #upd = :now, #att = #att - :refund, #err = :err", fenced,
		}},
		{"release without an error", release(idempotency.Failure{Status: idempotency.Rejected}), shape{
			"SET #st = :to, #lease = :zero, #exp = :exp, #upd = :now, #att = #att - :refund REMOVE #err", fenced,
		}},
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for _, tc := range shapes() {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, s := setup(t)
			rec := recorded(idempotency.InProgress)
			rec.Hash = "h"
			f.put(itemOf(key, rec))
			if err := tc.call(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if got := lastShape(t, f); got != tc.want {
				t.Errorf("got\n%+v\nwant\n%+v", got, tc.want)
			}
		})
	}
}

func TestShapeOfReplace(t *testing.T) {
	t.Parallel()
	const (
		set  = "SET #st = :ip, #own = :tok, #lease = :lease, #exp = :exp, #life = :life, #att = :n, #upd = :now, #cre = :cre"
		seen = "attribute_not_exists(#pk) OR (#own = :seenOwn AND #st = :seenSt AND #lease = :seenLease AND #upd = :seenUpd)"
	)
	for _, tc := range []struct {
		name   string
		change func(*idempotency.Request)
		want   string
	}{
		{"new life", func(r *idempotency.Request) { r.Life++ }, set + " REMOVE #hash, #err"},
		{"new life with a hash", func(r *idempotency.Request) { r.Life++; r.Hash = "h" }, set + ", #hash = :hash REMOVE #err"},
		{"older life", func(r *idempotency.Request) { r.Life-- }, set + ", #err = :err REMOVE #hash"},
		{"older life with a hash", func(r *idempotency.Request) { r.Life--; r.Hash = "h" }, set + ", #hash = :hash, #err = :err"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, s := setup(t)
			f.put(itemOf(key, recorded(idempotency.Failed)))
			r := request("a")
			tc.change(&r)
			if _, err := s.Claim(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if got := lastShape(t, f); got != (shape{tc.want, seen}) {
				t.Errorf("got\n%+v\nwant\n%+v", got, shape{tc.want, seen})
			}
		})
	}
}

// Names of the user's own, in a table that has other things beside.
func TestSharedTable(t *testing.T) {
	t.Parallel()
	f := newFake("PK", "SK")
	s := newStore(t, f.client(), dynamostore.Config{
		SortKey: dynamostore.SortKey{Name: "SK", Value: "claim"},
		Attributes: dynamostore.Attributes{
			Key: "PK", Status: "status", Owner: "token", Lease: "leased", Expires: "ttl", Life: "since", Attempts: "count",
			Hash: "digest", Error: "reason", Updated: "at", Created: "from",
		},
	})
	r := request("a")
	r.Hash = "h"
	if _, err := s.Claim(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), key, "a", idempotency.Failure{Status: idempotency.Failed, Err: "no", Expires: r.Expires}); err != nil {
		t.Fatal(err)
	}
	got := f.items[strings.Join([]string{table, key, "claim"}, "\x00")]
	want := []string{"PK", "SK", "at", "count", "digest", "from", "leased", "reason", "since", "status", "token", "ttl"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	r.Owner = "b"
	if rec, err := s.Claim(t.Context(), r); err != nil || rec.Attempts != 2 || rec.Err != "no" {
		t.Errorf("claimed again: %+v, %v; want attempt 2", rec, err)
	}
}
