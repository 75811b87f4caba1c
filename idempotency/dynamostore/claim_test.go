package dynamostore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

// between has the record change after a claim was refused by it, and before the
// claim writes in its place.
func between(f *fake, change func()) { f.plan(fault{then: change}) }

// late is a record that expired and is still there.
func late() idempotency.Record {
	rec := recorded(idempotency.Completed)
	rec.Expires = time.Now().Add(-time.Hour)
	return rec
}

func TestSomebodyElseIsFaster(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	f.put(itemOf(key, late()))
	next := recorded(idempotency.InProgress)
	next.Owner, next.Lease = "faster", time.Now().Add(time.Hour).Truncate(time.Second)
	between(f, func() { f.put(itemOf(key, next)) })
	_, err := s.Claim(t.Context(), request("a"))
	if held, ok := errors.AsType[*idempotency.HeldError](err); !ok || !held.Until.Equal(next.Lease) {
		t.Errorf("got %v, want it held until %v", err, next.Lease)
	}
	wantOps(t, f, "UpdateItem", "UpdateItem")
}

func TestSomebodyElseIsFasterAndFails(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	f.put(itemOf(key, late()))
	next := recorded(idempotency.Failed)
	next.Owner = "faster"
	between(f, func() { f.put(itemOf(key, next)) })
	rec, err := s.Claim(t.Context(), request("a"))
	if err != nil || rec.Attempts != 2 {
		t.Errorf("got %+v, %v; want attempt 2", rec, err)
	}
	wantOps(t, f, repeat("UpdateItem", 3)...)
}

func TestRecordIsDeletedUnderAClaim(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	f.put(itemOf(key, late()))
	between(f, f.empty)
	rec, err := s.Claim(t.Context(), request("a"))
	if err != nil || rec.Attempts != 1 || rec.Err != "" {
		t.Errorf("got %+v, %v; want attempt 1", rec, err)
	}
	wantOps(t, f, "UpdateItem", "UpdateItem")
}

func TestRecordNeverStandsStill(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	other := late()
	f.put(itemOf(key, other))
	defer f.breakAll(fault{then: func() {
		other.Updated = other.Updated.Add(time.Millisecond)
		f.put(itemOf(key, other))
	}})()
	_, err := s.Claim(t.Context(), request("a"))
	if err == nil || errors.Is(err, idempotency.ErrHeld) || !strings.Contains(err.Error(), "changed") {
		t.Errorf("got %v, want an error that says that it changed", err)
	}
	wantOps(t, f, repeat("UpdateItem", 4)...)
}

// What is no record is somebody else's, and stays as it is.
func TestForeignItem(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(wireItem)
		want   string
	}{
		{"no attribute of ours", func(it wireItem) {
			clear(it)
			it["pk"], it["total"] = wire{"S": key}, wire{"N": "7"}
		}, "look at att, lease, life, own, st, upd;"},
		{"unknown status", func(it wireItem) { it["st"] = wire{"S": "shipped"} }, "look at st;"},
		{"status a number", func(it wireItem) { it["st"] = wire{"N": "1"} }, "look at st;"},
		{"lease a string", func(it wireItem) { it["lease"] = wire{"S": "now"} }, "look at lease;"},
		{"attempts a fraction", func(it wireItem) { it["att"] = wire{"N": "1.5"} }, "look at att;"},
		{"error a number", func(it wireItem) { it["err"] = wire{"N": "1"} }, "look at err;"},
		{"expiry a string", func(it wireItem) { it["exp"] = wire{"S": "2030"} }, "look at exp;"},
		{"no owner", func(it wireItem) { delete(it, "own") }, "look at own;"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, s := setup(t)
			rec := recorded(idempotency.Completed) // which the first write never touches
			it := itemOf(key, rec)
			tc.change(it)
			f.put(it)
			_, err := s.Claim(t.Context(), request("a"))
			if err == nil {
				t.Fatal("claimed")
			}
			for _, want := range []string{tc.want, "where a record should be", "table of its own", table} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if errors.Is(err, idempotency.ErrCompleted) {
				t.Error("it is taken for completed")
			}
			wantOps(t, f, "UpdateItem")
		})
	}
}

