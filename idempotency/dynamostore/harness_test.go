package dynamostore_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
	"github.com/ackwise/ackwise/idempotency/storetest"
)

// The contract on the fake, in virtual time, with faults; TestContractOnTheWire
// is the same on an emulator that others made.
func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		t.Helper()
		f := newFake()
		return storetest.Harness{
			Store: newStore(t, f.client(), dynamostore.Config{}), VirtualTime: true,
			Get: func(_ context.Context, key string) (idempotency.Record, bool, error) {
				it, ok := f.item(key)
				return recordOf(it), ok, nil
			},
			Put: func(_ context.Context, key string, rec idempotency.Record) error {
				f.put(itemOf(key, rec))
				return nil
			},
			Faults: storetest.Faults{
				LoseResponse: func() { f.plan(fault{lose: true}) },
				Hang:         func() { f.plan(fault{hang: true}) },
				Fail: func() func() {
					return f.breakAll(fault{status: http.StatusInternalServerError, code: "InternalServerError"})
				},
			},
		}
	})
}

func newStore(tb testing.TB, client *dynamodb.Client, cfg dynamostore.Config) *dynamostore.Store {
	tb.Helper()
	s, err := dynamostore.New(client, table, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// itemOf and recordOf are written apart from the store's own, so that the two
// can disagree.
func itemOf(key string, rec idempotency.Record) wireItem {
	n := func(i int64) wire { return wire{"N": strconv.FormatInt(i, 10)} }
	ms := func(t time.Time) wire {
		if t.IsZero() {
			return n(0)
		}
		return n(t.UnixMilli())
	}
	it := wireItem{
		"pk": {"S": key}, "st": {"S": rec.Status.String()}, "own": {"S": rec.Owner}, "lease": ms(rec.Lease), "exp": n(rec.Expires.Unix()),
		"life": n(rec.Life), "att": n(int64(rec.Attempts)), "upd": ms(rec.Updated), "cre": ms(rec.Created),
	}
	if rec.Hash != "" {
		it["hash"] = wire{"S": rec.Hash}
	}
	if rec.Err != "" {
		it["err"] = wire{"S": rec.Err}
	}
	return it
}

func recordOf(it wireItem) idempotency.Record {
	n := func(name string) int64 {
		i, _ := strconv.ParseInt(it[name]["N"], 10, 64)
		return i
	}
	ms := func(name string) time.Time {
		if n(name) == 0 {
			return time.Time{}
		}
		return time.UnixMilli(n(name))
	}
	return idempotency.Record{
		Status: idempotency.ParseStatus(it["st"]["S"]), Owner: it["own"]["S"], Lease: ms("lease"), Expires: time.Unix(n("exp"), 0),
		Life: n("life"), Attempts: int(n("att")), Hash: it["hash"]["S"], Err: it["err"]["S"], Updated: ms("upd"), Created: ms("cre"),
	}
}
