package dynamostore_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
	"github.com/ackwise/ackwise/retry"
)

// fenced are the writes that a held key sees.
var fenced = []struct {
	name string
	call func(context.Context, *dynamostore.Store) error
}{
	{"renew", func(ctx context.Context, s *dynamostore.Store) error {
		return s.Renew(ctx, key, "before", time.Now().Add(time.Hour), time.Now().Add(24*time.Hour))
	}},
	{"complete", func(ctx context.Context, s *dynamostore.Store) error {
		return s.Complete(ctx, key, "before", time.Now().Add(24*time.Hour))
	}},
	{"release", func(ctx context.Context, s *dynamostore.Store) error {
		return s.Release(ctx, key, "before", idempotency.Failure{Status: idempotency.Failed, Expires: time.Now().Add(24 * time.Hour)})
	}},
	{"claim", func(ctx context.Context, s *dynamostore.Store) error {
		_, err := s.Claim(ctx, request("a"))
		return err
	}},
}

// The SDK retries neither of these.
func TestConflictsAreRetried(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"TransactionConflictException", "ReplicatedWriteConflictException"} {
		for _, op := range fenced {
			t.Run(code+"/"+op.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, s := setup(t)
					f.put(itemOf(key, recorded(idempotency.InProgress)))
					f.plan(faults(5, fault{status: http.StatusBadRequest, code: code})...)
					if err := op.call(t.Context(), s); err != nil {
						t.Error(err)
					}
					wantOps(t, f, repeat("UpdateItem", 6)...)
				})
			})
		}
	}
}

func TestConflictsWithoutEnd(t *testing.T) {
	t.Parallel()
	for _, op := range fenced {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, s := setup(t)
				f.put(itemOf(key, recorded(idempotency.InProgress)))
				defer f.breakAll(conflict)()
				began := time.Now()
				err := op.call(t.Context(), s)
				if _, ok := errors.AsType[*types.TransactionConflictException](err); !ok {
					t.Errorf("got %v, want the conflict", err)
				}
				took := time.Since(began)
				if op.name == "complete" || op.name == "release" { // they insist
					if took > dynamostore.DefaultTimeout || took < dynamostore.DefaultTimeout-time.Second {
						t.Errorf("took %v, want all of the %v that there are", took, dynamostore.DefaultTimeout)
					}
					return
				}
				if took > 2*time.Second {
					t.Errorf("took %v, want an end within 2s", took)
				}
				wantOps(t, f, repeat("UpdateItem", 6)...)
			})
		})
	}
}

func TestConflictsEndWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := setup(t)
		defer f.breakAll(conflict)()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		if err := s.Complete(ctx, key, "a", time.Now()); err == nil {
			t.Error("no error")
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("took %v, want at most the 100ms that there were", took)
		}
	})
}

// To a consumer, retry.Permanent on an error is a verdict on the message. The
// store's own use of package retry must not be one.
func TestErrorsAreNoVerdict(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"AccessDeniedException", "ValidationException", "TransactionConflictException"} {
		for _, op := range fenced {
			t.Run(code+"/"+op.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, s := setup(t)
					defer f.breakAll(fault{status: http.StatusBadRequest, code: code})()
					err := op.call(t.Context(), s)
					if err == nil || retry.IsPermanent(err) {
						t.Errorf("got %v, permanent: %t; want an error that is not", err, retry.IsPermanent(err))
					}
					if _, asks := retry.Delay(err); asks {
						t.Errorf("%v asks for a delay", err)
					}
				})
			})
		}
	}
}

// Without it a connection that hangs would hold a caller that has no deadline.
func TestTimeout(t *testing.T) {
	t.Parallel()
	all := slices.Concat(fenced, []struct {
		name string
		call func(context.Context, *dynamostore.Store) error
	}{
		{"check", func(ctx context.Context, s *dynamostore.Store) error { return s.Check(ctx) }},
		{"transact", func(ctx context.Context, s *dynamostore.Store) error { return s.Transact(ctx, order("o1")) }},
	})
	for _, op := range all {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				s := newStore(t, f.client(), dynamostore.Config{Timeout: 2 * time.Second})
				ctx, _ := claimed(t, s)
				f.plan(hung)
				began := time.Now()
				if err := op.call(ctx, s); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want the deadline", err)
				}
				if took := time.Since(began); took != 2*time.Second {
					t.Errorf("took %v, want Config.Timeout", took)
				}
			})
		})
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ code, want string }{
		{"AccessDeniedException", `grant dynamodb:UpdateItem on table "records"`},
		{"ResourceNotFoundException", `table "records" was not found`},
		{"InternalServerError", "dynamostore: "},
		{"ValidationException", "Store.Check says how"},
	} {
		for _, op := range fenced {
			t.Run(tc.code+"/"+op.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, s := setup(t)
					answer := failure(tc.code, "The provided key element does not match the schema", nil)
					defer f.breakAll(fault{status: answer.status, body: answer.body})()
					err := op.call(t.Context(), s)
					if err == nil || !strings.Contains(err.Error(), op.name+": ") || !strings.Contains(err.Error(), tc.want) {
						t.Errorf("got %v, want %s and %q", err, op.name, tc.want)
					}
				})
			})
		}
	}
}
