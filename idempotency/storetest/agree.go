package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

// sample is how many combinations are tried where time is real.
const sample = 300

// agreementRules hold a store against idempotency.Decide.
var agreementRules = []rule{
	{"Agree/WithDecideOnEveryCombination", func(e *env) {
		pairs := e.combinations()
		if !e.h.VirtualTime {
			// The same ones each time.
			pick := rand.New(rand.NewPCG(1, 2))
			pick.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
			pairs = pairs[:min(sample, len(pairs))]
		}
		stem := e.key
		for n, p := range pairs {
			e.key = fmt.Sprint(stem, "/", n)
			p.r.Key = e.key
			if e.agrees(p.rec, p.r); e.Failed() {
				e.Fatalf("combination %d of %d: a claim with life %d, hash %q, budget %d by %q found\n  %s",
					n, len(pairs), p.r.Life, p.r.Hash, p.r.MaxAttempts, p.r.Owner, show(p.rec))
			}
		}
	}},
}

// agrees claims what is recorded, and compares with what Decide says of it.
func (e *env) agrees(rec idempotency.Record, r idempotency.Request) {
	e.Helper()
	e.put(rec)
	want, wantErr := idempotency.Decide(&rec, r)
	got, err := e.h.Store.Claim(e.ctx, r)
	if tell(err) != tell(wantErr) {
		e.Errorf("Claim: %s, want %s", tell(err), tell(wantErr))
		return
	}
	if wantErr != nil {
		e.same("the record", e.get(), rec)
		return
	}
	e.same("the record that Claim returned", got, want.Record)
	e.same("the record", e.get(), want.Record)
}

// tell writes an error with all that it says.
func tell(err error) string {
	if err == nil {
		return "success"
	}
	text := fmt.Sprintf("%T %v", err, err)
	if e, ok := errors.AsType[*idempotency.ExhaustedError](err); ok {
		text = fmt.Sprintf("%s [%d %q]", text, e.Attempts, e.Last)
	}
	return text
}

type pair struct {
	rec idempotency.Record
	r   idempotency.Request
}

// combinations is all that Decide looks at, on either side of each boundary.
func (e *env) combinations() []pair {
	recs := e.records()
	var all []pair
	for _, rec := range recs {
		for _, owner := range []string{"a", "b"} {
			for _, requested := range []int64{0, life - 1, life, life + 1} {
				for _, hash := range []string{"", "h1", "h2"} {
					for _, most := range []int{0, budget} {
						r := e.request(owner)
						r.Life, r.Hash, r.MaxAttempts = requested, hash, most
						all = append(all, pair{rec, r})
					}
				}
			}
		}
	}
	return all
}

func (e *env) records() []idempotency.Record {
	ends := e.now.Add(-idempotency.MaxSkew)
	states := []struct {
		status idempotency.Status
		lease  time.Time
	}{
		{idempotency.InProgress, e.now.Add(lease)},
		{idempotency.InProgress, ends},
		{idempotency.InProgress, ends.Add(-ms)},
		{idempotency.Completed, time.Time{}},
		{idempotency.Failed, time.Time{}},
		{idempotency.Rejected, time.Time{}},
	}
	var all []idempotency.Record
	for _, state := range states {
		for _, expires := range []time.Time{e.now, e.now.Add(time.Second)} {
			for _, recorded := range []int64{0, life} {
				for _, hash := range []string{"", "h1"} {
					for _, attempts := range []int{0, budget - 1, budget} {
						rec := e.record(state.status, "a")
						rec.Lease, rec.Expires, rec.Life, rec.Hash, rec.Attempts = state.lease, expires, recorded, hash, attempts
						all = append(all, rec)
					}
				}
			}
		}
	}
	return all
}
