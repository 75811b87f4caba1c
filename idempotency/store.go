package idempotency

import (
	"context"
	"time"
)

// Status is the state of a record.
type Status uint8

// The states of a record. The zero value is none of them.
const (
	// InProgress: somebody holds the key until the lease ends.
	InProgress Status = iota + 1
	// Completed: the work is done.
	Completed
	// Failed: the last attempt failed, and there may be another.
	Failed
	// Rejected: there will be no other attempt in this life.
	Rejected
)

var statusNames = [...]string{"", "in_progress", "completed", "failed", "rejected"}

// String returns the status as stores write it.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return ""
}

// ParseStatus is the inverse of [Status.String]; 0 for anything else.
func ParseStatus(s string) Status {
	for i, name := range statusNames {
		if i > 0 && name == s {
			return Status(i)
		}
	}
	return 0
}

// Record is what a store keeps under a key.
type Record struct {
	Status Status
	// Owner is the token of the claim that wrote last.
	Owner string
	// Lease is until when the owner holds the key; zero if nobody does. Stores
	// keep milliseconds.
	Lease time.Time
	// Expires is when the record counts as absent, whether it is still there or
	// not. Stores keep seconds.
	Expires time.Time
	// Life is the ordinal of the life that Attempts counts in; see [Work].
	Life int64
	// Attempts is how many attempts have begun in this life.
	Attempts int
	// Hash is the payload's; empty if it was not hashed.
	Hash string
	// Err is why the last attempt failed, at most MaxErrorBytes of it.
	Err string
	// Updated and Created are when it was last written, and when its life began
	// here. Nothing is decided by them. Claim sets both as [Decide] says; whether
	// the other methods set Updated is up to the store.
	Updated, Created time.Time
}

// Request is what a claim asks for. Its times are whole milliseconds, Expires
// whole seconds; a [Guard] rounds them.
type Request struct {
	// Key is valid UTF-8, at most 512 bytes of it.
	Key string
	// Owner is the claim's token: no two claims have the same. It is made once,
	// before any retry of the call, so that a claim recognises its own write
	// after a lost response.
	Owner string
	// Now is the claimer's clock, which may be off by MaxSkew.
	Now time.Time
	// Lease is until when the key is wanted; after Now.
	Lease time.Time
	// Expires is when the record expires if nobody writes to it again.
	Expires time.Time
	// Life is the ordinal of the work's life; 0 if it is not known.
	Life int64
	// MaxAttempts is how many attempts a life gets; 0 for no limit.
	MaxAttempts int
	// Hash is the payload's; empty if it is not to be compared.
	Hash string
}

// Store keeps records. Implementations pass the suite of package storetest.
//
// Contract. All methods are called from several goroutines at once, and block
// until ctx ends at the longest. They retry what is worth it themselves; a
// caller does not. Each is atomic: it reads and writes one record as if alone.
// They keep nothing of their arguments. With a context that has ended already
// they write nothing.
//
// A response may get lost after the write was made. A method that then finds
// its own owner token in the state it wanted reports success.
//
// Errors: one of the kinds below as documented, or anything else if the store
// cannot be reached or does not answer in time; what was written then is
// unknown.
type Store interface {
	// Claim takes the key if [Decide] allows it, and returns the record as
	// written, Attempts with this one counted. Else it returns what Decide
	// found: ErrCompleted, *HeldError, *MismatchError, *ExhaustedError.
	Claim(ctx context.Context, r Request) (Record, error)
	// Renew sets the lease, and with it Expires, of a key that owner holds.
	// ErrLost if it does not, ErrCompleted if the record is completed under
	// this very owner: a transaction of the user's has landed.
	//
	// Here and below a key is held by the owner that claimed it last, until it
	// completes or releases. That its lease has ended, or that the record's
	// time is up, is no reason to refuse as long as nobody has taken over.
	Renew(ctx context.Context, key, owner string, lease, expires time.Time) error
	// Complete marks the work of a key that owner holds as done, and forgets
	// the last error. ErrLost if it does not hold it.
	Complete(ctx context.Context, key, owner string, expires time.Time) error
	// Release gives back a key that owner holds. ErrLost if it does not,
	// ErrCompleted as for Renew.
	Release(ctx context.Context, key, owner string, f Failure) error
}

// Failure is how a claim is given back.
type Failure struct {
	// Status is Failed or Rejected.
	Status Status
	// Err is kept in the record, cut to MaxErrorBytes.
	Err string
	// Refund takes the attempt back: it was not the work's fault.
	Refund bool
	// Expires is when the record expires.
	Expires time.Time
}

const (
	// MaxErrorBytes is how much of an error a record keeps.
	MaxErrorBytes = 256
	// MaxSkew is by how much two workers' clocks may differ. A lease is taken
	// over only so long after its end.
	MaxSkew = time.Second
)
