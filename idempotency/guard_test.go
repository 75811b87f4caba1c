package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/idempotency"
)

// Stores of other kinds that can be nil.
type (
	storeMap  map[string]idempotency.Store
	storeFunc func() idempotency.Store
)

func (s storeMap) Claim(ctx context.Context, r idempotency.Request) (idempotency.Record, error) {
	return s[""].Claim(ctx, r)
}

func (s storeMap) Renew(ctx context.Context, key, owner string, lease, expires time.Time) error {
	return s[""].Renew(ctx, key, owner, lease, expires)
}

func (s storeMap) Complete(ctx context.Context, key, owner string, expires time.Time) error {
	return s[""].Complete(ctx, key, owner, expires)
}

func (s storeMap) Release(ctx context.Context, key, owner string, f idempotency.Failure) error {
	return s[""].Release(ctx, key, owner, f)
}

func (s storeFunc) Claim(ctx context.Context, r idempotency.Request) (idempotency.Record, error) {
	return s().Claim(ctx, r)
}

func (s storeFunc) Renew(ctx context.Context, key, owner string, lease, expires time.Time) error {
	return s().Renew(ctx, key, owner, lease, expires)
}

func (s storeFunc) Complete(ctx context.Context, key, owner string, expires time.Time) error {
	return s().Complete(ctx, key, owner, expires)
}

func (s storeFunc) Release(ctx context.Context, key, owner string, f idempotency.Failure) error {
	return s().Release(ctx, key, owner, f)
}

// A store of a kind that can be nil, and is not, is a store.
func TestNewAcceptsStoresOfAllKinds(t *testing.T) {
	t.Parallel()
	inner := &script{}
	for _, s := range []idempotency.Store{storeMap{"": inner}, storeFunc(func() idempotency.Store { return inner }), struct{ idempotency.Store }{inner}} {
		claim(t, guard(t, s, idempotency.Config{}), work)
	}
	if ops := inner.ops(); strings.Count(ops, "claim") != 3 {
		t.Errorf("the store was asked %q, want three claims", ops)
	}
}

func TestLeaseOfTwelveHoursIsAccepted(t *testing.T) {
	t.Parallel()
	if g := guard(t, &script{}, idempotency.Config{Lease: 12 * time.Hour}); g.Lease() != 12*time.Hour {
		t.Errorf("lease %v, want 12h", g.Lease())
	}
}

