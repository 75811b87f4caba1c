package idempotency

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// DefaultRetention is how long a record lives: one day longer than SQS
	// keeps any message.
	DefaultRetention = 15 * 24 * time.Hour
	// DefaultLease is how long a key is held where no deadline says.
	DefaultLease = 2 * time.Minute

	maxLease     = 12 * time.Hour
	minRetention = 14 * 24 * time.Hour // the longest that SQS keeps a message
	maxKeyBytes  = 512
)

// Config configures a [Guard]. The zero value is usable.
type Config struct {
	// Namespace keeps keys apart that mean different work: the same order id on
	// two queues, say. Default: what comes with the work; the consumer gives the
	// queue's own ARN. Name it to share one table between queues that carry the
	// same work. It must not contain '#'.
	Namespace string
	// Retention is how long a completed record suppresses duplicates. Default
	// 15 days. Below 14 days a message can outlive its record and run again; New
	// logs a warning then.
	Retention time.Duration
	// Lease is how long a claim holds its key where no deadline says, as in a
	// poller, which renews it. At least 2 s, at most 12 h, for which SQS can hide
	// a message. Default 2 min. Where there is a deadline the lease ends a second
	// after it.
	Lease time.Duration
	// Payload selects what of the payload must be the same for two deliveries
	// to be the same work. A key that comes back with another payload is a
	// [MismatchError]. Default nil: the key alone says. A record that was written
	// without a hash, as before Payload was set, never mismatches. Of JSON members
	// of one name the last counts: what came before it is not compared.
	Payload Selector
	// Logger gets warnings. Default slog.Default().
	Logger *slog.Logger
}

// Guard claims keys. It is safe for concurrent use.
type Guard struct {
	store shield
	cfg   Config
}

// New returns a Guard on s. Everything that is wrong with cfg is an error here,
// and so is a store that is nil, also a nil pointer of a store's type.
func New(s Store, cfg Config) (*Guard, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	switch {
	case s == nil:
		return nil, errors.New("idempotency: the store is nil; make one with memstore.New or dynamostore.New")
	case isNil(s):
		return nil, fmt.Errorf("idempotency: the store is a nil %T; make one with memstore.New or dynamostore.New, "+
			"and look at the error that came with this one", s)
	case strings.Contains(cfg.Namespace, "#"):
		return nil, fmt.Errorf("idempotency: Namespace is %q; leave the # out, it ends the namespace in keys", cfg.Namespace)
	case cfg.Retention < 0:
		return nil, fmt.Errorf("idempotency: Retention is %v; use 0 for the default of 15 days", cfg.Retention)
	case cfg.Lease > maxLease:
		return nil, fmt.Errorf("idempotency: Lease is %v; use %v or less: SQS hides a message no longer", cfg.Lease, maxLease)
	case cfg.Lease != 0 && cfg.Lease < 2*MaxSkew:
		return nil, fmt.Errorf("idempotency: Lease is %v; use %v or more, or 0 for the default of %v", cfg.Lease, 2*MaxSkew, DefaultLease)
	}
	if cfg.Retention == 0 {
		cfg.Retention = DefaultRetention
	}
	if cfg.Lease == 0 {
		cfg.Lease = DefaultLease
	}
	if cfg.Retention < minRetention {
		cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn,
			"idempotency: Retention is shorter than SQS may keep a message: one that is delivered later runs again",
			slog.Duration("retention", cfg.Retention), slog.Duration("atLeast", minRetention))
	}
	return &Guard{store: shield{s}, cfg: cfg}, nil
}

// isNil reports whether there is nothing in s but a type.
func isNil(s Store) bool {
	switch v := reflect.ValueOf(s); v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}

// Lease returns how long a claim without a deadline holds its key.
func (g *Guard) Lease() time.Duration { return g.cfg.Lease }

// Namespaced reports whether the guard has a namespace of its own.
func (g *Guard) Namespaced() bool { return g.cfg.Namespace != "" }

// Work is what a claim is made for.
type Work struct {
	// Namespace is used if the guard has none of its own. It must not contain
	// '#'.
	Namespace string
	// Kind says what sort of key it is, and Key which; keys of different kinds
	// are never the same. Neither may be empty, and the kind must not contain
	// '#' or ':'.
	Kind, Key string
	// Life is an ordinal that grows when the work begins anew with a full
	// budget of attempts; 0 if it is not known.
	Life int64
	// MaxAttempts is the budget of a life; 0 for no limit.
	MaxAttempts int
	// Deadline is when the work will have been stopped. Default: none, and the
	// lease is the guard's own.
	Deadline time.Time
	// Payload is compared by [Config.Payload], if that is set.
	Payload string
}

