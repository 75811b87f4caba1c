package poller_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

const kmsDenied = "KMS.AccessDeniedException"

// PO-04: receives that fail do not spin, say why, not too often, and recover.
func TestErrors_PO04_ReceivesThatFail(t *testing.T) {
	t.Parallel()
	for range 20 { // waits have jitter
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, setup{})
			r.q.Send("first")
			r.run()
			r.after(time.Second)
			want(t, "left", r.q.Len(), 0)
			remove := r.srv.Inject(sqstest.Fault{Action: "ReceiveMessage", Err: sqstest.AccessDenied(), Times: always})
			r.after(20 * time.Second) // the poll that was in flight ends
			before := len(r.calls("ReceiveMessage"))
			r.after(10 * time.Second)
			during := len(r.calls("ReceiveMessage")) - before
			remove()
			r.srv.Inject(sqstest.Fault{Action: "ReceiveMessage", Err: sqstest.OverLimit()})
			if during < 1 || during > 10 {
				t.Errorf("%d calls in the 10 s", during)
			}
			r.q.Send("second")
			r.after(time.Minute)
			want(t, "left", r.q.Len(), 0)
			if n := len(r.logged("receiving fails", "AccessDenied", r.q.URL())); n != 1 {
				t.Errorf("%d lines name the cause:\n%s", n, r.log)
			}
			r.drained()
		})
	}
}

// Waits grow to half a minute, with one line a minute, for as long as it takes.
func TestErrors_WaitsGrowAndAreCapped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{})
		r.q.Send("first")
		r.run()
		r.after(time.Second)
		remove := r.srv.Inject(sqstest.Fault{Action: "ReceiveMessage", Err: sqstest.AccessDenied(), Times: always})
		r.after(time.Hour)
		at := r.calls("ReceiveMessage")[1:]
		for i := 2; i < len(at); i++ {
			gap, longest := at[i]-at[i-1], 30*time.Second
			if i < 7 {
				longest = time.Second << (i - 2)
			}
			if gap > longest || gap < longest/2 {
				t.Errorf("wait %d is %v, not between %v and %v", i-1, gap, longest/2, longest)
			}
		}
		if n := len(r.logged("receiving fails")); n < 30 || n > 60 {
			t.Errorf("%d lines in an hour", n)
		}
		want(t, "healthy", r.p.Healthy(), nil)
		remove()
		r.q.Send("second")
		r.after(30 * time.Second)
		want(t, "left", r.q.Len(), 0)
		r.drained()
	})
}

// With many receivers one goes on trying, and the others are there again later.
func TestErrors_OneReceiverIsLeftToTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var polls tower
		cfg := steady()
		cfg.Concurrency = 100
		r := newRig(t, setup{cfg: cfg, over: far(50*time.Millisecond, &polls), handler: ignores(10 * time.Millisecond)})
		r.q.Send(bodies(1500)...)
		r.run()
		r.after(500 * time.Millisecond)
		want(t, "polls at once", polls.most.Load() > 5, true)
		remove := r.srv.Inject(sqstest.Fault{Action: "ReceiveMessage", Err: sqstest.AccessDenied(), Times: always})
		r.after(200 * time.Millisecond)
		before := len(r.calls("ReceiveMessage"))
		r.after(10 * time.Second)
		if n := len(r.calls("ReceiveMessage")) - before; n > 10 {
			t.Errorf("%d calls in 10 s", n)
		}
		remove()
		r.after(time.Minute)
		want(t, "left", r.q.Len(), 0)
		r.drained()
	})
}

// QU-05: a key that may not be used is waited for, at the very start as well as
// later, and the log says which queue it is.
func TestErrors_QU05_KeyThatMayNotBeUsed(t *testing.T) {
	t.Parallel()
	for _, started := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, setup{})
			if started {
				r.q.Send("first")
				r.run()
				r.after(time.Second)
			}
			remove := r.srv.Inject(sqstest.Fault{
				Action: "ReceiveMessage", Times: always,
				Err: &sqstest.Error{Code: kmsDenied, Type: "KmsAccessDenied", Message: "no kms:Decrypt"},
			})
			if !started {
				r.run()
			}
			r.after(time.Minute)
			remove()
			want(t, "a line names cause and queue", len(r.logged("receiving fails", "no kms:Decrypt", r.q.URL())) >= 1, true)
			r.q.Send("second")
			r.after(time.Minute)
			want(t, "left", r.q.Len(), 0)
			r.drained()
		})
	}
}

