package consumer_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// slowly is an extension that takes d.
func slowly(d time.Duration) func(context.Context, []*consumer.Delivery, time.Duration) []error {
	return func(context.Context, []*consumer.Delivery, time.Duration) []error { time.Sleep(d); return nil }
}

// A late extension would undo the backoff of a failure: it is waited for.
func TestSettle_AFailureWaitsForTheExtensionUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		src.extend = slowly(3 * time.Second) // from 10 s to 13 s
		h := script{"a": func(context.Context) error { time.Sleep(11 * time.Second); return errTest }}
		k := newKept(t, src, steady(1), h, consumer.SessionOptions{})
		k.submit(k.fresh("a")...)
		k.after(time.Hour)
		wantOutcomes(t, k.close(), "a=retry+10s")
		want(t, "settled at", src.told()[0].At, 13*time.Second)
		k.wantExtensions("10s a#1 +30s")
	})
}

// An extension that hangs is not waited for longer than it may take: a beat, or
// five seconds.
func TestSettle_AnExtensionThatHangsIsBounded(t *testing.T) {
	t.Parallel()
	for beat, first := range map[time.Duration]time.Duration{10 * time.Second: 10 * time.Second, 2 * time.Second: 14 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			src := newSource(t)
			src.extend = hangs
			h := script{"a": func(context.Context) error { time.Sleep(first + time.Second); return errTest }}
			k := newKept(t, src, steady(1), h, consumer.SessionOptions{Beat: beat})
			k.submit(k.fresh("a")...)
			k.after(time.Hour)
			wantOutcomes(t, k.close(), "a=retry+10s")
			want(t, "settled at", src.told()[0].At, first+5*time.Second)
		})
	}
}

func TestSettle_AnAcknowledgementDoesNotWaitForTheExtensionUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t)
		src.extend = slowly(3 * time.Second)
		k := newKept(t, src, steady(1), script{"a": sleeps(11 * time.Second)}, consumer.SessionOptions{})
		k.submit(k.fresh("a")...)
		k.after(time.Hour)
		wantOutcomes(t, k.close(), "a=done")
		want(t, "settled at", src.told()[0].At, 11*time.Second)
	})
}

// The whole group waits: those behind the failed head are hidden by the same call.
func TestSettle_AFailedHeadWaitsForTheExtensionsOfItsGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newFIFO(t)
		src.extend = slowly(3 * time.Second)
		h := script{
			"a1": func(context.Context) error { time.Sleep(11 * time.Second); return errTest },
			"b1": sleeps(12 * time.Second),
		}
		k := newKept(t, src, steady(1), h, consumer.SessionOptions{})
		k.submit(k.fresh("a1", "b1", "a2", "a3", "b2")...)
		k.after(time.Hour)
		outs := k.close()
		wantOutcomes(t, outs, "b1=done", "b2=done", "a1=retry+10s", "a2=deferred+12s", "a3=deferred+12s")
		for _, o := range src.told()[2:] {
			want(t, "settled at", o.At, 13*time.Second)
			want(t, "call", o.Call, src.told()[2].Call)
		}
		k.wantExtensions("10s a1#1 a2#1 a3#1 b1#1 b2#1 +30s")
	})
}

// Once a message is being given back nothing extends it, however long that takes.
func TestSettle_WhatIsGivenBackIsNotExtended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newFIFO(t)
		src.extend = slowly(11 * time.Second) // from 10 s to 21 s
		h := script{"a1": func(context.Context) error { time.Sleep(19 * time.Second); return errTest }}
		k := newKept(t, src, steady(1), h, consumer.SessionOptions{})
		k.submit(k.fresh("a1")...)
		k.after(6 * time.Second)
		k.submit(k.fresh("a2")...) // would be due at 20 s
		k.after(time.Hour)
		k.wantExtensions("10s a1#1 +30s")
		wantOutcomes(t, k.close(), "a1=retry+10s", "a2=deferred+12s")
		want(t, "settled at", src.told()[1].At, 21*time.Second)
	})
}

