package idempotency

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Claim is the right to work under a key until the lease ends. It is safe for
// concurrent use.
type Claim struct {
	g          *Guard
	key, owner string
	attempt    int
	lease      atomic.Int64 // Unix milliseconds, as stores keep it
	done       atomic.Bool
}

// Key is the key as the store has it.
func (c *Claim) Key() string { return c.key }

// Owner is the token that fences every write.
func (c *Claim) Owner() string { return c.owner }

// Attempt is the number of this attempt in its life, from 1.
func (c *Claim) Attempt() int { return c.attempt }

// Until is when the lease ends, as far as is confirmed.
func (c *Claim) Until() time.Time { return time.UnixMilli(c.lease.Load()) }

// Completed reports whether the work is recorded as done.
func (c *Claim) Completed() bool { return c.done.Load() }

// MarkCompleted takes note that the completion was written by other means than
// [Claim.Complete]. It is for stores that write it in a transaction of the
// user's.
func (c *Claim) MarkCompleted() { c.done.Store(true) }

// Expiry is when a record that is completed now expires: a whole second.
func (c *Claim) Expiry() time.Time { return expiry(c.g.cfg.Retention) }

// Renew extends the lease to until, if it is still ours: [ErrLost] if not, and
// an [*UnavailableError] if that is not known. Once the work is recorded as done
// there is nothing to hold any more: nothing is written, and that is no error.
// The answer may come so late that the new lease has ended too; Until tells.
func (c *Claim) Renew(ctx context.Context, until time.Time) error {
	if c.done.Load() {
		return nil
	}
	until = roundUp(until, time.Millisecond)
	err := c.g.store.Renew(ctx, c.key, c.owner, until, expiry(DefaultRetention))
	switch {
	case err == nil:
		c.lease.Store(until.UnixMilli())
		return nil
	case errors.Is(err, ErrCompleted):
		// A transaction of the user's landed; its answer is still on the way.
		c.done.Store(true)
		return nil
	case c.done.Load():
		// The work was completed while we asked. That is not a loss, and must
		// not end a handler that has just done its work.
		return nil
	}
	return err
}

// Complete records that the work is done; nothing is written if it is recorded
// already. [ErrLost] says that somebody else took over meanwhile.
func (c *Claim) Complete(ctx context.Context) error {
	if c.done.Load() {
		return nil
	}
	if err := c.g.store.Complete(ctx, c.key, c.owner, c.Expiry()); err != nil {
		return err
	}
	c.done.Store(true)
	return nil
}

// Release gives the key back after a failure, so that another attempt may begin
// at once.
func (c *Claim) Release(ctx context.Context, cause error) error {
	return c.release(ctx, Failure{Status: Failed}, cause)
}

// Refund gives the key back and takes the attempt with it: the work was not
// given its chance.
func (c *Claim) Refund(ctx context.Context, cause error) error {
	return c.release(ctx, Failure{Status: Failed, Refund: true}, cause)
}

// Reject gives the key back and ends its life: there will be no further attempt
// until a new one begins.
func (c *Claim) Reject(ctx context.Context, cause error) error {
	return c.release(ctx, Failure{Status: Rejected}, cause)
}

// release returns [ErrCompleted] if the work turns out to be recorded as done
// by this very claim.
func (c *Claim) release(ctx context.Context, f Failure, cause error) error {
	if c.done.Load() {
		return ErrCompleted
	}
	f.Expires = expiry(DefaultRetention)
	if cause != nil {
		// Not cause.Error(): that of a nil pointer may panic, and fmt survives it.
		f.Err = CutError(fmt.Sprint(cause))
	}
	err := c.g.store.Release(ctx, c.key, c.owner, f)
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrCompleted) {
		c.done.Store(true)
	}
	return err
}

// CutError returns what a record keeps of the text of an error: valid UTF-8, at
// most [MaxErrorBytes] of it, cut between characters, and a copy. It is for
// stores.
func CutError(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	n := len(s)
	if n > MaxErrorBytes {
		n = MaxErrorBytes
		for !utf8.RuneStart(s[n]) {
			n--
		}
	}
	return strings.Clone(s[:n]) // not a part of what may be a megabyte
}

// expiry is when a record that is written now expires, in whole seconds, as
// stores keep it. Rounded up: a record may live too long, never too short.
func expiry(life time.Duration) time.Time { return roundUp(time.Now().Add(life), time.Second) }

// roundUp rounds t up to a multiple of unit.
func roundUp(t time.Time, unit time.Duration) time.Time {
	down := t.Truncate(unit)
	if down.Before(t) {
		return down.Add(unit)
	}
	return down
}

type contextKey struct{}

// NewContext returns a context that carries c to the work.
func NewContext(ctx context.Context, c *Claim) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// FromContext returns the claim that a handler runs under; ok is false if it
// runs without one.
func FromContext(ctx context.Context) (c *Claim, ok bool) {
	c, _ = ctx.Value(contextKey{}).(*Claim)
	return c, c != nil
}
