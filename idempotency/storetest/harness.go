package storetest

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/ackwise/ackwise/idempotency"
)

// Harness is a store under test, and what the suite may do with it.
type Harness struct {
	// Store is the store. It need not be empty: no two rules use one key.
	Store idempotency.Store
	// Get reads the record under a key past the store: also one whose time is
	// up. The times of a record are whole milliseconds, Expires whole seconds,
	// and a time that is not set is the zero Time. Required.
	Get func(ctx context.Context, key string) (rec idempotency.Record, ok bool, err error)
	// Put writes a record past the store, whatever is there. Required.
	Put func(ctx context.Context, key string, rec idempotency.Record) error
	// VirtualTime says that the store reaches no network, so that the rules can
	// run inside of synctest bubbles, each on a harness made in its bubble.
	// Default false: they run in real time, and the longest tables of cases are
	// sampled.
	VirtualTime bool
	// Faults breaks the way to where the store keeps its records. Default: the
	// rules about it are skipped.
	Faults Faults
	// Skip gives the reason why a rule, by its name as in "Lease/Skew", does not
	// hold here. It is for what an emulator does differently than the service;
	// the reason is logged.
	Skip map[string]string
}

// Faults breaks the way to where a store keeps its records: what a network can
// do to it. Each may be nil, for what cannot be done. None of them is undone but
// as it says, so a harness that has faults is not shared between rules.
type Faults struct {
	// LoseResponse has the next call carried out and its answer lost, as by a
	// connection that is reset. The call after that one works.
	LoseResponse func()
	// Fail has all calls from now on fail before anything is written, until
	// restore is called.
	Fail func() (restore func())
	// Hang has the next call neither carried out nor answered until its context
	// ends.
	Hang func()
}

// rule is one sentence of the contract.
type rule struct {
	name  string
	check func(e *env)
}

// Run checks that the store keeps the contract, one subtest for each rule of it,
// in parallel. It calls newHarness once for each rule and once more; harnesses
// may share what they like, but for Faults.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	t.Helper()
	virtual, skip := capabilities(t, newHarness)
	known := make(map[string]bool)
	for _, r := range rules() {
		known[r.name] = true
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if reason, ok := skip[r.name]; ok {
				t.Skipf("not checked here: %s", reason)
			}
			if !virtual {
				r.check(newEnv(t, newHarness(t)))
				return
			}
			synctest.Test(t, func(t *testing.T) { r.check(newEnv(t, newHarness(t))) })
		})
	}
	for name := range skip {
		if !known[name] {
			t.Errorf("Harness.Skip names %q; there is no such rule", name)
		}
	}
}

// capabilities makes a harness only to see what it can do.
func capabilities(t *testing.T, newHarness func(t *testing.T) Harness) (virtual bool, skip map[string]string) {
	t.Helper()
	h := newHarness(t)
	if h.Store == nil || h.Get == nil || h.Put == nil {
		t.Fatal("storetest: Harness.Store, Get and Put are required; set all three")
	}
	return h.VirtualTime, h.Skip
}

// rules is the contract, by subject.
func rules() []rule {
	var all []rule
	for _, subject := range [][]rule{
		claimRules, orderRules, leaseRules, expiryRules, lifeRules, attemptRules, payloadRules,
		fenceRules, lostRules, textRules, faultRules, concurrencyRules, agreementRules,
	} {
		all = append(all, subject...)
	}
	return all
}
