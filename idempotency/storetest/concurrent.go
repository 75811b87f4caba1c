package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

const crowd = 50

// concurrencyRules are about calls at the same time.
var concurrencyRules = []rule{
	{"Concurrent/OneOfManyGetsTheKey", func(e *env) { e.oneWins(1) }},
	{"Concurrent/OneOfManyTakesOver", func(e *env) {
		e.put(e.record(idempotency.InProgress, "crashed"))
		e.oneWins(2)
	}},
	{"Concurrent/OneOfManyTriesAgain", func(e *env) {
		e.put(e.record(idempotency.Failed, "z"))
		e.oneWins(2)
	}},
	{"Concurrent/OneOfManyBeginsTheNewLife", func(e *env) {
		rec := e.record(idempotency.Rejected, "z")
		rec.Life = life - 1
		e.put(rec)
		e.oneWins(1)
	}},
	{"Concurrent/OneOfManyReplacesTheExpired", func(e *env) {
		rec := e.record(idempotency.Completed, "z")
		rec.Expires = e.now
		e.put(rec)
		e.oneWins(1)
	}},
	{"Concurrent/KeysDoNotDisturbOneAnother", func(e *env) {
		errs := e.together(func(n int) error {
			r := e.request(fmt.Sprint("owner-", n))
			r.Key = fmt.Sprint(e.key, "/", n)
			if rec, err := e.h.Store.Claim(e.ctx, r); err != nil || rec.Owner != r.Owner || rec.Attempts != 1 {
				return fmt.Errorf("claim: %s, %w", show(rec), err)
			}
			return e.h.Store.Complete(e.ctx, r.Key, r.Owner, e.expires())
		})
		for n, err := range errs {
			if err != nil {
				e.Errorf("key %d: %v", n, err)
			}
		}
	}},
	{"Concurrent/RenewAndCompleteAtOnce", func(e *env) {
		// Whatever comes first, the work stays done and nobody is told that it
		// was lost.
		e.taken(e.request("a"), 1)
		errs := e.together(func(n int) error {
			if n == 0 {
				return e.complete("a")
			}
			if err := e.renew("a", e.now.Add(time.Hour)); !errors.Is(err, idempotency.ErrCompleted) {
				return err
			}
			return nil
		})
		if err := errors.Join(errs...); err != nil {
			e.Error(err)
		}
		if rec := e.get(); rec.Status != idempotency.Completed || !rec.Lease.IsZero() {
			e.Errorf("the record is %s, want it completed", show(rec))
		}
	}},
	{"Concurrent/CompleteAndTakeOverAtOnce", func(e *env) {
		// Either the slow owner's completion counts or it is lost; never both.
		e.put(e.record(idempotency.InProgress, "slow"))
		var done error
		errs := e.together(func(n int) error {
			if n == 0 {
				done = e.complete("slow")
				return errors.New("no claim")
			}
			_, err := e.h.Store.Claim(e.ctx, e.request(fmt.Sprint("owner-", n)))
			return err
		})
		winners := 0
		for _, err := range errs {
			if err == nil {
				winners++
			}
		}
		rec := e.get()
		completed := done == nil && winners == 0 && rec.Status == idempotency.Completed
		takenOver := errors.Is(done, idempotency.ErrLost) && winners == 1 && rec.Status == idempotency.InProgress
		if !completed && !takenOver {
			e.Errorf("completion: %v, claims that won: %d, the record: %s", done, winners, show(rec))
		}
	}},
}

// together calls f for many n at once.
func (e *env) together(f func(n int) error) []error {
	errs := make([]error, crowd)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for n := range crowd {
		wg.Go(func() {
			<-begin
			errs[n] = f(n)
		})
	}
	close(begin)
	wg.Wait()
	return errs
}

// oneWins has a crowd claim e.key. One gets it, as the attempt-th; the others
// learn that it is held, and by when it is not.
func (e *env) oneWins(attempt int) {
	e.Helper()
	errs := e.together(func(n int) error {
		_, err := e.h.Store.Claim(e.ctx, e.request(fmt.Sprint("owner-", n)))
		return err
	})
	winner := ""
	for n, err := range errs {
		held, ok := errors.AsType[*idempotency.HeldError](err)
		switch {
		case err == nil && winner == "":
			winner = fmt.Sprint("owner-", n)
		case err == nil:
			e.Errorf("owner-%d won, and so did %s", n, winner)
		case !ok || !held.Until.Equal(e.now.Add(lease)):
			e.Errorf("owner-%d: %v; want the key held until %v", n, err, e.now.Add(lease))
		}
	}
	if rec := e.get(); rec.Owner != winner || rec.Attempts != attempt || rec.Status != idempotency.InProgress {
		e.Errorf("the record is %s, want it held by %q, attempt %d", show(rec), winner, attempt)
	}
}
