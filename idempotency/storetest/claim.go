package storetest

import (
	"errors"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

// claimRules are the answers of a claim, each in its plainest case.
var claimRules = []rule{
	{"Claim/AbsentKeyIsTaken", func(e *env) {
		r := e.request("a")
		r.Hash = "h"
		e.same("the record", e.taken(r, 1), idempotency.Record{
			Status: idempotency.InProgress, Owner: "a", Lease: r.Lease, Expires: r.Expires,
			Life: life, Attempts: 1, Hash: "h", Updated: e.now, Created: e.now,
		})
	}},
	{"Claim/FailedIsTakenAgain", func(e *env) {
		// The last error stays readable while the next attempt runs.
		old := e.record(idempotency.Failed, "a")
		e.put(old)
		r := e.request("b")
		e.same("the record", e.taken(r, 2), idempotency.Record{
			Status: idempotency.InProgress, Owner: "b", Lease: r.Lease, Expires: r.Expires,
			Life: life, Attempts: 2, Err: old.Err, Updated: e.now, Created: old.Created,
		})
	}},
	{"Claim/CompletedIsRefused", func(e *env) { // ID-14
		e.put(e.record(idempotency.Completed, "a"))
		e.refused(e.request("b"), idempotency.ErrCompleted)
	}},
	{"Claim/HeldIsRefusedWithTheEndOfTheLease", func(e *env) {
		first := e.taken(e.request("a"), 1)
		held, ok := errors.AsType[*idempotency.HeldError](e.refusal(e.request("b"), idempotency.ErrHeld))
		if !ok || held.Key != e.key || !held.Until.Equal(first.Lease) {
			e.Errorf("got %+v, want the key %q and %v", held, e.key, first.Lease)
		}
	}},
	{"Claim/RejectedIsExhausted", func(e *env) {
		e.put(e.record(idempotency.Rejected, "a"))
		e.wantExhausted(e.request("b"), 1)
	}},
	{"Claim/UsedUpIsExhausted", func(e *env) {
		rec := e.record(idempotency.Failed, "a")
		rec.Attempts = budget
		e.put(rec)
		e.wantExhausted(e.request("b"), budget)
	}},
	{"Claim/CrashInTheLastAttemptIsExhausted", func(e *env) {
		rec := e.record(idempotency.InProgress, "a")
		rec.Attempts = budget
		e.put(rec)
		e.wantExhausted(e.request("b"), budget)
	}},
	{"Claim/NoBudgetIsNoLimit", func(e *env) {
		rec := e.record(idempotency.Failed, "a")
		rec.Attempts = 1000
		e.put(rec)
		r := e.request("b")
		r.MaxAttempts = 0
		e.taken(r, 1001)
	}},
	{"Claim/OtherPayloadIsMismatch", func(e *env) { // ID-08
		rec := e.record(idempotency.Failed, "a")
		rec.Hash = "h1"
		e.put(rec)
		r := e.request("b")
		r.Hash = "h2"
		mismatch, ok := errors.AsType[*idempotency.MismatchError](e.refusal(r, idempotency.ErrMismatch))
		if !ok || mismatch.Key != e.key {
			e.Errorf("got %+v, want the key %q", mismatch, e.key)
		}
	}},
	{"Claim/OwnTokenIsOurs", func(e *env) {
		// As after a lost response: no second attempt is counted.
		r := e.request("a")
		r.MaxAttempts = 1
		first := e.taken(r, 1)
		e.same("claimed again, the record", e.claim(r), first)
		if err := e.renew("a", e.now.Add(time.Hour)); err != nil {
			e.Fatalf("Renew: %v", err)
		}
		if again := e.claim(r); again.Attempts != 1 || !again.Lease.Equal(e.now.Add(time.Hour)) {
			e.Errorf("claimed again after a renewal: %s; want attempt 1 and the renewed lease", show(again))
		}
	}},
}

// wantExhausted makes a claim that must be refused, with the count and the
// reason that the record has.
func (e *env) wantExhausted(r idempotency.Request, attempts int) {
	e.Helper()
	err := e.refusal(r, idempotency.ErrExhausted)
	got, ok := errors.AsType[*idempotency.ExhaustedError](err)
	if !ok || got.Key != e.key || got.Attempts != attempts || got.Last != "it broke" {
		e.Errorf("got %+v, want the key %q, %d attempts, %q", got, e.key, attempts, "it broke")
	}
}

// orderRules are records that more than one answer would fit.
var orderRules = []rule{
	{"Order/OwnTokenBeforeExpired", func(e *env) {
		rec := e.record(idempotency.InProgress, "a")
		rec.Expires, rec.Attempts = e.now, 2
		e.put(rec)
		e.same("the record", e.claim(e.request("a")), rec)
	}},
	{"Order/ExpiredBeforeCompleted", func(e *env) { e.expiredBefore(idempotency.Completed, 0) }},
	{"Order/ExpiredBeforeHeld", func(e *env) { e.expiredBefore(idempotency.InProgress, time.Hour) }},
	{"Order/ExpiredBeforeExhausted", func(e *env) { e.expiredBefore(idempotency.Rejected, 0) }},
	{"Order/NewLifeBeforeMismatch", func(e *env) {
		rec := e.record(idempotency.Failed, "a")
		rec.Hash = "h1"
		e.put(rec)
		r := e.request("b")
		r.Life, r.Hash = life+1, "h2"
		if got := e.taken(r, 1); got.Hash != "h2" {
			e.Errorf("hash %q, want that of the new life", got.Hash)
		}
	}},
	{"Order/MismatchBeforeCompleted", func(e *env) { e.mismatchBefore(idempotency.Completed, life) }},
	{"Order/MismatchBeforeCompletedInANewLife", func(e *env) { e.mismatchBefore(idempotency.Completed, life+1) }},
	{"Order/MismatchBeforeHeld", func(e *env) { e.mismatchBefore(idempotency.InProgress, life) }},
	{"Order/MismatchBeforeExhausted", func(e *env) { e.mismatchBefore(idempotency.Rejected, life) }},
	{"Order/CompletedBeforeNewLife", func(e *env) {
		e.put(e.record(idempotency.Completed, "a"))
		r := e.request("b")
		r.Life = life + 1
		e.refused(r, idempotency.ErrCompleted)
	}},
	{"Order/HeldBeforeNewLife", func(e *env) {
		e.taken(e.request("a"), 1)
		r := e.request("b")
		r.Life = life + 1
		e.refused(r, idempotency.ErrHeld)
	}},
	{"Order/HeldBeforeExhausted", func(e *env) {
		rec := e.record(idempotency.InProgress, "a")
		rec.Attempts, rec.Lease = budget, e.now.Add(lease)
		e.put(rec)
		e.refused(e.request("b"), idempotency.ErrHeld)
	}},
}

// expiredBefore claims a record whose time is up, and which would be refused if
// it were not.
func (e *env) expiredBefore(st idempotency.Status, untilLease time.Duration) {
	e.Helper()
	rec := e.record(st, "a")
	rec.Expires, rec.Attempts, rec.Hash = e.now.Add(-time.Hour), budget, "h1"
	if untilLease > 0 {
		rec.Lease = e.now.Add(untilLease)
	}
	e.put(rec)
	r := e.request("b")
	r.Hash = "h2"
	e.taken(r, 1)
}

// mismatchBefore claims a record with another payload that would be refused for
// another reason.
func (e *env) mismatchBefore(st idempotency.Status, requested int64) {
	e.Helper()
	rec := e.record(st, "a")
	rec.Hash = "h1"
	if st == idempotency.InProgress {
		rec.Lease = e.now.Add(lease)
	}
	e.put(rec)
	r := e.request("b")
	r.Hash, r.Life = "h2", requested
	e.refused(r, idempotency.ErrMismatch)
}