// A message that was deleted while its extension was under way is no reason to warn.
func TestSettle_ExtensionOfWhatWasJustDeletedIsNoWarning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		src, cfg := newSource(t), steady(1)
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		src.extend = refuses(errGone)
		src.ack = func(context.Context, consumer.Outcome) error { time.Sleep(2 * time.Second); return nil }
		k := newKept(t, src, cfg, script{"a": sleeps(9 * time.Second)}, consumer.SessionOptions{})
		k.submit(k.fresh("a")...)
		k.after(time.Hour)
		wantOutcomes(t, k.close(), "a=done")
		k.wantExtensions("10s a#1 +30s")
		want(t, "log", log.String(), "")
	})
}

// A message that lapsed, as far as SQS is concerned, and came again joins the one
// that runs. The newest receipt is what is extended, and deleted.
func TestJoin_NewestReceiptIsExtendedAndSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		k := newKept(t, newSource(t), journaled(steady(1), j), script{"a": sleeps(39 * time.Second)}, consumer.SessionOptions{})
		k.submit(k.fresh("a")...)
		k.after(14 * time.Second)
		k.submit(k.again("a", 2))
		k.after(time.Hour)
		k.wantExtensions("10s a#1 +30s", "20s a#2 +30s", "30s a#2 +30s")
		want(t, "starts", j.starts(), []string{"a@0s"})
		k.close()
		want(t, "receipts", k.src.receipts(), []string{"a#2"})
	})
}

// What SQS says of the older receipt is nothing that matters any more.
func TestJoin_AnExtensionByAnOlderReceiptIsIgnored(t *testing.T) {
	t.Parallel()
	for _, answer := range []error{nil, errTest, errGone} {
		synctest.Test(t, func(t *testing.T) {
			var at time.Duration
			var cause error
			src, calls := newSource(t), 0
			src.extend = func(ctx context.Context, ds []*consumer.Delivery, d time.Duration) []error {
				switch calls++; calls {
				case 1:
					return nil
				case 2:
					time.Sleep(3 * time.Second)
					return []error{answer}
				default:
					return refuses(errTest)(ctx, ds, d)
				}
			}
			k := newKept(t, src, steady(1), script{"a": lostAt(&at, &cause)}, consumer.SessionOptions{})
			k.submit(k.fresh("a")...)
			k.after(21 * time.Second)
			k.submit(k.again("a", 2)) // while the second extension is under way
			k.after(time.Hour)
			want(t, "end of the handler's context", at, 51*time.Second) // what the newer receipt has
			k.close()
		})
	}
}

// What had lapsed while it waited is ours again when it comes again.
func TestJoin_GivesWhatWaitedAndLapsedItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, cfg, j := newSource(t), steady(1), newJournal()
		cfg.Concurrency = 1
		src.extend = func(_ context.Context, ds []*consumer.Delivery, _ time.Duration) []error {
			errs := make([]error, len(ds))
			for i, d := range ds {
				if d.Receipt == "b#1" {
					errs[i] = errTest
				}
			}
			return errs
		}
		k := newKept(t, src, journaled(cfg, j), script{"a": sleeps(40 * time.Second), "b": second}, consumer.SessionOptions{})
		k.submit(k.fresh("a", "b")...)
		k.after(32 * time.Second)
		k.submit(k.again("b", 2))
		k.after(time.Hour)
		want(t, "starts", j.starts(), []string{"a@0s", "b@40s"})
		wantOutcomes(t, k.close(), "a=done", "b=done")
		want(t, "receipts", slices.Sorted(slices.Values(src.receipts())), []string{"a#1", "b#2"})
	})
}

// What hangs is not kept for ever by being received again and again where it runs.
func TestJoin_MaxHoldCountsFromTheFirstReceive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at time.Duration
		var cause error
		src := newSource(t)
		src.extend = refuses(errTest)
		k := newKept(t, src, steady(1), script{"a": lostAt(&at, &cause)}, consumer.SessionOptions{MaxHold: 40 * time.Second})
		k.submit(k.fresh("a")...)
		k.after(29 * time.Second)
		k.submit(k.again("a", 2))
		k.after(time.Hour)
		want(t, "end of the handler's context", at, 40*time.Second)
		wantErr(t, cause, consumer.ErrLeaseLost)
		k.close()
		want(t, "receipts", src.receipts(), []string{"a#2"})
	})
}
