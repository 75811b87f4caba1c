package storetest

import (
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

// fenceRules are about who may write after the claim: its owner, and for as long
// as it is the owner.
var fenceRules = []rule{
	{"Fence/StrangerMayNot", func(e *env) {
		e.taken(e.request("a"), 1)
		e.lost("stranger")
	}},
	{"Fence/AbsentIsLost", func(e *env) {
		e.fails("Renew", idempotency.ErrLost, e.renew("a", e.now.Add(lease)))
		e.fails("Complete", idempotency.ErrLost, e.complete("a"))
		e.fails("Release", idempotency.ErrLost, e.release("a", idempotency.Failure{}))
		if rec, ok, err := e.h.Get(e.ctx, e.key); ok || err != nil {
			e.Errorf("afterwards there is %s (%v), want nothing", show(rec), err)
		}
	}},
	{"Fence/PredecessorMayNot", func(e *env) { // ID-04
		first := e.taken(e.request("slow"), 1)
		e.taken(e.requestAt("next", first.Lease.Add(idempotency.MaxSkew+ms)), 2)
		e.lost("slow")
		e.fails("Complete by the holder", nil, e.complete("next"))
		e.lost("slow")
	}},
	{"Fence/PredecessorOfAnOlderLifeMayNot", func(e *env) {
		first := e.taken(e.request("slow"), 1)
		r := e.requestAt("next", first.Lease.Add(idempotency.MaxSkew+ms))
		r.Life = life + 1
		e.taken(r, 1)
		e.lost("slow")
	}},
	{"Fence/EndedLeaseAloneIsNoReason", func(e *env) {
		rec := e.record(idempotency.InProgress, "a")
		e.put(rec)
		e.fails("Complete", nil, e.complete("a"))
		e.put(rec)
		e.fails("Release", nil, e.release("a", idempotency.Failure{}))
		e.put(rec)
		e.fails("Renew", nil, e.renew("a", e.now.Add(lease)))
		e.refused(e.request("b"), idempotency.ErrHeld)
	}},
	{"Fence/ReleasedIsNotOursAnyMore", func(e *env) {
		for _, st := range []idempotency.Status{idempotency.Failed, idempotency.Rejected} {
			e.put(e.record(idempotency.InProgress, "a"))
			e.fails("Release", nil, e.release("a", idempotency.Failure{Status: st}))
			e.unchanged("Renew", idempotency.ErrLost, func() error { return e.renew("a", e.now.Add(lease)) })
			e.unchanged("Complete", idempotency.ErrLost, func() error { return e.complete("a") })
			other := idempotency.Failed + idempotency.Rejected - st
			e.unchanged("Release as "+other.String(), idempotency.ErrLost, func() error {
				return e.release("a", idempotency.Failure{Status: other})
			})
		}
	}},
	{"Fence/CompletedByUsIsSaid", func(e *env) {
		// A transaction of the user's has landed, and its answer was lost.
		e.put(e.record(idempotency.Completed, "a"))
		e.unchanged("Renew", idempotency.ErrCompleted, func() error { return e.renew("a", e.now.Add(lease)) })
		for _, f := range []idempotency.Failure{
			{Status: idempotency.Failed}, {Status: idempotency.Failed, Refund: true}, {Status: idempotency.Rejected},
		} {
			e.unchanged("Release", idempotency.ErrCompleted, func() error { return e.release("a", f) })
		}
	}},
	{"Fence/CompletedByOthersIsLost", func(e *env) {
		e.put(e.record(idempotency.Completed, "a"))
		e.lost("b")
	}},
}

// lost sees that nothing can be written by an owner that does not hold the key.
func (e *env) lost(owner string) {
	e.Helper()
	e.unchanged("Renew by "+owner, idempotency.ErrLost, func() error { return e.renew(owner, e.now.Add(time.Hour)) })
	e.unchanged("Complete by "+owner, idempotency.ErrLost, func() error { return e.complete(owner) })
	for _, f := range []idempotency.Failure{
		{Status: idempotency.Failed}, {Status: idempotency.Failed, Refund: true}, {Status: idempotency.Rejected},
	} {
		e.unchanged("Release by "+owner, idempotency.ErrLost, func() error { return e.release(owner, f) })
	}
}

// lostRules are about answers that never arrived: what was written is found to
// be our own. The first half repeats the call, as a store does inside; the
// second has the network lose the answer.
var lostRules = []rule{
	{"Lost/CompleteAgainIsSuccess", func(e *env) {
		e.taken(e.request("a"), 1)
		e.fails("Complete", nil, e.complete("a"))
		e.unchanged("Complete again", nil, func() error { return e.complete("a") })
	}},
	{"Lost/ReleaseAgainIsSuccess", func(e *env) {
		for _, st := range []idempotency.Status{idempotency.Failed, idempotency.Rejected} {
			e.put(e.record(idempotency.InProgress, "a"))
			f := idempotency.Failure{Status: st, Err: "no"}
			e.fails("Release", nil, e.release("a", f))
			e.unchanged("Release again", nil, func() error { return e.release("a", f) })
		}
	}},
	{"Lost/RefundIsGivenOnce", func(e *env) {
		rec := e.record(idempotency.InProgress, "a")
		rec.Attempts = 2
		e.put(rec)
		f := idempotency.Failure{Refund: true}
		e.fails("Release", nil, e.release("a", f))
		e.unchanged("Release again", nil, func() error { return e.release("a", f) })
		if got := e.get().Attempts; got != 1 {
			e.Errorf("%d attempts, want 1", got)
		}
	}},
	{"Lost/RenewAgainIsSuccess", func(e *env) {
		e.taken(e.request("a"), 1)
		until := e.now.Add(time.Hour)
		e.fails("Renew", nil, e.renew("a", until))
		e.fails("Renew again", nil, e.renew("a", until))
		if got := e.get().Lease; !got.Equal(until) {
			e.Errorf("the lease ends at %v, want %v", got, until)
		}
	}},
	{"Lost/AnswerOfFirstClaim", func(e *env) {
		e.lose()
		e.taken(e.request("a"), 1)
	}},
	{"Lost/AnswerOfLaterClaim", func(e *env) {
		// The answer of each write that a claim may take.
		rec := e.record(idempotency.Failed, "a")
		e.put(rec)
		e.lose()
		e.taken(e.request("b"), 2)
		e.put(rec)
		r := e.request("c")
		r.Life = life + 1
		e.lose()
		e.taken(r, 1)
	}},
	{"Lost/AnswerOfRefusedClaim", func(e *env) {
		e.put(e.record(idempotency.Completed, "a"))
		e.lose()
		e.refused(e.request("b"), idempotency.ErrCompleted)
	}},
	{"Lost/AnswerOfRenew", func(e *env) {
		e.taken(e.request("a"), 1)
		e.lose()
		e.fails("Renew", nil, e.renew("a", e.now.Add(time.Hour)))
		e.refused(e.request("b"), idempotency.ErrHeld)
	}},
	{"Lost/AnswerOfComplete", func(e *env) {
		e.taken(e.request("a"), 1)
		e.lose()
		e.fails("Complete", nil, e.complete("a"))
		e.refused(e.request("b"), idempotency.ErrCompleted)
	}},
	{"Lost/AnswerOfRelease", func(e *env) {
		e.taken(e.request("a"), 1)
		e.lose()
		e.fails("Release", nil, e.release("a", idempotency.Failure{Refund: true}))
		e.taken(e.request("b"), 1)
	}},
}

// lose loses the answer of the next call, or skips the rule.
func (e *env) lose() {
	e.Helper()
	if e.h.Faults.LoseResponse == nil {
		e.Skip("the harness cannot lose a response: Harness.Faults.LoseResponse is nil")
	}
	e.h.Faults.LoseResponse()
}
