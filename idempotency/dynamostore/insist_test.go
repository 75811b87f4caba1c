package dynamostore_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

// givings are the writes that end a claim, and the state that each leaves.
var givings = []struct {
	name string
	call func(context.Context, *dynamostore.Store) error
	want idempotency.Status
}{
	{"complete", fenced[1].call, idempotency.Completed},
	{"release", fenced[2].call, idempotency.Failed},
}

// What a completion or a release records is lost if it is given up too soon: it
// survives whatever passes within its context.
func TestCompletionSurvivesWhatPasses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		faults []fault // for a while, or one
		lasts  time.Duration
	}{
		{"500s", faults(1, fault{status: http.StatusInternalServerError, code: "InternalServerError"}), time.Second},
		{"503s of a code that is not known", faults(1, fault{status: http.StatusServiceUnavailable, code: "ServiceUnavailable"}), 3 * time.Second},
		{"503s of a proxy", faults(1, fault{status: http.StatusServiceUnavailable, body: "<html>"}), 3 * time.Second},
		{"500s after the write", faults(1, late500), time.Second},
		{"no connection", faults(1, noDial), 3 * time.Second},
		{"answers lost", faults(1, lost), 3 * time.Second},
		{"throttled", faults(1, throttled), 3 * time.Second},
		{"conflicts", faults(1, conflict), 3 * time.Second},
		{"one connection that hangs", faults(1, hung), 0},
		{"two that hang", faults(2, hung), 0},
	} {
		for _, op := range givings {
			t.Run(tc.name+"/"+op.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, s := setup(t)
					f.put(itemOf(key, recorded(idempotency.InProgress)))
					if tc.lasts == 0 {
						f.plan(tc.faults...)
					} else {
						restore := f.breakAll(tc.faults[0])
						time.AfterFunc(tc.lasts, restore)
					}
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					if err := op.call(ctx, s); err != nil {
						t.Error(err)
					}
					if rec := recordIn(f); rec.Status != op.want || rec.Attempts != 1 || rec.Owner != "before" {
						t.Errorf("the record is %+v, want it %v, attempt 1", rec, op.want)
					}
					time.Sleep(tc.lasts) // until the timer has run
				})
			})
		}
	}
}

// What is refused will be refused again, and is reported at once.
func TestCompletionDoesNotInsistOnWhatStays(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"AccessDeniedException", "ValidationException", "ResourceNotFoundException"} {
		for _, op := range givings {
			t.Run(code+"/"+op.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, s := setup(t)
					defer f.breakAll(fault{status: http.StatusBadRequest, code: code})()
					if err := op.call(t.Context(), s); err == nil {
						t.Error("no error")
					}
					wantOps(t, f, "UpdateItem")
				})
			})
		}
	}
}

// A renewal comes again with the next beat, and a claim with the next delivery:
// the SDK's four attempts are enough.
func TestOthersDoNotInsist(t *testing.T) {
	t.Parallel()
	for _, op := range []int{0, 3} {
		t.Run(fenced[op].name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, s := setup(t)
				f.put(itemOf(key, recorded(idempotency.InProgress)))
				defer f.breakAll(noDial)()
				if err := fenced[op].call(t.Context(), s); err == nil {
					t.Error("no error")
				}
				wantOps(t, f, repeat("UpdateItem", 4)...)
			})
		})
	}
}

// secret is a key, as it may be a person's address in a payload.
const secret = "jane@example.com"

// A key comes from the payload, and errors end up in logs.
func TestErrorsDoNotTellTheKey(t *testing.T) {
	t.Parallel()
	for name, ft := range map[string]fault{
		"no permission": {status: http.StatusBadRequest, code: "AccessDeniedException"},
		"no table":      {status: http.StatusBadRequest, code: "ResourceNotFoundException"},
		"validation":    {status: http.StatusBadRequest, code: "ValidationException"},
		"conflict":      conflict, "throttled": throttled, "500": late500, "lost": lost, "hung": hung, "no host": {noHost: true},
		"half an answer": {status: http.StatusOK, body: `{"Attributes":`},
		"no record":      {status: http.StatusOK, body: `{"Attributes":{"pk":{"S":"` + secret + `"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, s := setup(t)
				defer f.breakAll(ft)()
				for op, err := range secretly(t, s, secret) {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("%s: %v", op, err)
					}
				}
			})
		})
	}
}

// secretly is what everything that takes a key says of it; nothing where it
// succeeds.
func secretly(t *testing.T, s *dynamostore.Store, key string) map[string]error {
	t.Helper()
	r := request("a")
	r.Key = key
	later := time.Now().Add(time.Hour)
	_, claim := s.Claim(t.Context(), r)
	all := map[string]error{
		"claim": claim, "renew": s.Renew(t.Context(), key, "a", later, later), "complete": s.Complete(t.Context(), key, "a", later),
		"release": s.Release(t.Context(), key, "a", idempotency.Failure{Status: idempotency.Failed, Expires: later}),
	}
	for op, err := range all {
		if err == nil {
			delete(all, op)
		}
	}
	if claim == nil {
		t.Error("the claim succeeded")
	}
	return all
}

// Nor do the errors that need no failure.
func TestRefusalsDoNotTellTheKey(t *testing.T) {
	t.Parallel()
	f, s := setup(t)
	for _, bad := range []string{secret + "\xff", secret + strings.Repeat("x", 2048)} {
		if all := secretly(t, s, bad); len(all) != 4 {
			t.Errorf("%d of 4 refused %.20q", len(all), bad)
		} else if err := errors.Join(all["claim"], all["renew"], all["complete"], all["release"]); strings.Contains(err.Error(), secret) {
			t.Error(err)
		}
	}
	held, used, other, done := recorded(idempotency.InProgress), recorded(idempotency.Failed), recorded(idempotency.Completed), recorded(idempotency.Completed)
	held.Lease, used.Attempts, other.Hash = time.Now().Add(time.Hour), budget, "another"
	for _, rec := range []idempotency.Record{held, used, other, done} {
		f.put(itemOf(secret, rec))
		r := request("a")
		r.Key, r.Hash = secret, "this"
		if _, err := s.Claim(t.Context(), r); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("of %+v: %v", rec, err)
		}
	}
}
