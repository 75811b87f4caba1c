package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
)

var begin = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func request(key string, now time.Time) idempotency.Request {
	return idempotency.Request{
		Key: key, Owner: "a", Now: now, Lease: now.Add(time.Minute), Expires: now.Add(time.Hour), Life: 1, MaxAttempts: 3,
	}
}

func TestFullRefusesNewKeysOnly(t *testing.T) {
	t.Parallel()
	s := memstore.NewSize(3)
	for n := range 3 {
		mustClaim(t, s, request(fmt.Sprint(n), begin))
	}
	// One of each kind; none of them may make room.
	must(t, s.Complete(t.Context(), "0", "a", begin.Add(time.Hour)))
	must(t, s.Release(t.Context(), "1", "a", idempotency.Failure{Status: idempotency.Failed, Expires: begin.Add(time.Hour)}))
	before := contents(s, "0", "1", "2")

	_, err := s.Claim(t.Context(), request("new", begin.Add(time.Hour-time.Second)))
	if !errors.Is(err, memstore.ErrFull) {
		t.Fatalf("Claim of a fourth key: %v, want ErrFull", err)
	}
	for _, says := range []string{"3 records", "NewSize", "Retention", "15 days"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q does not say %q", err, says)
		}
	}
	if diff := cmp.Diff(before, contents(s, "0", "1", "2")); diff != "" || s.Len() != 3 {
		t.Errorf("%d records, want 3 as before (-want +got):\n%s", s.Len(), diff)
	}
	// What is there already goes on.
	if _, err := s.Claim(t.Context(), request("0", begin)); !errors.Is(err, idempotency.ErrCompleted) {
		t.Errorf("Claim of completed work: %v", err)
	}
	r := request("1", begin)
	r.Owner = "b"
	mustClaim(t, s, r)
	must(t, s.Complete(t.Context(), "1", "b", begin.Add(time.Hour)))
	must(t, s.Renew(t.Context(), "2", "a", begin.Add(time.Minute), begin.Add(time.Hour)))
}

func TestGuardTakesFullForUnavailable(t *testing.T) {
	t.Parallel()
	g, err := idempotency.New(memstore.NewSize(1), idempotency.Config{Namespace: "q"})
	must(t, err)
	_, err = g.Claim(t.Context(), idempotency.Work{Kind: "id", Key: "1"})
	must(t, err)
	_, err = g.Claim(t.Context(), idempotency.Work{Kind: "id", Key: "2"})
	if !errors.Is(err, idempotency.ErrUnavailable) || !errors.Is(err, memstore.ErrFull) {
		t.Errorf("Claim: %v, want ErrUnavailable that is ErrFull", err)
	}
}

// Room is made by what has expired, and by all clocks: one may be ahead.
func TestExpiredMakeRoom(t *testing.T) {
	t.Parallel()
	s := memstore.NewSize(2)
	long := request("long", begin)
	long.Expires = begin.Add(2 * time.Hour)
	mustClaim(t, s, long)
	mustClaim(t, s, request("short", begin))
	at := begin.Add(time.Hour + idempotency.MaxSkew)
	if _, err := s.Claim(t.Context(), request("new", at.Add(-time.Millisecond))); !errors.Is(err, memstore.ErrFull) {
		t.Fatalf("just before: %v, want ErrFull", err)
	}
	mustClaim(t, s, request("new", at))
	if _, ok := s.Get("short"); ok || s.Len() != 2 {
		t.Errorf("%d records, the expired one among them: %v", s.Len(), ok)
	}
	// An owner whose record is gone has lost it.
	if err := s.Complete(t.Context(), "short", "a", at); !errors.Is(err, idempotency.ErrLost) {
		t.Errorf("Complete of what was removed: %v, want ErrLost", err)
	}
}

func TestRoomFollowsLaterWrites(t *testing.T) {
	t.Parallel()
	s := memstore.NewSize(2)
	mustClaim(t, s, request("a", begin))
	mustClaim(t, s, request("b", begin))
	// The first lives longer now, the second shorter.
	must(t, s.Renew(t.Context(), "a", "a", begin.Add(time.Minute), begin.Add(3*time.Hour)))
	must(t, s.Complete(t.Context(), "b", "a", begin.Add(time.Minute)))
	mustClaim(t, s, request("c", begin.Add(2*time.Minute)))
	if _, ok := s.Get("a"); !ok {
		t.Error("the renewed record is gone")
	}
	if _, ok := s.Get("b"); ok {
		t.Error("the expired record is there, and there was no room")
	}
}