func TestNewRejects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		store idempotency.Store
		cfg   idempotency.Config
		says  []string
	}{
		"no store":           {nil, idempotency.Config{}, []string{"store is nil", "memstore.New"}},
		"nil pointer":        {(*script)(nil), idempotency.Config{}, []string{"nil *idempotency_test.script", "memstore.New", "error"}},
		"nil map":            {storeMap(nil), idempotency.Config{}, []string{"nil idempotency_test.storeMap"}},
		"nil func":           {storeFunc(nil), idempotency.Config{}, []string{"nil idempotency_test.storeFunc"}},
		"long lease":         {&script{}, idempotency.Config{Lease: 12*time.Hour + 1}, []string{"Lease", "12h0m0.000000001s", "12h0m0s or less"}},
		"# in the namespace": {&script{}, idempotency.Config{Namespace: "a#b"}, []string{"Namespace", `"a#b"`, "leave the # out"}},
		"negative retention": {&script{}, idempotency.Config{Retention: -time.Hour}, []string{"Retention", "-1h0m0s", "use 0"}},
		"negative lease":     {&script{}, idempotency.Config{Lease: -time.Second}, []string{"Lease", "-1s", "2s or more"}},
		"short lease":        {&script{}, idempotency.Config{Lease: 2*time.Second - 1}, []string{"Lease", "1.999999999s", "2s or more"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, err := idempotency.New(c.store, c.cfg)
			if g != nil || err == nil {
				t.Fatalf("New = %v, %v; want an error", g, err)
			}
			for _, says := range c.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q does not say %q", err, says)
				}
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	g := guard(t, &script{}, idempotency.Config{})
	if g.Lease() != idempotency.DefaultLease || g.Namespaced() {
		t.Errorf("lease %v, namespaced %v; want %v, false", g.Lease(), g.Namespaced(), idempotency.DefaultLease)
	}
	g = guard(t, &script{}, idempotency.Config{Lease: 2 * time.Second, Namespace: "orders"})
	if g.Lease() != 2*time.Second || !g.Namespaced() {
		t.Errorf("lease %v, namespaced %v; want 2s, true", g.Lease(), g.Namespaced())
	}
}

func TestShortRetentionIsWarnedOf(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for retention, warns := range map[time.Duration]bool{0: false, 15 * day: false, 14 * day: false, 14*day - 1: true, time.Hour: true} {
		var log bytes.Buffer
		guard(t, &script{}, idempotency.Config{Retention: retention, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		warned := strings.Contains(log.String(), "level=WARN") && strings.Contains(log.String(), "retention="+retention.String())
		if warned != warns || !warns && log.Len() > 0 {
			t.Errorf("retention %v: warned %v, want %v: %s", retention, warned, warns, log.String())
		}
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(1234567 * time.Nanosecond) // not a whole anything
		begin := time.Now()
		s := &script{}
		g := guard(t, s, idempotency.Config{Payload: idempotency.Whole, Lease: time.Minute})
		w := work
		w.Payload = `{"a":1}`
		c := claim(t, g, w)
		r := s.last(t).request
		want := idempotency.Request{
			Key: "orders#id:7", Owner: c.Owner(), Life: 10, MaxAttempts: 3, Hash: whole(t, `{"a":1}`),
			// Down, for what is compared with the ends of others; up, for ends.
			Now:     begin.Truncate(time.Millisecond),
			Lease:   begin.Add(time.Minute).Truncate(time.Millisecond).Add(time.Millisecond),
			Expires: begin.Add(idempotency.DefaultRetention).Truncate(time.Second).Add(time.Second),
		}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		if c.Attempt() != 1 || c.Key() != r.Key || c.Owner() == "" || !c.Until().Equal(r.Lease) || c.Completed() {
			t.Errorf("claim of %q by %q: attempt %d until %v, completed %v", c.Key(), c.Owner(), c.Attempt(), c.Until(), c.Completed())
		}
	})
}

func TestOwnersAreDifferent(t *testing.T) {
	t.Parallel()
	g := guard(t, &script{}, idempotency.Config{})
	seen := make(map[string]bool)
	for range 1000 {
		seen[claim(t, g, work).Owner()] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d tokens for 1000 claims", len(seen))
	}
}

func TestLeaseFromDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		g := guard(t, s, idempotency.Config{Lease: time.Minute})
		for _, left := range []time.Duration{1, time.Millisecond, time.Second, 15 * time.Minute, 90 * time.Minute} {
			w := work
			w.Deadline = time.Now().Add(left)
			c := claim(t, g, w)
			// The lease covers all of it, in whole milliseconds.
			over := c.Until().Sub(w.Deadline.Add(idempotency.MaxSkew))
			if over < 0 || over >= time.Millisecond || !s.last(t).request.Lease.Equal(c.Until()) {
				t.Errorf("%v left: the lease ends %v after the deadline + 1 s", left, over)
			}
		}
	})
}

func TestPassedDeadlineIsNotClaimedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		g := guard(t, s, idempotency.Config{})
		for _, left := range []time.Duration{0, -1, -idempotency.MaxSkew, -time.Hour} {
			w := work
			w.Deadline = time.Now().Add(left)
			if c, err := g.Claim(t.Context(), w); !errors.Is(err, idempotency.ErrLease) || c != nil {
				t.Errorf("%v left: %v, %v; want ErrLease", left, c, err)
			}
		}
		if ops := s.ops(); ops != "" {
			t.Errorf("the store was asked: %s", ops)
		}
	})
}

// A store that answers after the lease has ended gives no right to work:
// somebody else may have taken over by then. The attempt is given back.
func TestLateAnswerGivesNoClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		s.claim = func(_ context.Context, r idempotency.Request) (idempotency.Record, error) {
			time.Sleep(time.Until(r.Lease))
			return idempotency.Record{Attempts: 1}, nil
		}
		c, err := guard(t, s, idempotency.Config{}).Claim(t.Context(), work)
		if !errors.Is(err, idempotency.ErrLease) || c != nil {
			t.Errorf("Claim = %v, %v; want ErrLease", c, err)
		}
		if last := s.last(t); s.ops() != "claim release" || !last.failure.Refund || last.owner != s.calls[0].owner {
			t.Errorf("the store was asked %q, at last %+v; want a refund", s.ops(), last)
		}
	})
}