// A connection that hangs is cut after half a minute, and receiving goes on.
func TestErrors_HungConnectionIsCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{})
		release := r.hang("ReceiveMessage")
		r.q.Send("a")
		r.run()
		r.after(29 * time.Second)
		want(t, "receives", len(r.calls("ReceiveMessage")), 1)
		release()
		r.after(3 * time.Second)
		want(t, "left", r.q.Len(), 0)
		want(t, "lines", len(r.logged("receiving fails", "deadline exceeded")), 1)
		r.drained()
	})
}

// What waiting does not mend is an error at once, as long as nothing was received.
func TestStart_FailsFast(t *testing.T) {
	t.Parallel()
	gone := &sqstest.Error{Code: "AWS.SimpleQueueService.NonExistentQueue", Type: "QueueDoesNotExist", Message: "no such queue"}
	for name, c := range map[string]struct {
		f    sqstest.Fault
		says string
	}{
		"no queue":       {sqstest.Fault{Action: "GetQueueAttributes", Err: gone}, "no such queue"},
		"may not look":   {sqstest.Fault{Action: "GetQueueAttributes", Err: sqstest.AccessDenied()}, "sqs:GetQueueAttributes"},
		"may not read":   {sqstest.Fault{Action: "ReceiveMessage", Err: sqstest.AccessDenied()}, "AccessDenied"},
		"deleted before": {sqstest.Fault{Action: "ReceiveMessage", Err: gone}, "no such queue"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, setup{})
				r.srv.Inject(c.f)
				r.run()
				err := <-r.done
				if err == nil || !contains(err.Error(), c.says) {
					t.Errorf("Run: %v", err)
				}
				want(t, "time", time.Since(r.began), 0)
				r.silent(time.Now())
			})
		})
	}
}

// The queue is there, and everything else may pass: Run waits.
func TestStart_WaitsForWhatMayPass(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]sqstest.Fault{
		"500": {Err: sqstest.InternalError()}, "throttled": {Err: sqstest.Throttled()}, "hung": {Delay: 100 * time.Hour},
		"key": {Err: &sqstest.Error{Code: kmsDenied, Type: "KmsAccessDenied", Message: "no kms:Decrypt"}},
	} {
		for _, action := range []string{"GetQueueAttributes", "ReceiveMessage"} {
			t.Run(name+" "+action, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := f
					f.Action, f.Times = action, always
					r := newRig(t, setup{})
					r.q.Send("a")
					remove := r.srv.Inject(f)
					r.run()
					for range 10 * 60 {
						r.after(time.Second)
						if err := r.p.Healthy(); err != nil {
							t.Fatalf("after %v: %v", time.Since(r.began), err)
						}
					}
					remove()
					r.after(time.Minute)
					want(t, "left", r.q.Len(), 0)
					if n := len(r.logged("level=WARN", r.q.URL())); n < 5 || n > 15 {
						t.Errorf("%d lines in ten minutes", n)
					}
					r.drained()
				})
			})
		}
	}
}

// A drain ends the wait at start as well.
func TestStart_EndsWhileItWaits(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"drain", "abort"} {
		for name, f := range map[string]sqstest.Fault{
			"wait": {Err: sqstest.OverLimit()}, // which the SDK does not try again
			"call": {Delay: time.Hour},
		} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, setup{})
				f.Action, f.Times = "GetQueueAttributes", always
				r.srv.Inject(f)
				r.run()
				r.after(400 * time.Millisecond) // less than the shortest wait
				if how == "abort" {
					r.p.Abort()
				} else {
					r.stop()
				}
				if err := <-r.done; err != nil {
					t.Errorf("%s during a %s: %v", how, name, err)
				}
				want(t, how+" during a "+name+": time", time.Since(r.began), 400*time.Millisecond)
				want(t, "receives", len(r.calls("ReceiveMessage")), 0)
				r.silent(time.Now())
			})
		}
	}
}

// PO-07: a second Run is an error, during the first and after it.
func TestRun_PO07_Once(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{})
		r.run()
		r.after(time.Second)
		if err := r.p.Run(t.Context()); !errors.Is(err, poller.ErrRan) {
			t.Errorf("beside the first: %v", err)
		}
		r.drained()
		over := time.Now()
		if err := r.p.Run(t.Context()); !errors.Is(err, poller.ErrRan) {
			t.Errorf("after the first: %v", err)
		}
		r.p.Abort()
		r.p.Abort()
		r.q.Send("a")
		r.silent(over)
		want(t, "left", r.q.Visible(), 1)
	})
}
