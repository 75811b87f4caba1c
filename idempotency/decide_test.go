package idempotency_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/idempotency"
)

// now is any time; a table of decisions has no clock.
var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// request is a claim by "me" in life 10, as the third attempt at most.
func request() idempotency.Request {
	return idempotency.Request{
		Key: "ns#id:7", Owner: "me", Now: now, Lease: now.Add(time.Minute), Expires: now.Add(time.Hour),
		Life: 10, MaxAttempts: 3, Hash: "h",
	}
}

// found is a record of somebody else's first attempt, in the same life.
func found(st idempotency.Status) *idempotency.Record {
	rec := &idempotency.Record{
		Status: st, Owner: "other", Expires: now.Add(time.Hour), Life: 10, Attempts: 1, Hash: "h", Err: "it broke",
		Updated: now.Add(-time.Minute), Created: now.Add(-2 * time.Minute),
	}
	if st == idempotency.InProgress {
		rec.Lease = now.Add(-idempotency.MaxSkew - time.Nanosecond) // just over
	}
	return rec
}

// live makes a lease that holds.
func live(r *idempotency.Record) *idempotency.Record {
	r.Lease = now.Add(time.Minute)
	return r
}

func with(r *idempotency.Record, change func(*idempotency.Record)) *idempotency.Record {
	change(r)
	return r
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for name, c := range decisions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkDecision(t, c.found, request(), c.want)
		})
	}
}

const (
	inProgress = idempotency.InProgress
	completed  = idempotency.Completed
	failed     = idempotency.Failed
	rejected   = idempotency.Rejected
)

// What may be special about a record.
func ours(r *idempotency.Record)    { r.Owner = "me" }
func older(r *idempotency.Record)   { r.Life = 9 }
func newer(r *idempotency.Record)   { r.Life = 11 }
func expired(r *idempotency.Record) { r.Expires = now }
func differs(r *idempotency.Record) { r.Hash = "other" }
func usedUp(r *idempotency.Record)  { r.Attempts = 3 }

// decisions are the answers, each in its plainest case, and then in pairs: a
// record that two of them fit. The word says what becomes of a claim.
var decisions = map[string]struct {
	found *idempotency.Record
	want  string
}{
	"absent":                         {nil, "new life"},
	"failed":                         {found(failed), "next attempt"},
	"lease over":                     {found(inProgress), "next attempt"},
	"completed":                      {found(completed), "completed"},
	"held":                           {live(found(inProgress)), "held"},
	"rejected":                       {found(rejected), "exhausted"},
	"used up":                        {with(found(failed), usedUp), "exhausted"},
	"used up, lease over":            {with(found(inProgress), usedUp), "exhausted"},
	"ours":                           {with(live(found(inProgress)), ours), "ours"},
	"ours, lease over":               {with(found(inProgress), ours), "ours"},
	"ours before expired":            {with(with(found(inProgress), ours), expired), "ours"},
	"ours before newer life":         {with(with(found(inProgress), ours), older), "ours"},
	"ours before mismatch":           {with(with(found(inProgress), ours), differs), "ours"},
	"ours before used up":            {with(with(found(inProgress), ours), usedUp), "ours"},
	"ours, but completed":            {with(found(completed), ours), "completed"},
	"ours, but released":             {with(found(failed), ours), "next attempt"},
	"expired before mismatch":        {with(with(found(failed), expired), differs), "new life"},
	"expired before completed":       {with(found(completed), expired), "new life"},
	"expired before held":            {with(live(found(inProgress)), expired), "new life"},
	"expired before rejected":        {with(found(rejected), expired), "new life"},
	"expired a moment later":         {with(found(completed), func(r *idempotency.Record) { r.Expires = now.Add(1) }), "completed"},
	"never expires":                  {with(found(completed), func(r *idempotency.Record) { r.Expires = time.Time{} }), "completed"},
	"newer life":                     {with(found(failed), older), "new life"},
	"newer life, lease over":         {with(found(inProgress), older), "new life"},
	"newer life before mismatch":     {with(with(found(failed), older), differs), "new life"},
	"newer life before rejected":     {with(found(rejected), older), "new life"},
	"newer life before used up":      {with(with(found(failed), older), usedUp), "new life"},
	"newer life, but completed":      {with(found(completed), older), "completed"},
	"newer life, but held":           {with(live(found(inProgress)), older), "held"},
	"mismatch before completed":      {with(found(completed), differs), "mismatch"},
	"mismatch before held":           {with(live(found(inProgress)), differs), "mismatch"},
	"mismatch before rejected":       {with(found(rejected), differs), "mismatch"},
	"mismatch before another try":    {with(found(failed), differs), "mismatch"},
	"mismatch, newer and completed":  {with(with(found(completed), older), differs), "mismatch"},
	"completed before used up":       {with(found(completed), usedUp), "completed"},
	"held before used up":            {with(live(found(inProgress)), usedUp), "held"},
	"held to the last moment":        {with(found(inProgress), func(r *idempotency.Record) { r.Lease = now.Add(-idempotency.MaxSkew) }), "held"},
	"older life goes on":             {with(found(failed), newer), "next attempt"},
	"older life, used up":            {with(with(found(failed), newer), usedUp), "exhausted"},
	"older life, rejected":           {with(found(rejected), newer), "exhausted"},
	"hash recorded for the first":    {with(found(failed), func(r *idempotency.Record) { r.Hash = "" }), "next attempt"},
	"more attempts than the budget":  {with(found(failed), func(r *idempotency.Record) { r.Attempts = 9 }), "exhausted"},
	"one attempt left":               {with(found(failed), func(r *idempotency.Record) { r.Attempts = 2 }), "next attempt"},
	"all refunded":                   {with(found(failed), func(r *idempotency.Record) { r.Attempts = 0 }), "next attempt"},
	"own token in another life held": {with(with(live(found(inProgress)), newer), ours), "ours"},
}

