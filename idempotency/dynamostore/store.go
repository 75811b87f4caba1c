package dynamostore

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ackwise/ackwise/idempotency"
)

// Store is an [idempotency.Store] in a DynamoDB table. It is safe for concurrent
// use.
//
// The SDK retries throttling and server failures, four attempts by its default;
// a call that is throttled throughout takes 2.5 to 5 s (measured), so an
// operation can take that long unless its context ends earlier. What the SDK
// does not retry, conflicts with a transaction or with a write in another Region
// of a table with strong consistency, the Store retries itself.
//
// Complete and Release insist: through conflicts, throttling, failures of the
// server and of the network they go on until their context or [Config.Timeout]
// ends, and no try takes more than 2 s of it. What DynamoDB will refuse again,
// as without permission, they do not repeat.
type Store struct {
	client  *dynamodb.Client
	table   string
	names   map[string]string // attribute names by placeholder
	sort    SortKey
	timeout time.Duration
}

var _ idempotency.Store = (*Store)(nil)

// Renew implements [idempotency.Store].
func (s *Store) Renew(ctx context.Context, key, owner string, lease, expires time.Time) error {
	refused, found, err := s.fenced(ctx, "renew", key, owner, &change{
		update: "SET #lease = :lease, #exp = :exp, #upd = :now",
		values: values{":lease": millis(lease), ":exp": seconds(expires)},
	})
	if refused {
		return s.lost(found, owner)
	}
	return err
}

// Complete implements [idempotency.Store].
func (s *Store) Complete(ctx context.Context, key, owner string, expires time.Time) error {
	refused, found, err := s.fenced(ctx, "complete", key, owner, completion(expires))
	if refused && !s.is(found, owner, idempotency.Completed) {
		return idempotency.ErrLost
	}
	return err
}

// completion is what marks work as done, by itself or in a transaction.
func completion(expires time.Time) *change {
	return &change{
		update: "SET #st = :done, #lease = :zero, #exp = :exp, #upd = :now REMOVE #err",
		values: values{":done": text(idempotency.Completed.String()), ":zero": number(0), ":exp": seconds(expires)},
	}
}

// Release implements [idempotency.Store].
func (s *Store) Release(ctx context.Context, key, owner string, f idempotency.Failure) error {
	if f.Status != idempotency.Failed && f.Status != idempotency.Rejected {
		return fmt.Errorf("dynamostore: release: Failure.Status is %d; use Failed or Rejected", f.Status)
	}
	refused, found, err := s.fenced(ctx, "release", key, owner, giveBack(f))
	switch {
	case !refused:
		return err
	case s.is(found, owner, f.Status):
		return nil
	default:
		return s.lost(found, owner)
	}
}

// lost is what became of a key that owner does not hold any more.
func (s *Store) lost(found item, owner string) error {
	if s.is(found, owner, idempotency.Completed) {
		return idempotency.ErrCompleted // by a transaction of the user's
	}
	return idempotency.ErrLost
}

func giveBack(f idempotency.Failure) *change {
	refund := int64(0)
	if f.Refund {
		refund = 1
	}
	c := &change{
		update: "SET #st = :to, #lease = :zero, #exp = :exp, #upd = :now, #att = #att - :refund",
		values: values{":to": text(f.Status.String()), ":zero": number(0), ":exp": seconds(f.Expires), ":refund": number(refund)},
	}
	if msg := idempotency.CutError(f.Err); msg != "" {
		c.update += ", #err = :err"
		c.values[":err"] = text(msg)
	} else {
		c.update += " REMOVE #err"
	}
	return c
}

// fenced makes a change if owner holds key. If it was refused, found is what is
// there instead, nil if nothing is.
func (s *Store) fenced(ctx context.Context, op, key, owner string, c *change) (refused bool, found item, err error) {
	if err := checkKey(op, key, owner); err != nil {
		return false, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	c = c.fence(owner)
	c.insist = op != "renew" // what comes with the next beat
	a, err := s.write(ctx, op, key, c)
	return a.refused, a.found, err
}

// fence makes c conditional on owner still holding the key.
func (c *change) fence(owner string) *change {
	c.condition = "#own = :tok AND #st = :ip"
	c.values[":tok"] = text(owner)
	c.values[":ip"] = text(idempotency.InProgress.String())
	c.values[":now"] = millis(time.Now())
	return c
}

func checkKey(op, key, owner string) error {
	switch {
	case key == "" || len(key) > maxKeyBytes:
		return fmt.Errorf("dynamostore: %s: the key has %d bytes; use 1 to %d, or an idempotency.Guard, which hashes long keys", op, len(key), maxKeyBytes)
	case !utf8.ValidString(key):
		return fmt.Errorf("dynamostore: %s: the key is not UTF-8; use an idempotency.Guard, which hashes such keys", op)
	case owner == "":
		return fmt.Errorf("dynamostore: %s: the owner token is empty", op)
	}
	return nil
}