func TestNeverExpiresStays(t *testing.T) {
	t.Parallel()
	s := memstore.NewSize(2)
	for _, key := range []string{"a", "b"} {
		s.Put(key, idempotency.Record{Status: idempotency.Completed, Owner: "a"})
	}
	if _, err := s.Claim(t.Context(), request("c", begin.AddDate(100, 0, 0))); !errors.Is(err, memstore.ErrFull) {
		t.Errorf("Claim: %v, want ErrFull", err)
	}
	// And it does not stand before one that has expired.
	for _, key := range []string{"a", "b"} {
		rec, _ := s.Get(key)
		rec.Expires = begin
		s.Put(key, rec)
		mustClaim(t, s, request("instead of "+key, begin.Add(time.Minute)))
		if _, ok := s.Get(key); ok || s.Len() != 2 {
			t.Errorf("%q has expired and is there: %v, among %d records", key, ok, s.Len())
		}
	}
}

// Held against a map without order: whatever is written, what has expired is
// found, and nothing else.
func TestRoomIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 8).Draw(t, "size")
		s := memstore.NewSize(size)
		expires := make(map[string]time.Time)
		now := begin
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "later")) * time.Second)
			key := fmt.Sprint(rapid.IntRange(0, 12).Draw(t, "key"))
			exp := now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "life")) * time.Second)
			if _, there := expires[key]; there {
				if err := s.Renew(context.Background(), key, "a", now, exp); err != nil {
					t.Fatalf("Renew: %v", err)
				}
				expires[key] = exp
				continue
			}
			if len(expires) == size {
				for k, e := range expires {
					if !e.After(now.Add(-idempotency.MaxSkew)) {
						delete(expires, k)
					}
				}
			}
			r := request(key, now)
			r.Expires = exp
			_, err := s.Claim(context.Background(), r)
			if full := len(expires) == size; errors.Is(err, memstore.ErrFull) != full || !full && err != nil {
				t.Fatalf("Claim: %v, with %d of %d", err, len(expires), size)
			} else if !full {
				expires[key] = exp
			}
			if s.Len() != len(expires) {
				t.Fatalf("%d records, want %d", s.Len(), len(expires))
			}
		}
	})
}

func TestBoundHoldsInACrowd(t *testing.T) {
	t.Parallel()
	const size, crowd = 50, 200
	s := memstore.NewSize(size)
	errs := make([]error, crowd)
	var wg sync.WaitGroup
	for n := range crowd {
		wg.Go(func() { _, errs[n] = s.Claim(t.Context(), request(fmt.Sprint(n), begin)) })
	}
	wg.Wait()
	got := 0
	for _, err := range errs {
		if err == nil {
			got++
		} else if !errors.Is(err, memstore.ErrFull) {
			t.Error(err)
		}
	}
	if got != size || s.Len() != size {
		t.Errorf("%d claims and %d records, want %d", got, s.Len(), size)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, s := range []*memstore.Store{memstore.New(), memstore.NewSize(0), memstore.NewSize(-1)} {
		if s.Size() != memstore.DefaultSize {
			t.Errorf("room for %d, want %d", s.Size(), memstore.DefaultSize)
		}
	}
}

func TestGetIsACopy(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	if rec, ok := s.Get("a"); ok || rec != (idempotency.Record{}) || s.Len() != 0 {
		t.Errorf("in an empty store: %+v, %v, %d records", rec, ok, s.Len())
	}
	mustClaim(t, s, request("a", begin))
	rec, _ := s.Get("a")
	rec.Status = idempotency.Completed
	if again, ok := s.Get("a"); !ok || again.Status != idempotency.InProgress {
		t.Errorf("%+v, %v; want it in progress", again, ok)
	}
}

func mustClaim(t *testing.T, s *memstore.Store, r idempotency.Request) {
	t.Helper()
	if _, err := s.Claim(t.Context(), r); err != nil {
		t.Fatalf("Claim of %q: %v", r.Key, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func contents(s *memstore.Store, keys ...string) map[string]idempotency.Record {
	all := make(map[string]idempotency.Record)
	for _, key := range keys {
		if rec, ok := s.Get(key); ok {
			all[key] = rec
		}
	}
	return all
}
