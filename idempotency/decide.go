package idempotency

import "time"

// Action is what a claim may do with the record it found.
type Action uint8

// What [Decide] answers.
const (
	// Refuse: the error says why.
	Refuse Action = iota
	// Ours: the record is this very claim's; an earlier response was lost.
	Ours
	// Write: the claim may write Decision.Record in place of the record.
	Write
)

// Decision is the answer of [Decide].
type Decision struct {
	Action Action
	// Record is what to write, or what was found if it is ours.
	Record Record
}

// Decide says what a claim may do with the record found under its key; found is
// nil if there is none. It is the one place where that is decided, for all
// stores: a store that checks conditions of its own allows no more than Decide.
//
// The order matters. Own token: ours. Expired: absent, though it may still be
// there. A newer life that is not completed and not held: a full budget again.
// Another payload: mismatch. Completed. Held. Rejected or used up. What is left
// is a further attempt in the recorded life.
func Decide(found *Record, r Request) (Decision, error) {
	switch {
	case found == nil:
		return r.write(nil, 1), nil
	case found.Owner == r.Owner && found.Status == InProgress:
		return Decision{Action: Ours, Record: *found}, nil
	case !found.Expires.IsZero() && !found.Expires.After(r.Now):
		return r.write(nil, 1), nil
	case r.Life > found.Life && found.Status != Completed && !found.held(r.Now):
		return r.write(nil, 1), nil
	case r.Hash != "" && found.Hash != "" && r.Hash != found.Hash:
		return Decision{}, &MismatchError{Key: r.Key}
	case found.Status == Completed:
		return Decision{}, ErrCompleted
	case found.held(r.Now):
		return Decision{}, &HeldError{Key: r.Key, Until: found.Lease}
	case found.Status == Rejected || r.MaxAttempts > 0 && found.Attempts >= r.MaxAttempts:
		return Decision{}, &ExhaustedError{Key: r.Key, Attempts: found.Attempts, Last: found.Err}
	default:
		return r.write(found, found.Attempts+1), nil
	}
}

// held reports whether somebody may still be working under the lease, as seen
// by a clock that may be ahead of theirs.
func (r *Record) held(now time.Time) bool {
	return r.Status == InProgress && !now.After(r.Lease.Add(MaxSkew))
}

// write is the record of a claim, in a new life if there is none before it.
func (r *Request) write(before *Record, attempts int) Decision {
	rec := Record{
		Status: InProgress, Owner: r.Owner, Lease: r.Lease, Expires: r.Expires,
		Life: r.Life, Attempts: attempts, Hash: r.Hash, Updated: r.Now, Created: r.Now,
	}
	if before != nil {
		rec.Life, rec.Created, rec.Err = before.Life, before.Created, before.Err
		if rec.Hash == "" {
			rec.Hash = before.Hash
		}
	}
	return Decision{Action: Write, Record: rec}
}
