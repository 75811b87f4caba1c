package dynamostore_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

// What each case costs: the table in the documentation of the package.
func TestWrites(t *testing.T) {
	t.Parallel()
	held := recorded(idempotency.InProgress)
	held.Lease = time.Now().Add(time.Hour)
	usedUp, older, late := recorded(idempotency.Failed), recorded(idempotency.Rejected), recorded(idempotency.Completed)
	usedUp.Attempts = budget
	older.Life--
	late.Expires = time.Now().Add(-time.Hour)
	newer := recorded(idempotency.Failed)
	newer.Life++
	for _, tc := range []struct {
		name  string
		found *idempotency.Record
		work  bool // there is a claim, and a completion
		want  int
	}{
		{"first run", nil, true, 2},
		{"duplicate", new(recorded(idempotency.Completed)), false, 1},
		{"held", &held, false, 1},
		{"used up", &usedUp, false, 1},
		{"rejected", new(recorded(idempotency.Rejected)), false, 1},
		{"retry attempt", new(recorded(idempotency.Failed)), true, 2},
		{"after a crash", new(recorded(idempotency.InProgress)), true, 2},
		{"new life", &older, true, 3},
		{"expired and still there", &late, true, 3}, // ID-05
		{"older life", &newer, true, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, s := setup(t)
			if tc.found != nil {
				f.put(itemOf(key, *tc.found))
			}
			r := request("a")
			_, err := s.Claim(t.Context(), r)
			if (err == nil) != tc.work {
				t.Fatalf("Claim: %v", err)
			}
			if tc.work {
				if err := s.Complete(t.Context(), key, "a", r.Expires); err != nil {
					t.Fatalf("Complete: %v", err)
				}
			}
			wantOps(t, f, repeat("UpdateItem", tc.want)...)
		})
	}
}

// An attempt whose life is not known counts on the recorded one without a
// second write.
func TestUnknownLifeIsOneWrite(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	f.put(itemOf(key, recorded(idempotency.Failed)))
	r := request("a")
	r.Life = 0
	rec, err := s.Claim(t.Context(), r)
	if err != nil || rec.Life != life || rec.Attempts != 2 {
		t.Errorf("got %+v, %v; want attempt 2 of life %d", rec, err, life)
	}
	wantOps(t, f, "UpdateItem")
}

func TestRenewalIsOneWrite(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	r := request("a")
	if _, err := s.Claim(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	f.ops()
	if err := s.Renew(t.Context(), key, "a", r.Lease.Add(time.Minute), r.Expires); err != nil {
		t.Error(err)
	}
	wantOps(t, f, "UpdateItem")
}

// ID-12: the largest record there is, for a payload of a megabyte.
func TestRecordIsBelow1KB(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := setup(t)
		g, err := idempotency.New(s, idempotency.Config{Namespace: "q", Payload: idempotency.Whole})
		if err != nil {
			t.Fatal(err)
		}
		w := idempotency.Work{
			Kind: "k", Key: strings.Repeat("x", 512-len("q#k:")), Life: 1<<62 + 1, MaxAttempts: 1_000_000,
			Payload: strings.Repeat("<é>", 1<<18),
		}
		c, err := g.Claim(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Key()) != 512 {
			t.Fatalf("the key has %d bytes, want the longest", len(c.Key()))
		}
		if err := c.Release(t.Context(), errors.New(strings.Repeat("é", 1<<20))); err != nil {
			t.Fatal(err)
		}
		it, _ := f.item(c.Key())
		if len(it) != 11 || len(it["err"]["S"]) != idempotency.MaxErrorBytes {
			t.Fatalf("got %d attributes, an error of %d bytes; want all 11, %d", len(it), len(it["err"]["S"]), idempotency.MaxErrorBytes)
		}
		size := 0
		for name, v := range it {
			size += len(name) + len(v["S"])
			if n, ok := v["N"]; ok {
				size += (len(n)+1)/2 + 1
			}
		}
		if size > 1024 {
			t.Errorf("the record has %d bytes, want at most 1024", size)
		}
	})
}
