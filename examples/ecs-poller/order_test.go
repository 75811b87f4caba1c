package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/retry"
)

func TestBook(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		order     Order
		permanent bool
		err       string
		takes     time.Duration
	}{
		"good":     {Order{ID: "A-1", Amount: 1250, WorkMS: 1500}, false, "", 1500 * time.Millisecond},
		"no id":    {Order{Amount: 1250}, true, "no id", 0},
		"negative": {Order{ID: "A-2", Amount: -1}, true, "-1 cents", 0},
		"endless":  {Order{ID: "A-3", Amount: 1, WorkMS: 600_001}, true, "work_ms of 600001", 0},
		"backward": {Order{ID: "A-4", Amount: 1, WorkMS: -1}, true, "work_ms of -1", 0},
		"fails":    {Order{ID: "A-5", Amount: 1, Fails: 2}, false, errBank.Error(), 0},
		"recovers": {Order{ID: "A-6", Amount: 1, Fails: 1}, false, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				start := time.Now()
				err := desk{slog.New(slog.NewJSONHandler(&log, nil))}.book(t.Context(), tt.order, &consumer.Message{ID: "m", ReceiveCount: 2})
				switch {
				case (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err):
					t.Errorf("error %v, want %q", err, tt.err)
				case retry.IsPermanent(err) != tt.permanent:
					t.Errorf("permanent: %t", !tt.permanent)
				case time.Since(start) != tt.takes:
					t.Errorf("it took %v, want %v", time.Since(start), tt.takes)
				}
				if said := strings.Contains(log.String(), `"msg":"order booked","order":"`+tt.order.ID+`"`); said != (err == nil) {
					t.Errorf("log %q", &log)
				}
			})
		})
	}
}

// Work ends with its context, and says why.
func TestBook_Cancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(consumer.ErrDraining) })
		start := time.Now()
		err := desk{slog.New(slog.DiscardHandler)}.book(ctx, Order{ID: "A-1", Amount: 1, WorkMS: 600_000}, &consumer.Message{})
		if !errors.Is(err, consumer.ErrDraining) || time.Since(start) != time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}
