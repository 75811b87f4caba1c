package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ackwise/ackwise/idempotency"
)

const (
	// maxRounds is how often a claim looks again at a record that changed
	// between the look and the write. Whoever changed it most likely holds it,
	// which ends the claim in the next round.
	maxRounds = 4
	// undoTimeout bounds what a claim does to give back what it may have taken,
	// and undoLeast is what there always is for it: some round trips.
	undoTimeout = time.Second
	undoLeast   = 100 * time.Millisecond
)

// Claim implements [idempotency.Store]. A claim that fails without it being
// known whether it was written, as after a timeout, is followed by one attempt
// to give the key back, so the key is most likely free again for the next
// delivery. It takes up to a second; if ctx has ended, up to a quarter of what
// the claim took, but 100 ms at least. A claim that lands later still holds the
// key until its lease ends.
func (s *Store) Claim(ctx context.Context, r idempotency.Request) (idempotency.Record, error) {
	if err := checkKey("claim", r.Key, r.Owner); err != nil {
		return idempotency.Record{}, err
	}
	// Before anything is compared, everything has the resolution in which it is
	// kept. Else a lease that lost a fraction of a millisecond in the table
	// could be taken over that much too early.
	r.Now = time.UnixMilli(r.Now.UnixMilli())
	r.Lease = time.UnixMilli(r.Lease.UnixMilli())
	if !r.Lease.After(r.Now) {
		return idempotency.Record{}, idempotency.ErrLease
	}
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	rec, err := s.claim(bounded, r)
	if _, unsure := errors.AsType[*unsureError](err); unsure {
		limit := undoTimeout
		if ctx.Err() != nil {
			// The caller's time is up, and there is not much more of it than that
			// before it has to answer.
			limit = min(limit, max(undoLeast, time.Since(began)/4))
		}
		s.undo(ctx, r, limit)
	}
	return rec, err
}

// claim writes what needs no look at the record first: a new one, or a further
// attempt in the same life. If that is refused, the record comes back and
// decides.
func (s *Store) claim(ctx context.Context, r idempotency.Request) (idempotency.Record, error) {
	c := primary(r)
	for range maxRounds {
		a, err := s.write(ctx, "claim", r.Key, c)
		if err != nil {
			return idempotency.Record{}, err
		}
		found, err := s.parse(a.found)
		switch {
		case err != nil && !a.refused:
			return idempotency.Record{}, &unsureError{err}
		case err != nil || !a.refused:
			return found, err
		}
		d, err := idempotency.Decide(&found, r)
		if err != nil || d.Action == idempotency.Ours {
			return d.Record, err
		}
		c = replacement(found, d.Record)
	}
	return idempotency.Record{}, fmt.Errorf("dynamostore: claim: the record changed %d times while it was looked at", maxRounds)
}

// primary allows less than [idempotency.Decide], and all that is common. Its own
// token it must not take over from: that attempt is counted already.
func primary(r idempotency.Request) *change {
	c := &change{
		update: "SET #st = :ip, #own = :tok, #lease = :lease, #exp = :exp, #att = if_not_exists(#att, :zero) + :one, " +
			"#upd = :now, #cre = if_not_exists(#cre, :now)",
		values: values{
			":ip": text(idempotency.InProgress.String()), ":tok": text(r.Owner), ":lease": millis(r.Lease), ":exp": seconds(r.Expires),
			":zero": number(0), ":one": number(1), ":now": millis(r.Now), ":life": number(r.Life),
			":nowS": seconds(r.Now), ":failed": text(idempotency.Failed.String()), ":over": millis(r.Now.Add(-idempotency.MaxSkew)),
		},
	}
	again := "#exp > :nowS"
	if r.Life == 0 { // not known: it counts on the recorded one, whatever that is
		c.update += ", #life = if_not_exists(#life, :life)"
		again += " AND #life >= :life"
	} else {
		c.update += ", #life = :life"
		again += " AND #life = :life"
	}
	if r.MaxAttempts > 0 {
		again += " AND #att < :max"
		c.values[":max"] = number(int64(r.MaxAttempts))
	}
	if r.Hash != "" {
		c.update += ", #hash = :hash"
		again += " AND #hash = :hash"
		c.values[":hash"] = text(r.Hash)
	}
	c.condition = "attribute_not_exists(#pk) OR (" + again + " AND (#st = :failed OR (#st = :ip AND #own <> :tok AND #lease < :over)))"
	return c
}

// replacement writes what [idempotency.Decide] said, if nobody has written since
// the record was seen, or DynamoDB has deleted it since.
func replacement(seen, rec idempotency.Record) *change {
	c := &change{
		update: "SET #st = :ip, #own = :tok, #lease = :lease, #exp = :exp, #life = :life, #att = :n, #upd = :now, #cre = :cre",
		condition: "attribute_not_exists(#pk) OR " +
			"(#own = :seenOwn AND #st = :seenSt AND #lease = :seenLease AND #upd = :seenUpd)",
		values: values{
			":ip": text(rec.Status.String()), ":tok": text(rec.Owner), ":lease": millis(rec.Lease), ":exp": seconds(rec.Expires),
			":life": number(rec.Life), ":n": number(int64(rec.Attempts)), ":now": millis(rec.Updated), ":cre": millis(rec.Created),
			":seenOwn": text(seen.Owner), ":seenSt": text(seen.Status.String()),
			":seenLease": millis(seen.Lease), ":seenUpd": millis(seen.Updated),
		},
	}
	var gone []string
	for _, o := range []struct{ name, value, s string }{{"#hash", ":hash", rec.Hash}, {"#err", ":err", rec.Err}} {
		if o.s == "" {
			gone = append(gone, o.name)
			continue
		}
		c.update += ", " + o.name + " = " + o.value
		c.values[o.value] = text(o.s)
	}
	if len(gone) > 0 {
		c.update += " REMOVE " + strings.Join(gone, ", ")
	}
	return c
}

// undo gives back what a claim may have taken, with its attempt. It leaves the
// last failure as it is: this was none.
func (s *Store) undo(ctx context.Context, r idempotency.Request, limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	c := &change{
		update: "SET #st = :to, #lease = :zero, #upd = :now, #att = #att - :refund",
		values: values{":to": text(idempotency.Failed.String()), ":zero": number(0), ":refund": number(1)},
	}
	// Refused or failed alike: the lease ends by itself.
	_, _ = s.write(ctx, "release", r.Key, c.fence(r.Owner))
}
