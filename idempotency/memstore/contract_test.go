package memstore_test

import (
	"context"
	"testing"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
	"github.com/ackwise/ackwise/idempotency/storetest"
)

func harness(s *memstore.Store) storetest.Harness {
	return storetest.Harness{
		Store: s,
		Get: func(_ context.Context, key string) (idempotency.Record, bool, error) {
			rec, ok := s.Get(key)
			return rec, ok, nil
		},
		Put: func(_ context.Context, key string, rec idempotency.Record) error {
			s.Put(key, rec)
			return nil
		},
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness { return harness(memstore.New()) })
}

func TestContractInVirtualTime(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness {
		h := harness(memstore.New())
		h.VirtualTime = true
		return h
	})
}

// All rules share one store here, as they share a table on a real service.
func TestContractOnASharedStore(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	storetest.Run(t, func(*testing.T) storetest.Harness { return harness(s) })
}

func BenchmarkContract(b *testing.B) {
	storetest.Benchmark(b, func(*testing.B) storetest.Harness { return harness(memstore.NewSize(1 << 30)) })
}
