package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
)

func TestComplete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		c := claim(t, guard(t, s, idempotency.Config{Retention: 20 * 24 * time.Hour}), work)
		time.Sleep(1500 * time.Millisecond)
		if err := c.Complete(t.Context()); err != nil || !c.Completed() {
			t.Fatalf("Complete: %v, completed %v", err, c.Completed())
		}
		last := s.last(t)
		want := time.Now().Add(20 * 24 * time.Hour).Truncate(time.Second).Add(time.Second)
		if last.op != "complete" || last.key != c.Key() || last.owner != c.Owner() || !last.expires.Equal(want) || !c.Expiry().Equal(want) {
			t.Errorf("%+v; want the completion of %q by %q until %v", last, c.Key(), c.Owner(), want)
		}
	})
}

// Once the work is recorded as done there is nothing more to write, however it
// was recorded.
func TestCompletedWritesNothingMore(t *testing.T) {
	t.Parallel()
	for name, complete := range map[string]func(*idempotency.Claim) error{
		"Complete":      func(c *idempotency.Claim) error { return c.Complete(context.Background()) },
		"MarkCompleted": func(c *idempotency.Claim) error { c.MarkCompleted(); return nil },
	} {
		s := &script{}
		c := claim(t, guard(t, s, idempotency.Config{}), work)
		if err := complete(c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before, until := s.ops(), c.Until()
		if err := errors.Join(c.Complete(t.Context()), c.Renew(t.Context(), time.Now().Add(time.Hour))); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
		for _, f := range []func(context.Context, error) error{c.Release, c.Refund, c.Reject} {
			if err := f(t.Context(), errDown); !errors.Is(err, idempotency.ErrCompleted) {
				t.Errorf("given back after %s: %v, want ErrCompleted", name, err)
			}
		}
		if s.ops() != before || !c.Until().Equal(until) {
			t.Errorf("after %s the store was asked %q, before %q", name, s.ops(), before)
		}
	}
}

func TestGivingBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(*idempotency.Claim, context.Context, error) error
		want idempotency.Failure
	}{
		"Release": {(*idempotency.Claim).Release, idempotency.Failure{Status: idempotency.Failed, Err: "connection refused"}},
		"Refund":  {(*idempotency.Claim).Refund, idempotency.Failure{Status: idempotency.Failed, Err: "connection refused", Refund: true}},
		"Reject":  {(*idempotency.Claim).Reject, idempotency.Failure{Status: idempotency.Rejected, Err: "connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{}
				claim := claim(t, guard(t, s, idempotency.Config{Retention: time.Hour}), work)
				if err := c.do(claim, t.Context(), errDown); err != nil {
					t.Fatal(err)
				}
				// A failed record outlives the message, whatever Retention is.
				c.want.Expires = time.Now().Add(idempotency.DefaultRetention)
				last := s.last(t)
				if diff := cmp.Diff(c.want, last.failure); diff != "" || last.key != claim.Key() || last.owner != claim.Owner() {
					t.Errorf("%q by %q (-want +got):\n%s", last.key, last.owner, diff)
				}
			})
		})
	}
}

// nilError is what a handler returns that declares its error's own type.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

func TestErrorOfARelease(t *testing.T) {
	t.Parallel()
	s := &script{}
	g := guard(t, s, idempotency.Config{})
	for name, c := range map[string]struct {
		cause error
		want  string
	}{
		"none":        {nil, ""},
		"short":       {errDown, "connection refused"},
		"long":        {errors.New(strings.Repeat("é", 1000)), strings.Repeat("é", 128)},
		"odd":         {errors.New("x" + strings.Repeat("é", 1000)), "x" + strings.Repeat("é", 127)},
		"no UTF-8":    {errors.New("a\xffb"), "a\uFFFDb"},
		"nil pointer": {(*nilError)(nil), "<nil>"},
	} {
		if err := claim(t, g, work).Release(t.Context(), c.cause); err != nil {
			t.Fatal(err)
		}
		if got := s.last(t).failure.Err; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCutError(t *testing.T) {
	t.Parallel()
	for n := range 300 {
		for _, char := range []string{"a", "é", "€", "🙂", "\xff"} {
			got := idempotency.CutError(strings.Repeat("-", n) + strings.Repeat(char, 300))
			if len(got) > idempotency.MaxErrorBytes || !utf8.ValidString(got) || char != "\xff" && len(got) <= idempotency.MaxErrorBytes-len(char) {
				t.Errorf("%d and many %q: %d bytes %q", n, char, len(got), got)
			}
		}
	}
}

// A record must not keep a megabyte alive for the sake of its beginning.
func TestCutErrorIsACopy(t *testing.T) {
	t.Parallel()
	whole := strings.Repeat("x", 1<<20)
	for _, s := range []string{whole, whole[:idempotency.MaxErrorBytes], whole[:3]} {
		got := idempotency.CutError(s)
		if len(got) != min(len(s), idempotency.MaxErrorBytes) || unsafe.StringData(got) == unsafe.StringData(s) {
			t.Errorf("of %d bytes %d are kept, where they were: %t; want a copy", len(s), len(got), unsafe.StringData(got) == unsafe.StringData(s))
		}
	}
}

func TestRenew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		c := claim(t, guard(t, s, idempotency.Config{}), work)
		first := c.Until()
		time.Sleep(time.Second)
		until := time.Now().Add(time.Minute + 1)
		if err := c.Renew(t.Context(), until); err != nil {
			t.Fatal(err)
		}
		want, last := until.Add(-1).Add(time.Millisecond), s.last(t)
		if !c.Until().Equal(want) || !last.until.Equal(want) || !last.expires.Equal(time.Now().Add(idempotency.DefaultRetention)) {
			t.Errorf("renewed from %v to %v with %+v; want %v", first, c.Until(), last, want)
		}
		// What is not confirmed does not count.
		for answer, says := range map[error]error{errDown: idempotency.ErrUnavailable, idempotency.ErrLost: idempotency.ErrLost} {
			s.renew = fails(answer)
			if err := c.Renew(t.Context(), until.Add(time.Hour)); !errors.Is(err, says) || !c.Until().Equal(want) {
				t.Errorf("the store said %v: %v, until %v; want %v, until %v", answer, err, c.Until(), says, want)
			}
		}
	})
}