// The write was accepted, and what came of it cannot be read: the key is given
// back, for nobody is going to work under it.
func TestForeignAttributeInARecord(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	it := itemOf(key, recorded(idempotency.Failed))
	it["cre"] = wire{"S": "long ago"}
	f.put(it)
	if _, err := s.Claim(t.Context(), request("a")); err == nil || !strings.Contains(err.Error(), "look at cre;") {
		t.Errorf("got %v, want an error about cre", err)
	}
	if rec := recordIn(f); rec.Status != idempotency.Failed || rec.Attempts != 1 {
		t.Errorf("left behind: %+v; want it given back", rec)
	}
}

// The table has whole milliseconds. A clock that shows more must not take over
// by the fraction.
func TestFractionOfAMillisecond(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	rec := recorded(idempotency.InProgress)
	f.put(itemOf(key, rec))
	r := request("a")
	r.Now = rec.Lease.Add(idempotency.MaxSkew + 999*time.Microsecond)
	if _, err := s.Claim(t.Context(), r); !errors.Is(err, idempotency.ErrHeld) {
		t.Errorf("got %v, want it held", err)
	}
	r.Now = rec.Lease.Add(idempotency.MaxSkew + time.Millisecond)
	if _, err := s.Claim(t.Context(), r); err != nil {
		t.Error(err)
	}
}

// A record that an operator keeps for ever has no expiry.
func TestNoExpiry(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	it := itemOf(key, recorded(idempotency.Completed))
	delete(it, "exp")
	f.put(it)
	if _, err := s.Claim(t.Context(), request("a")); !errors.Is(err, idempotency.ErrCompleted) {
		t.Errorf("got %v, want ErrCompleted", err)
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, key, owner, want string }{
		{"no key", "", "a", "0 bytes"},
		{"long key", strings.Repeat("k", 2049), "a", "2049 bytes"},
		{"bad key", "\xff", "a", "UTF-8"},
		{"no owner", key, "", "owner"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, s := setup(t)
			r := request(tc.owner)
			r.Key = tc.key
			_, err := s.Claim(t.Context(), r)
			for _, err := range []error{
				err,
				s.Renew(t.Context(), tc.key, tc.owner, r.Lease, r.Expires),
				s.Complete(t.Context(), tc.key, tc.owner, r.Expires),
				s.Release(t.Context(), tc.key, tc.owner, idempotency.Failure{Status: idempotency.Failed}),
			} {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want %q", err, tc.want)
				}
			}
			wantOps(t, f, []string{}...)
		})
	}
}

func TestLongestKey(t *testing.T) {
	t.Parallel()
	_, s := setup(t)
	r := request("a")
	r.Key = strings.Repeat("k", 2048)
	if _, err := s.Claim(t.Context(), r); err != nil {
		t.Error(err)
	}
}

func TestLeaseThatHasEnded(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	for _, left := range []time.Duration{0, 900 * time.Microsecond, -time.Second} {
		r := request("a")
		r.Lease = r.Now.Add(left)
		if _, err := s.Claim(t.Context(), r); !errors.Is(err, idempotency.ErrLease) {
			t.Errorf("%v left: got %v, want ErrLease", left, err)
		}
	}
	wantOps(t, f, []string{}...)
}

func TestFailureWithoutStatus(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	for _, st := range []idempotency.Status{0, idempotency.InProgress, idempotency.Completed, 9} {
		if err := s.Release(t.Context(), key, "a", idempotency.Failure{Status: st}); err == nil {
			t.Errorf("released as %d", st)
		}
	}
	wantOps(t, f, []string{}...)
}