// Claim claims the key of w. The error says why it may not be worked on:
// [ErrCompleted], [*HeldError], [*MismatchError], [*ExhaustedError], [ErrLease]
// (a deadline that has passed, or a store so slow that the lease had ended when
// it answered), [ErrNoPayload] or [*UnavailableError].
func (g *Guard) Claim(ctx context.Context, w Work) (*Claim, error) {
	r, err := g.request(w)
	if err != nil {
		return nil, err
	}
	rec, err := g.store.Claim(ctx, r)
	if err != nil {
		return nil, err
	}
	c := &Claim{g: g, key: r.Key, owner: r.Owner, attempt: rec.Attempts}
	c.lease.Store(r.Lease.UnixMilli())
	if !r.Lease.After(time.Now()) {
		// The work has not begun, and somebody else may be about to.
		_ = c.Refund(ctx, ErrLease)
		return nil, ErrLease
	}
	return c, nil
}

// request is what a claim for w asks the store for. Times are rounded to what
// stores keep, so that all of them see the same: a lease that a store cut short
// by a fraction could be taken over while we still believe in it.
func (g *Guard) request(w Work) (Request, error) {
	key, err := g.key(w)
	if err != nil {
		return Request{}, err
	}
	now := time.Now()
	r := Request{
		Key: key, Owner: rand.Text(), Now: now.Truncate(time.Millisecond), Expires: expiry(DefaultRetention),
		Life: w.Life, MaxAttempts: w.MaxAttempts, Lease: roundUp(now.Add(g.cfg.Lease), time.Millisecond),
	}
	if !w.Deadline.IsZero() {
		if !w.Deadline.After(now) {
			return Request{}, ErrLease
		}
		r.Lease = roundUp(w.Deadline.Add(MaxSkew), time.Millisecond)
	}
	if g.cfg.Payload != nil {
		if r.Hash, err = hash(g.cfg.Payload, w.Payload); err != nil {
			return Request{}, err
		}
	}
	return r, nil
}

// key is the key in the store: bounded in length, whatever the user's is, and
// valid UTF-8. The two signs that part it occur in nothing before them, so that
// no two triples have one key.
func (g *Guard) key(w Work) (string, error) {
	ns := g.cfg.Namespace
	if ns == "" {
		ns = w.Namespace
	}
	switch {
	case w.Kind == "" || w.Key == "":
		return "", fmt.Errorf("idempotency: Work.Kind is %q and Work.Key has %d bytes; neither may be empty", w.Kind, len(w.Key))
	case strings.ContainsAny(w.Kind, "#:"):
		return "", fmt.Errorf("idempotency: Work.Kind is %q; leave # and : out, they part the key", w.Kind)
	case ns == "":
		return "", errors.New("idempotency: there is no namespace: the queue's ARN is not known, and Config.Namespace is not set; set it")
	case strings.Contains(ns, "#"):
		return "", fmt.Errorf("idempotency: Work.Namespace is %q; leave the # out, it ends the namespace in keys", ns)
	}
	full := ns + "#" + w.Kind + ":" + w.Key
	if len(full) <= maxKeyBytes && utf8.ValidString(full) {
		return full, nil
	}
	sum := sha256.Sum256([]byte(full))
	return "sha256#" + hex.EncodeToString(sum[:]), nil
}

// look does with an error what will be done with it, so that one that panics
// does so here.
func look(err error) {
	if err != nil {
		_, _ = err.Error(), errors.Is(err, errUnlike)
		_, _ = errors.AsType[*UnavailableError](err)
	}
}

// errUnlike is like no other error, so that a search for it visits them all.
var errUnlike = errors.New("unlike any other")

// known passes on the errors that the contract names; any other means that the
// store is unavailable. All of it is looked at here, where a panic in it is
// caught.
func known(op string, err error) error {
	if err == nil {
		return nil
	}
	look(err)
	for _, e := range []error{ErrCompleted, ErrHeld, ErrMismatch, ErrExhausted, ErrLost, ErrUnavailable} {
		if errors.Is(err, e) {
			return err
		}
	}
	return &UnavailableError{Op: op, Err: err}
}
