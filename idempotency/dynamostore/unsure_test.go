package dynamostore_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

var (
	lost      = fault{lose: true}
	hung      = fault{hang: true}
	noDial    = fault{dial: true}
	late500   = fault{status: http.StatusInternalServerError, code: "InternalServerError", late: true}
	throttled = fault{status: http.StatusBadRequest, code: "ProvisionedThroughputExceededException"}
	conflict  = fault{status: http.StatusBadRequest, code: "TransactionConflictException"}
)

func faults(n int, ft fault) []fault {
	all := make([]fault, n)
	for i := range all {
		all[i] = ft
	}
	return all
}

// A claim that failed gives back what it may have taken, and only then: the key
// is free at once, and the attempt is not counted.
func TestUnsureClaimIsUndone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		faults []fault // one for each attempt of the SDK, of which there are four
		undone bool
	}{
		{"every answer lost", faults(4, lost), true},
		{"every answer a 500", faults(4, late500), true},
		{"an answer lost, then throttled", append(faults(1, lost), faults(3, throttled)...), true},
		{"an answer lost, then refused permission", append(faults(1, lost), fault{status: http.StatusBadRequest, code: "AccessDeniedException"}), true},
		{"an answer lost, then a conflict", append(faults(1, lost), faults(6, conflict)...), true},
		{"an answer that breaks off", faults(1, fault{status: http.StatusOK, body: `{"Attributes":`, late: true}), true},
		{"throttled", faults(4, throttled), false},
		{"no such host", faults(1, fault{noHost: true}), false},
		{"no connection", faults(4, noDial), false},
		{"conflicts", faults(6, conflict), false},
		{"refused permission", faults(1, fault{status: http.StatusBadRequest, code: "AccessDeniedException"}), false},
		{"no such table", faults(1, fault{status: http.StatusBadRequest, code: "ResourceNotFoundException"}), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, s := setup(t)
				f.put(itemOf(key, recorded(idempotency.Failed)))
				f.plan(tc.faults...)
				_, err := s.Claim(t.Context(), request("a"))
				if err == nil {
					t.Fatal("the claim succeeded")
				}
				calls := len(tc.faults)
				if tc.undone {
					calls++
				}
				wantOps(t, f, repeat("UpdateItem", calls)...)
				rec := recordIn(f)
				if rec.Status != idempotency.Failed || rec.Attempts != 1 || rec.Err != "it broke" || !rec.Lease.IsZero() {
					t.Errorf("left behind: %+v; want it failed, 1 attempt, the same error", rec)
				}
			})
		})
	}
}

func TestUnsureFirstClaimIsUndone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := setup(t)
		f.plan(faults(4, lost)...)
		if _, err := s.Claim(t.Context(), request("a")); err == nil {
			t.Fatal("the claim succeeded")
		}
		rec, err := s.Claim(t.Context(), request("b"))
		if err != nil || rec.Attempts != 1 {
			t.Errorf("the next claim: %+v, %v; want attempt 1", rec, err)
		}
	})
}

// The second write of a claim is as unsure as the first.
func TestUnsureReplacementIsUndone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := setup(t)
		f.put(itemOf(key, recorded(idempotency.Rejected)))
		f.plan(append(faults(1, fault{}), faults(4, lost)...)...)
		r := request("a")
		r.Life++
		if _, err := s.Claim(t.Context(), r); err == nil {
			t.Fatal("the claim succeeded")
		}
		wantOps(t, f, repeat("UpdateItem", 6)...)
		if rec := recordIn(f); rec.Status != idempotency.Failed || rec.Life != life+1 || rec.Attempts != 0 {
			t.Errorf("left behind: %+v; want the new life, no attempt", rec)
		}
	})
}

// A lost answer followed by a refusal is no doubt: the record says whose it is.
func TestLostAnswerIsRecognised(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := setup(t)
		f.plan(late500, lost, lost)
		rec, err := s.Claim(t.Context(), request("a"))
		if err != nil || rec.Attempts != 1 || rec.Owner != "a" {
			t.Errorf("got %+v, %v; want the claim, attempt 1", rec, err)
		}
		wantOps(t, f, repeat("UpdateItem", 4)...)
	})
}

