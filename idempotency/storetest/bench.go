package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

// batch is how many messages an invocation has, as a rule.
const batch = 10

// Benchmark measures what a batch of ten asks of a store, all ten at once: a
// claim and a completion each, and a claim each that finds the work done. One
// operation is a batch.
func Benchmark(b *testing.B, newHarness func(b *testing.B) Harness) {
	b.Helper()
	b.Run("FirstRun", func(b *testing.B) {
		s := newHarness(b).Store
		stem := fmt.Sprint(b.Name(), "/", time.Now().UnixNano(), "/")
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n++
			inParallel(b, func(i int) error {
				r := benchRequest(fmt.Sprint(stem, n, "/", i))
				if _, err := s.Claim(b.Context(), r); err != nil {
					return err
				}
				return s.Complete(b.Context(), r.Key, r.Owner, r.Expires)
			})
		}
	})
	b.Run("Duplicate", func(b *testing.B) {
		s := newHarness(b).Store
		stem := fmt.Sprint(b.Name(), "/", time.Now().UnixNano(), "/")
		for i := range batch {
			r := benchRequest(fmt.Sprint(stem, i))
			if _, err := s.Claim(b.Context(), r); err != nil {
				b.Fatal(err)
			}
			if err := s.Complete(b.Context(), r.Key, r.Owner, r.Expires); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportAllocs()
		for b.Loop() {
			inParallel(b, func(i int) error {
				r := benchRequest(fmt.Sprint(stem, i))
				r.Owner = "another"
				if _, err := s.Claim(b.Context(), r); err == nil {
					return fmt.Errorf("key %d was claimed twice", i)
				}
				return nil
			})
		}
	})
}

// benchRequest is a claim whose record lives long enough to be found again, and
// not much longer: a store in memory needs the room.
func benchRequest(key string) idempotency.Request {
	now := time.Now().Truncate(ms)
	return idempotency.Request{
		Key: key, Owner: "owner", Now: now, Lease: now.Add(lease), Life: life, MaxAttempts: budget,
		Expires: now.Truncate(time.Second).Add(time.Hour),
	}
}

func inParallel(b *testing.B, f func(i int) error) {
	b.Helper()
	errs := make([]error, batch)
	var wg sync.WaitGroup
	for i := range batch {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
	}
}
