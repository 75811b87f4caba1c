package consumer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var errLazy = errors.New("over")

type lazyKey struct{}

// asked are the ways of asking a context for its end, each before it has come.
var asked = map[string]func(ctx context.Context){
	"not at all": func(context.Context) {},
	"Done":       func(ctx context.Context) { ctx.Done() },
	"Err":        func(ctx context.Context) { _ = ctx.Err() },
	"child":      func(ctx context.Context) { _, cancel := context.WithCancel(ctx); defer cancel() },
	"AfterFunc":  func(ctx context.Context) { context.AfterFunc(ctx, func() {}) },
}

// However it ends, and whoever has asked before, a lazy context says what one that
// was made at once would.
func TestLazy_EndsAsAnyContext(t *testing.T) {
	t.Parallel()
	for name, ask := range asked {
		for _, end := range []string{"own", "parent", "both"} {
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), lazyKey{}, 7))
					defer cancel(nil)
					l := &lazy{Context: parent}
					ask(l)
					if l.Err() != nil || context.Cause(l) != nil || l.Value(lazyKey{}) != 7 {
						t.Fatalf("before the end: %v, %v, %v", l.Err(), context.Cause(l), l.Value(lazyKey{}))
					}
					switch end {
					case "own":
						l.end(errLazy)
					case "parent":
						cancel(errLazy)
					case "both":
						l.end(errLazy)
						cancel(errors.New("later"))
						l.end(errors.New("once more"))
					}
					synctest.Wait()
					child, stop := context.WithTimeout(l, time.Hour)
					defer stop()
					for what, ctx := range map[string]context.Context{"itself": l, "child": child} {
						select {
						case <-ctx.Done():
						default:
							t.Errorf("%s: Done is open", what)
						}
						if d := cmp.Diff([]error{context.Canceled, errLazy}, []error{ctx.Err(), context.Cause(ctx)}, equalErrors); d != "" {
							t.Errorf("%s: error and cause (-want +got):\n%s", what, d)
						}
					}
					if l.Value(lazyKey{}) != 7 {
						t.Error("the value is gone")
					}
					l.end(nil) // frees what the parent keeps of it
				})
			})
		}
	}
}

var equalErrors = cmp.Comparer(errors.Is)

// Without anybody who waits, it costs one allocation, for itself.
//
//nolint:paralleltest // allocations are counted for the whole process
func TestLazy_CostsNothing(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := testing.AllocsPerRun(100, func() {
		l := &lazy{Context: parent}
		if l.Err() != nil || l.Value(lazyKey{}) != nil {
			t.Error("ended")
		}
		l.end(context.Canceled)
	})
	if n > 1 {
		t.Errorf("%v allocations, want one", n)
	}
}

// With a time of its own it is like any other context with a deadline, whenever it
// is looked at.
func TestLazy_EndsAtItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := func() *lazy {
			return &lazy{Context: context.WithValue(t.Context(), lazyKey{}, "v"), at: time.Now().Add(time.Second)}
		}
		ended := begin()
		child, cancel := context.WithCancel(ended)
		defer cancel()
		unasked, released, cut := begin(), begin(), begin()
		for _, l := range []*lazy{ended, unasked} {
			if at, ok := l.Deadline(); !ok || !at.Equal(time.Now().Add(time.Second)) || l.Value(lazyKey{}) != "v" {
				t.Errorf("deadline %v, %t, value %v", at, ok, l.Value(lazyKey{}))
			}
		}
		if released.end(context.Canceled); !errors.Is(released.Err(), context.Canceled) {
			t.Errorf("released before it was asked: %v", released.Err())
		}
		done := cut.Done()
		if cut.Err() != nil {
			t.Error("has ended at once")
		}
		cut.end(context.Canceled)
		if <-done; !errors.Is(context.Cause(cut), context.Canceled) {
			t.Errorf("released after it was asked: %v", context.Cause(cut))
		}
		<-child.Done()
		unasked.end(errLazy) // too late
		if !errors.Is(context.Cause(child), context.DeadlineExceeded) || !errors.Is(unasked.Err(), context.DeadlineExceeded) {
			t.Errorf("after the deadline: %v, and %v of one that nobody asked", context.Cause(child), unasked.Err())
		}
	})
}