// The context of the claim has ended, as it has at a deadline: the key is given
// back on another, which ends too, and soon: a caller at its deadline has to
// answer.
func TestHungClaim(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		timeout time.Duration // of the context
		faults  []fault
		took    time.Duration
	}{
		{"the answer hangs", 2 * time.Second, []fault{hung}, 2 * time.Second},
		{"everything hangs", 2 * time.Second, []fault{hung, hung}, 2500 * time.Millisecond},
		{"little time and everything hangs", 200 * time.Millisecond, []fault{hung, hung}, 300 * time.Millisecond},
		{"no deadline", time.Hour, []fault{hung}, dynamostore.DefaultTimeout},
		{"no deadline and everything hangs", time.Hour, []fault{hung, hung}, dynamostore.DefaultTimeout + time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, s := setup(t)
				f.plan(tc.faults...)
				ctx, cancel := context.WithTimeout(t.Context(), tc.timeout)
				defer cancel()
				began := time.Now()
				_, err := s.Claim(ctx, request("a"))
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want the end of the context", err)
				}
				if took := time.Since(began); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
				wantOps(t, f, "UpdateItem", "UpdateItem")
			})
		})
	}
}

// The claim lands although its context ends before the answer.
func TestClaimThatLandsAsItsContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := setup(t)
		ctx, cancel := context.WithCancel(t.Context())
		f.plan(fault{then: cancel, lose: true})
		if _, err := s.Claim(ctx, request("a")); err == nil {
			t.Fatal("the claim succeeded")
		}
		if rec := recordIn(f); rec.Status != idempotency.Failed || rec.Attempts != 0 {
			t.Errorf("left behind: %+v; want it given back", rec)
		}
	})
}

// The claim lands when all is over: it holds the key until its lease ends, and
// no longer.
func TestClaimThatLandsTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := setup(t)
		f.plan(hung)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := request("a")
		if _, err := s.Claim(ctx, r); err == nil {
			t.Fatal("the claim succeeded")
		}
		if answer := f.serve(f.calls[0].op, []byte(f.calls[0].body)); answer.status != http.StatusOK {
			t.Fatalf("it did not land: %s", answer.body)
		}
		held, err := s.Claim(t.Context(), request("b"))
		if !errors.Is(err, idempotency.ErrHeld) {
			t.Errorf("got %+v, %v; want ErrHeld", held, err)
		}
		time.Sleep(time.Until(r.Lease) + idempotency.MaxSkew + time.Millisecond)
		if next, err := s.Claim(t.Context(), request("b")); err != nil || next.Attempts != 2 {
			t.Errorf("after the lease: %+v, %v; want attempt 2", next, err)
		}
	})
}

// An owner that took over meanwhile is not disturbed.
func TestUndoIsFenced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, s := setup(t)
		next := recorded(idempotency.InProgress)
		next.Lease = time.Now().Add(time.Hour)
		f.plan(append(faults(3, lost), fault{lose: true, then: func() { f.put(itemOf(key, next)) }})...)
		if _, err := s.Claim(t.Context(), request("a")); err == nil {
			t.Fatal("the claim succeeded")
		}
		if got := recordIn(f); got.Owner != next.Owner || got.Status != idempotency.InProgress {
			t.Errorf("the record is %+v, want that of the next owner", got)
		}
	})
}

// ID-06: throttled throughout, an operation takes seconds, and no more than its
// context has.
func TestThrottled(t *testing.T) {
	t.Parallel()
	for _, timeout := range []time.Duration{time.Hour, time.Second} {
		t.Run(timeout.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, s := setup(t)
				defer f.breakAll(throttled)()
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				began := time.Now()
				_, err := s.Claim(ctx, request("a"))
				if err == nil || !strings.Contains(err.Error(), "claim") {
					t.Errorf("got %v, want an error that says claim", err)
				}
				if took, limit := time.Since(began), min(timeout, dynamostore.DefaultTimeout); took > limit {
					t.Errorf("took %v, want at most %v", took, limit)
				}
				if n := len(f.ops()); n < 1 || n > 4 {
					t.Errorf("%d calls, want the SDK's four at most", n)
				}
			})
		})
	}
}

// Without credentials nothing is sent, so there is nothing to undo.
func TestNoCredentials(t *testing.T) {
	t.Parallel()
	f := newFake()
	s := newStore(t, f.client(func(o *dynamodb.Options) {
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{}, errors.New("no credentials")
		})
	}), dynamostore.Config{})
	if _, err := s.Claim(t.Context(), request("a")); err == nil || !strings.Contains(err.Error(), "no credentials") {
		t.Errorf("got %v, want what the provider said", err)
	}
	wantOps(t, f, []string{}...)
}

// Nor is anything sent when the context ends before the first byte, as while
// credentials are fetched.
func TestContextEndsBeforeSending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		ctx, cancel := context.WithCancel(t.Context())
		s := newStore(t, f.client(func(o *dynamodb.Options) {
			o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				cancel()
				return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
			})
		}), dynamostore.Config{})
		f.plan(hung) // as a client does that is given an ended context
		if _, err := s.Claim(ctx, request("a")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
		wantOps(t, f, "UpdateItem")
	})
}