// checkDecision holds Decide to a word, and to all that follows from it.
func checkDecision(t *testing.T, found *idempotency.Record, r idempotency.Request, want string) {
	t.Helper()
	fresh := idempotency.Record{
		Status: idempotency.InProgress, Owner: r.Owner, Lease: r.Lease, Expires: r.Expires,
		Life: r.Life, Attempts: 1, Hash: r.Hash, Updated: r.Now, Created: r.Now,
	}
	var before idempotency.Record
	if found != nil {
		before = *found
	}
	got, err := idempotency.Decide(found, r)
	var wantDecision idempotency.Decision
	switch want {
	case "new life":
		wantDecision = idempotency.Decision{Action: idempotency.Write, Record: fresh}
	case "next attempt":
		next := fresh
		next.Life, next.Attempts, next.Created, next.Err = found.Life, found.Attempts+1, found.Created, found.Err
		if r.Hash == "" {
			next.Hash = found.Hash
		}
		wantDecision = idempotency.Decision{Action: idempotency.Write, Record: next}
	case "ours":
		wantDecision = idempotency.Decision{Action: idempotency.Ours, Record: *found}
	default:
		sentinel := map[string]error{
			"completed": idempotency.ErrCompleted, "held": idempotency.ErrHeld,
			"mismatch": idempotency.ErrMismatch, "exhausted": idempotency.ErrExhausted,
		}[want]
		if sentinel == nil || !errors.Is(err, sentinel) {
			t.Fatalf("error %v, want %q", err, want)
		}
		err = nil
	}
	if err != nil {
		t.Fatalf("error %v, want %q", err, want)
	}
	if diff := cmp.Diff(wantDecision, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", want, diff)
	}
	if found != nil {
		if diff := cmp.Diff(before, *found); diff != "" {
			t.Errorf("Decide changed what it was given (-before +after):\n%s", diff)
		}
	}
}

func TestDecideWithoutBudgetLifeOrHash(t *testing.T) {
	t.Parallel()
	r := request()
	r.MaxAttempts, r.Life, r.Hash = 0, 0, ""
	many := func(rec *idempotency.Record) { rec.Attempts = 1000 }
	checkDecision(t, with(found(idempotency.Failed), many), r, "next attempt")
	checkDecision(t, found(idempotency.Rejected), r, "exhausted")
	checkDecision(t, found(idempotency.Completed), r, "completed")
	checkDecision(t, with(found(idempotency.Failed), func(rec *idempotency.Record) { rec.Life, rec.Hash = 0, "" }), r, "next attempt")
	checkDecision(t, nil, r, "new life")
}

func TestDecideSaysWhatItFound(t *testing.T) {
	t.Parallel()
	rec := live(found(idempotency.InProgress))
	_, err := idempotency.Decide(rec, request())
	if diff := cmp.Diff(&idempotency.HeldError{Key: "ns#id:7", Until: rec.Lease}, err); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	_, err = idempotency.Decide(found(idempotency.Rejected), request())
	if diff := cmp.Diff(&idempotency.ExhaustedError{Key: "ns#id:7", Attempts: 1, Last: "it broke"}, err); diff != "" {
		t.Errorf("exhausted (-want +got):\n%s", diff)
	}
	other := request()
	other.Hash = "other"
	_, err = idempotency.Decide(found(idempotency.Failed), other)
	if diff := cmp.Diff(&idempotency.MismatchError{Key: "ns#id:7"}, err); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}
