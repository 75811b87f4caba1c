package storetest

import (
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

// lifeRules are about the ordinal of a life: a larger one brings a full budget,
// anything else counts on the recorded one.
var lifeRules = []rule{
	{"Life/LargerIsANewLife", func(e *env) {
		for _, st := range []idempotency.Status{idempotency.InProgress, idempotency.Failed, idempotency.Rejected} {
			rec := e.record(st, "a")
			rec.Attempts, rec.Hash = budget, "h1"
			e.put(rec)
			r := e.request("b")
			r.Life = life + 1
			e.same("the record in place of "+st.String(), e.taken(r, 1), idempotency.Record{
				Status: idempotency.InProgress, Owner: "b", Lease: r.Lease, Expires: r.Expires,
				Life: life + 1, Attempts: 1, Updated: e.now, Created: e.now,
			})
		}
	}},
	{"Life/KnownAfterUnknownIsANewLife", func(e *env) {
		rec := e.record(idempotency.Failed, "a")
		rec.Life, rec.Attempts = 0, budget
		e.put(rec)
		if got := e.taken(e.request("b"), 1); got.Life != life {
			e.Errorf("life %d, want %d", got.Life, life)
		}
	}},
	{"Life/EqualCountsOn", func(e *env) { e.countsOn(life, life) }},
	{"Life/SmallerCountsOnTheRecorded", func(e *env) { e.countsOn(life, life-1) }},
	{"Life/UnknownCountsOnTheRecorded", func(e *env) { e.countsOn(life, 0) }},
	{"Life/UnknownCountsOnUnknown", func(e *env) { e.countsOn(0, 0) }},
	{"Life/NewLifeHasTheFullBudget", func(e *env) {
		for n := range 3 {
			r := e.request("a")
			r.Life = life + int64(n)
			e.spend(r)
		}
	}},
	{"Life/CompletedStaysADuplicate", func(e *env) {
		e.taken(e.request("a"), 1)
		e.fails("Complete", nil, e.complete("a"))
		for _, other := range []int64{0, life - 1, life, life + 1, 1 << 60} {
			r := e.request("b")
			r.Life = other
			e.refused(r, idempotency.ErrCompleted)
		}
	}},
	{"Life/LargeOrdinalsAreExact", func(e *env) {
		// Beyond what a float64 can tell apart.
		const large = int64(1)<<53 + 1
		r := e.request("a")
		r.Life = large
		e.taken(r, 1)
		e.fails("Release", nil, e.release("a", idempotency.Failure{}))
		r.Owner, r.Life = "b", large-1
		if got := e.taken(r, 2); got.Life != large {
			e.Errorf("life %d, want %d", got.Life, large)
		}
		e.fails("Release", nil, e.release("b", idempotency.Failure{}))
		r.Owner, r.Life = "c", large+1
		e.taken(r, 1)
	}},
}

// countsOn claims with one life what was recorded with another, first as a
// second attempt, and then with nothing left.
func (e *env) countsOn(recorded, requested int64) {
	e.Helper()
	for _, st := range []idempotency.Status{idempotency.InProgress, idempotency.Failed} {
		rec := e.record(st, "a")
		rec.Life = recorded
		e.put(rec)
		r := e.request("b")
		r.Life = requested
		if got := e.taken(r, 2); got.Life != recorded || !got.Created.Equal(rec.Created) {
			e.Errorf("life %d since %v, want %d as recorded, since %v", got.Life, got.Created, recorded, rec.Created)
		}
		rec.Attempts = budget
		e.put(rec)
		e.refused(r, idempotency.ErrExhausted)
	}
}

// spend uses up a budget, and sees that it was one.
func (e *env) spend(r idempotency.Request) {
	e.Helper()
	for attempt := 1; attempt <= budget; attempt++ {
		e.taken(r, attempt)
		e.fails("Release", nil, e.release(r.Owner, idempotency.Failure{Err: "it broke"}))
	}
	e.wantExhausted(r, budget)
}

// attemptRules are about counting.
var attemptRules = []rule{
	{"Attempts/EndWithTheBudget", func(e *env) { e.spend(e.request("a")) }},
	{"Attempts/CrashesCount", func(e *env) {
		now := e.now
		for attempt := 1; attempt <= budget; attempt++ {
			rec := e.taken(e.requestAt("a"+string(rune('0'+attempt)), now), attempt)
			now = rec.Lease.Add(idempotency.MaxSkew + ms)
		}
		e.refused(e.requestAt("z", now), idempotency.ErrExhausted)
	}},
	{"Attempts/RefusalsDoNotCount", func(e *env) {
		first := e.taken(e.request("a"), 1)
		for range 2 * budget {
			e.refused(e.request("b"), idempotency.ErrHeld)
		}
		e.taken(e.requestAt("c", first.Lease.Add(time.Hour)), 2)
	}},
	{"Attempts/RefundGivesOneBack", func(e *env) {
		r := e.request("a")
		for range 2 * budget {
			e.taken(r, 1)
			e.fails("Release", nil, e.release("a", idempotency.Failure{Refund: true, Err: "drained"}))
			if rec := e.get(); rec.Attempts != 0 || rec.Status != idempotency.Failed || rec.Err != "drained" {
				e.Fatalf("after a refund: %s; want failed, 0 attempts", show(rec))
			}
		}
		e.taken(r, 1)
	}},
	{"Attempts/RejectedHasNoneLeft", func(e *env) {
		e.taken(e.request("a"), 1)
		e.fails("Release", nil, e.release("a", idempotency.Failure{Status: idempotency.Rejected, Err: "it broke"}))
		e.wantExhausted(e.request("b"), 1)
		r := e.request("b")
		r.MaxAttempts = 0
		e.wantExhausted(r, 1)
	}},
	{"Attempts/LargerBudgetGoesOn", func(e *env) {
		r := e.request("a")
		e.spend(r)
		r.MaxAttempts = budget + 1
		e.taken(r, budget+1)
	}},
}

// payloadRules are about hashes, which may be compared or not.
var payloadRules = []rule{
	{"Payload/EqualGoesOn", func(e *env) { e.payload("h", "h", "h") }},
	{"Payload/NotComparedKeepsTheRecorded", func(e *env) { e.payload("h", "", "h") }},
	{"Payload/ComparedForTheFirstTimeIsRecorded", func(e *env) { e.payload("", "h", "h") }},
	{"Payload/NeverCompared", func(e *env) { e.payload("", "", "") }},
	{"Payload/CompletedAndNotCompared", func(e *env) {
		for _, hashes := range [][2]string{{"h", ""}, {"", "h"}, {"h", "h"}, {"", ""}} {
			rec := e.record(idempotency.Completed, "a")
			rec.Hash = hashes[0]
			e.put(rec)
			r := e.request("b")
			r.Hash = hashes[1]
			e.refused(r, idempotency.ErrCompleted)
		}
	}},
	{"Payload/SurvivesReleaseAndComplete", func(e *env) {
		r := e.request("a")
		r.Hash = "h"
		e.taken(r, 1)
		e.fails("Release", nil, e.release("a", idempotency.Failure{}))
		e.taken(r, 2)
		e.fails("Complete", nil, e.complete("a"))
		r.Owner = "b"
		e.refused(r, idempotency.ErrCompleted)
		r.Hash = "other"
		e.refused(r, idempotency.ErrMismatch)
	}},
}

// payload claims a record that has one hash with another, and wants a third to
// be kept.
func (e *env) payload(recorded, requested, kept string) {
	e.Helper()
	rec := e.record(idempotency.Failed, "a")
	rec.Hash = recorded
	e.put(rec)
	r := e.request("b")
	r.Hash = requested
	if got := e.taken(r, 2); got.Hash != kept {
		e.Errorf("hash %q, want %q", got.Hash, kept)
	}
}
