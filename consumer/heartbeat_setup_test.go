package consumer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// kept is a session that keeps its messages by a heartbeat: a visibility of 30 s
// and a beat of 10 s unless it is told otherwise.
type kept struct {
	*consumer.Session

	t   *testing.T
	src *source
	c   *consumer.Consumer
}

func newKept(t *testing.T, src *source, cfg consumer.Config, h consumer.Handler, o consumer.SessionOptions) *kept {
	t.Helper()
	if src.queue.Visibility == 0 {
		src.queue.Visibility = 30 * time.Second
	}
	if src.extend == nil {
		src.extend = accepts
	}
	if o.Beat == 0 {
		o.Beat = 10 * time.Second
	}
	k := &kept{t: t, src: src, c: newConsumer(t, cfg, h)}
	k.Session = k.c.Open(src, o)
	return k
}

// accepts is an extension that is accepted.
func accepts(context.Context, []*consumer.Delivery, time.Duration) []error { return nil }

// refuses returns an extension that is refused with err.
func refuses(err error) func(context.Context, []*consumer.Delivery, time.Duration) []error {
	return func(_ context.Context, ds []*consumer.Delivery, _ time.Duration) []error {
		errs := make([]error, len(ds))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
}

// hangs is an extension that ends with its context.
func hangs(ctx context.Context, ds []*consumer.Delivery, d time.Duration) []error {
	<-ctx.Done()
	return refuses(context.Cause(ctx))(ctx, ds, d)
}

// fresh makes deliveries that have just been received, for the first time.
func (k *kept) fresh(ids ...string) []*consumer.Delivery {
	ds := deliveries(ids...)
	for _, d := range ds {
		d.VisibleUntil = time.Now().Add(k.src.queue.Visibility)
	}
	return ds
}

// again makes the nth delivery of a message, which has just been received.
func (k *kept) again(id string, n int) *consumer.Delivery {
	d := delivery(id, n)
	d.VisibleUntil = time.Now().Add(k.src.queue.Visibility)
	return d
}

func (k *kept) submit(ds ...*consumer.Delivery) {
	k.t.Helper()
	if err := k.Submit(k.t.Context(), ds...); err != nil {
		k.t.Error(err)
	}
}

// after waits for d, and until nothing is going on at that moment.
func (k *kept) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// close closes the session, waits for what was abandoned, and returns what the
// source was told.
func (k *kept) close() []consumer.Outcome {
	k.t.Helper()
	if err := k.Close(timeout(k.t, time.Hour)); err != nil {
		k.t.Error(err)
	}
	time.Sleep(24 * time.Hour)
	return k.told()
}

func (k *kept) told() (outs []consumer.Outcome) {
	for _, o := range k.src.told() {
		outs = append(outs, o.Outcome)
	}
	return outs
}

// wantExtensions compares what the source was asked to extend.
func (k *kept) wantExtensions(wanted ...string) {
	k.t.Helper()
	want(k.t, "extensions", k.src.extensions(), wanted)
}

// lostAt returns a handler that notes when, and why, its context has ended.
func lostAt(at *time.Duration, cause *error) func(context.Context) error {
	began := time.Now()
	return func(ctx context.Context) error {
		<-ctx.Done()
		*at, *cause = time.Since(began), context.Cause(ctx)
		return *cause
	}
}
