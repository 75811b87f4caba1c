package envelope_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/envelope"
	"github.com/ackwise/ackwise/retry"
)

var errSick = errors.New("sick")

// byKey is a function for records that answers with what stands for the key, one
// error for each call, nil when they are used up.
func byKey(calls *[]string, errs map[string][]error) func(context.Context, envelope.S3Record, *consumer.Message) error {
	return func(_ context.Context, r envelope.S3Record, _ *consumer.Message) error {
		*calls = append(*calls, r.Key)
		if len(errs[r.Key]) == 0 {
			return nil
		}
		err := errs[r.Key][0]
		errs[r.Key] = errs[r.Key][1:]
		return err
	}
}

func TestS3_SeveralRecords(t *testing.T) {
	t.Parallel()
	sick, bad := errSick, retry.Permanent(errors.New("bad"))
	for _, tt := range []struct {
		name    string
		errs    map[string][]error
		calls   string
		outcome string
	}{
		{"all succeed", nil, "[a b c]", "m-1 done, 1 tries"},
		{"one fails once", map[string][]error{"a": {sick}}, "[a b c a b c]", "m-1 done, 2 tries"},
		{"one fails for good", map[string][]error{"b": {bad, bad, bad}}, "[a b c]", "m-1 rejected, 1 tries"},
		{"every failure is for good", map[string][]error{"b": {bad}, "c": {bad}}, "[a b c]", "m-1 rejected, 1 tries"},
		{"one may recover", map[string][]error{"a": {bad, bad, bad}, "b": {sick}}, "[a b c a b c]", "m-1 rejected, 2 tries"},
		{"one does not recover", map[string][]error{"a": {bad, bad, bad}, "c": {sick, sick, sick}}, "[a b c a b c a b c]", "m-1 retry, 3 tries"},
		{"one asks for time", map[string][]error{"a": {bad}, "b": {sick}, "c": {retry.After(time.Hour, sick)}}, "[a b c]", "m-1 retry, 1 tries"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var calls []string
				outcomes, _ := invoke(t, envelope.S3(byKey(&calls, tt.errs)), steady(), s3Event("a", "b", "c").String())
				want(t, "calls", fmt.Sprint(calls), tt.calls)
				want(t, "outcomes", outcomes, []string{tt.outcome})
			})
		})
	}
}

func TestS3_ErrorOfSeveralRecords(t *testing.T) {
	t.Parallel()
	var calls []string
	declined := errors.New("declined")
	errs := map[string][]error{"a": {retry.Permanent(declined)}, "c": {retry.After(time.Minute, errSick)}}
	err := envelope.S3(byKey(&calls, errs)).Handle(t.Context(), message(s3Event("a", "b", "c")))
	if err == nil || err.Error() != "record 1 of 3: declined; record 3 of 3: sick" {
		t.Fatalf("error is %v", err)
	}
	if d, ok := retry.Delay(err); !ok || d != time.Minute || retry.IsPermanent(err) || !errors.Is(err, errSick) {
		t.Errorf("delay %v, permanent %t: %v", d, retry.IsPermanent(err), err)
	}

	// The error of a single one is passed on as it is.
	errs["a"] = []error{declined}
	if err := envelope.S3(byKey(&calls, errs)).Handle(t.Context(), message(s3Event("a"))); err != declined { //nolint:errorlint // the very value
		t.Errorf("error is %v", err)
	}
}

// No record is begun when the context has ended; the one that was running counts
// by what it returns, and the message is not done.
func TestS3_ContextEndsBetweenRecords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		end   string
		calls string
		text  string
	}{
		{"a", "[a]", "record 1 of 3: bad; record 2 of 3 was not begun: shut down"},
		{"b", "[a b]", "record 1 of 3: bad; record 3 of 3 was not begun: shut down"},
		{"c", "[a b c]", "record 1 of 3: bad"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		var calls []string
		fn := func(_ context.Context, r envelope.S3Record, _ *consumer.Message) error {
			calls = append(calls, r.Key)
			if r.Key == tt.end {
				cancel(errors.New("shut down"))
			}
			if r.Key == "a" {
				return retry.Permanent(errors.New("bad"))
			}
			return nil
		}
		err := envelope.S3(fn).Handle(ctx, message(s3Event("a", "b", "c")))
		want(t, "calls", fmt.Sprint(calls), tt.calls)
		if err == nil || err.Error() != tt.text || retry.IsPermanent(err) != (tt.end == "c") {
			t.Errorf("ended in %s: permanent %t, %v", tt.end, retry.IsPermanent(err), err)
		}
	}
}