// A beat meets a completion. Neither order of events may look like a loss: it
// would end a handler that has just done its work.
func TestRenewMeetsACompletion(t *testing.T) {
	t.Parallel()
	t.Run("the store knows first", func(t *testing.T) {
		t.Parallel()
		s := &script{renew: fails(idempotency.ErrCompleted)}
		c := claim(t, guard(t, s, idempotency.Config{}), work)
		if err := c.Renew(t.Context(), time.Now().Add(time.Hour)); err != nil || !c.Completed() {
			t.Errorf("Renew: %v, completed %v; want nil, true", err, c.Completed())
		}
	})
	t.Run("we know while we ask", func(t *testing.T) {
		t.Parallel()
		s := &script{}
		c := claim(t, guard(t, s, idempotency.Config{}), work)
		s.renew = func(context.Context) error { c.MarkCompleted(); return idempotency.ErrLost }
		if err := c.Renew(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Errorf("Renew: %v, want nil", err)
		}
	})
}

func TestErrorsAfterTheClaim(t *testing.T) {
	t.Parallel()
	s := &script{}
	g := guard(t, s, idempotency.Config{})
	complete := func(c *idempotency.Claim) error { return c.Complete(t.Context()) }
	release := func(c *idempotency.Claim) error { return c.Release(t.Context(), errDown) }
	for name, op := range map[string]func(*idempotency.Claim) error{"complete": complete, "release": release} {
		for _, answer := range []error{idempotency.ErrLost, fmt.Errorf("wrapped: %w", idempotency.ErrLost), errDown, context.Canceled} {
			s.complete, s.release = fails(answer), fails(answer)
			c := claim(t, g, work)
			err := op(c)
			down, unavailable := errors.AsType[*idempotency.UnavailableError](err)
			if lost := errors.Is(answer, idempotency.ErrLost); !errors.Is(err, answer) || unavailable == lost || c.Completed() {
				t.Errorf("%s: the store said %v, we %v, completed %v", name, answer, err, c.Completed())
			}
			if unavailable && down.Op != name {
				t.Errorf("%s: the error is of %q", name, down.Op)
			}
		}
	}
	// A release that finds the work done says so, and from then on knows.
	s.release = fails(idempotency.ErrCompleted)
	c := claim(t, g, work)
	if err := release(c); !errors.Is(err, idempotency.ErrCompleted) || !c.Completed() {
		t.Errorf("Release: %v, completed %v; want ErrCompleted, true", err, c.Completed())
	}
	// What failed to be written may be written later.
	s.complete = fails(errDown)
	c = claim(t, g, work)
	if err := complete(c); err == nil {
		t.Error("Complete succeeded")
	}
	s.complete = nil
	if err := complete(c); err != nil || !c.Completed() {
		t.Errorf("Complete again: %v, completed %v", err, c.Completed())
	}
}

// Whatever a message is like, its record is small (ID-12).
func TestRecordIsSmall(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	s := &script{}
	w := work
	w.Key, w.Payload = strings.Repeat("é", mebibyte/2), strings.Repeat("p", mebibyte)
	c := claim(t, guard(t, s, idempotency.Config{Payload: idempotency.Whole}), w)
	if err := c.Release(t.Context(), errors.New(strings.Repeat("e", mebibyte))); err != nil {
		t.Fatal(err)
	}
	r, f := s.calls[0].request, s.calls[1].failure
	// What is left of a kilobyte is for eight numbers and ten names.
	if size := len(r.Key) + len(r.Owner) + len(r.Hash) + len(f.Err); size > 800 {
		t.Errorf("key %d, owner %d, hash %d, error %d: %d bytes, want 800 or less", len(r.Key), len(r.Owner), len(r.Hash), len(f.Err), size)
	}
}

// A heartbeat renews while the handler's end is recorded.
func TestClaimIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	c := claim(t, guard(t, store, idempotency.Config{}), work)
	errs := make([]error, 50)
	var wg sync.WaitGroup
	for n := range errs {
		wg.Go(func() {
			if n == 25 {
				errs[n] = c.Complete(t.Context())
				return
			}
			errs[n] = c.Renew(t.Context(), time.Now().Add(time.Duration(n)*time.Minute))
			_, _ = c.Until(), c.Completed()
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil || !c.Completed() {
		t.Errorf("completed %v: %v", c.Completed(), err)
	}
	if rec, _ := store.Get(c.Key()); rec.Status != idempotency.Completed {
		t.Errorf("the record is %+v, want it completed", rec)
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	c := claim(t, guard(t, &script{}, idempotency.Config{}), work)
	ctx := idempotency.NewContext(t.Context(), c)
	if got, ok := idempotency.FromContext(ctx); !ok || got != c {
		t.Errorf("FromContext = %v, %v; want the claim", got, ok)
	}
	for name, ctx := range map[string]context.Context{"none": t.Context(), "nil": idempotency.NewContext(ctx, nil)} {
		if got, ok := idempotency.FromContext(ctx); ok || got != nil {
			t.Errorf("%s: FromContext = %v, %v; want nil, false", name, got, ok)
		}
	}
}
