package storetest

import (
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

// leaseRules are about when a lease ends for others.
var leaseRules = []rule{
	{"Lease/TakenOverOnlyAfterSkew", func(e *env) {
		end := e.taken(e.request("a"), 1).Lease
		for _, after := range []time.Duration{-lease, -ms, 0, ms, idempotency.MaxSkew - ms, idempotency.MaxSkew} {
			e.refused(e.requestAt("b", end.Add(after)), idempotency.ErrHeld)
		}
		e.taken(e.requestAt("b", end.Add(idempotency.MaxSkew+ms)), 2)
	}},
	{"Lease/MillisecondsNotSeconds", func(e *env) { // ID-02
		r := e.request("a")
		r.Lease = e.now.Add(1500 * ms)
		e.taken(r, 1)
		for at := 0 * ms; at <= 2500*ms; at += 100 * ms {
			e.refused(e.requestAt("b", e.now.Add(at)), idempotency.ErrHeld)
		}
		e.taken(e.requestAt("b", e.now.Add(2600*ms)), 2)
	}},
	{"Lease/ClockAheadDoesNotTakeOver", func(e *env) {
		// The owner's clock is right; the other's is ahead by all that is
		// allowed, and the lease has not ended yet.
		end := e.taken(e.request("a"), 1).Lease
		e.refused(e.requestAt("ahead", end.Add(idempotency.MaxSkew)), idempotency.ErrHeld)
	}},
	{"Lease/ClockBehindStillTakesOver", func(e *env) {
		end := e.taken(e.request("a"), 1).Lease
		r := e.requestAt("behind", end.Add(idempotency.MaxSkew+ms))
		r.Lease = r.Now.Add(ms)
		e.taken(r, 2)
	}},
	{"Lease/CrashIsTakenOver", func(e *env) { // ID-01
		rec := e.record(idempotency.InProgress, "crashed")
		rec.Lease = e.now.Add(-48 * time.Hour)
		e.put(rec)
		e.taken(e.request("b"), 2)
		if err := e.complete("b"); err != nil {
			e.Fatalf("Complete: %v", err)
		}
		e.refused(e.request("c"), idempotency.ErrCompleted)
	}},
	{"Lease/RenewalHoldsOn", func(e *env) {
		first := e.taken(e.request("a"), 1)
		until := first.Lease.Add(time.Minute + 1*ms)
		if err := e.renew("a", until); err != nil {
			e.Fatalf("Renew: %v", err)
		}
		want := first
		want.Lease, want.Expires, want.Updated = until, e.expires(), time.Time{}
		e.same("after Renew, the record", e.get(), want)
		e.refused(e.requestAt("b", first.Lease.Add(idempotency.MaxSkew+ms)), idempotency.ErrHeld)
		e.refused(e.requestAt("b", until.Add(idempotency.MaxSkew)), idempotency.ErrHeld)
		e.taken(e.requestAt("b", until.Add(idempotency.MaxSkew+ms)), 2)
	}},
	{"Lease/ReleaseEndsItAtOnce", func(e *env) {
		e.taken(e.request("a"), 1)
		if err := e.release("a", idempotency.Failure{Err: "no"}); err != nil {
			e.Fatalf("Release: %v", err)
		}
		if rec := e.get(); !rec.Lease.IsZero() {
			e.Errorf("after Release the lease is %v, want none", rec.Lease)
		}
		e.taken(e.request("b"), 2)
	}},
	{"Lease/CompletedHasNone", func(e *env) {
		first := e.taken(e.request("a"), 1)
		if err := e.complete("a"); err != nil {
			e.Fatalf("Complete: %v", err)
		}
		want := first
		want.Status, want.Lease, want.Expires, want.Updated = idempotency.Completed, time.Time{}, e.expires(), time.Time{}
		e.same("after Complete, the record", e.get(), want)
		e.refused(e.requestAt("b", first.Lease.Add(time.Hour)), idempotency.ErrCompleted)
	}},
}

// expiryRules are about records whose time is up but which are still there: what
// deletes them is days late, at worst (ID-05).
var expiryRules = []rule{
	{"Expiry/PassedIsAbsent", func(e *env) { e.eachExpired(e.now.Add(-time.Hour)) }},
	{"Expiry/NowIsAbsent", func(e *env) { e.eachExpired(e.now) }},
	{"Expiry/NextSecondCounts", func(e *env) {
		rec := e.record(idempotency.Completed, "a")
		rec.Expires = e.now.Add(time.Second)
		e.put(rec)
		e.refused(e.requestAt("b", e.now.Add(time.Second-ms)), idempotency.ErrCompleted)
		e.taken(e.requestAt("b", e.now.Add(time.Second)), 1)
	}},
	{"Expiry/IsSetByEveryWrite", func(e *env) {
		r := e.request("a")
		if rec := e.taken(r, 1); !rec.Expires.Equal(r.Expires) {
			e.Errorf("after Claim it expires at %v, want %v", rec.Expires, r.Expires)
		}
		e.fails("Renew", nil, e.renew("a", e.now.Add(time.Hour)))
		e.wantExpires("Renew")
		e.fails("Release", nil, e.release("a", idempotency.Failure{}))
		e.wantExpires("Release")
		e.taken(e.request("b"), 2)
		e.fails("Complete", nil, e.complete("b"))
		e.wantExpires("Complete")
	}},
	{"Expiry/DoesNotFence", func(e *env) {
		// Nobody has taken over, so the work of a slow owner counts.
		rec := e.record(idempotency.InProgress, "a")
		rec.Expires = e.now.Add(-time.Hour)
		e.put(rec)
		e.fails("Renew", nil, e.renew("a", e.now.Add(lease)))
		e.put(rec)
		e.fails("Complete", nil, e.complete("a"))
		e.put(rec)
		e.fails("Release", nil, e.release("a", idempotency.Failure{}))
	}},
}

// eachExpired claims records of every status that expired at exp: each is a new
// one, with nothing of the old.
func (e *env) eachExpired(exp time.Time) {
	e.Helper()
	for _, st := range []idempotency.Status{
		idempotency.InProgress, idempotency.Completed, idempotency.Failed, idempotency.Rejected,
	} {
		rec := e.record(st, "a")
		rec.Expires, rec.Attempts, rec.Life, rec.Hash = exp, budget, life+1, "old"
		e.put(rec)
		r := e.request("b")
		e.same("the record in place of an expired "+st.String(), e.claim(r), idempotency.Record{
			Status: idempotency.InProgress, Owner: "b", Lease: r.Lease, Expires: r.Expires,
			Life: life, Attempts: 1, Updated: e.now, Created: e.now,
		})
	}
}

func (e *env) wantExpires(op string) {
	e.Helper()
	if rec := e.get(); !rec.Expires.Equal(e.expires()) {
		e.Errorf("after %s it expires at %v, want %v", op, rec.Expires, e.expires())
	}
}
