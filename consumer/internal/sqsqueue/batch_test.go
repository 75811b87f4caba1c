package sqsqueue_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// ten is a queue with ten messages in flight.
func ten(t *testing.T) (*sqstest.Server, *sqstest.Queue, []sqsqueue.Visibility) {
	t.Helper()
	s := sqstest.NewServer(sqstest.Config{})
	t.Cleanup(s.Close)
	q, err := s.CreateQueue("orders", sqstest.QueueConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		q.Send(fmt.Sprint(i))
	}
	url := q.URL()
	out, err := s.Client().ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10})
	if err != nil || len(out.Messages) != 10 {
		t.Fatalf("%d messages, %v", len(out.Messages), err)
	}
	s.ResetCalls()
	var changes []sqsqueue.Visibility
	for i, m := range out.Messages {
		changes = append(changes, sqsqueue.Visibility{Receipt: *m.ReceiptHandle, For: time.Duration(i) * time.Minute})
	}
	return s, q, changes
}

const action = "ChangeMessageVisibilityBatch"

func TestChangeVisibility_EntryByEntry(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault  sqstest.Fault
		calls  int
		failed map[int]string // code by position
	}{
		"all well": {sqstest.Fault{Times: 1}, 1, nil},
		"sender's fault": {sqstest.Fault{
			Times: -1, Entries: []sqstest.EntryFault{{Index: 2, Code: "InvalidX", SenderFault: true}},
		}, 1, map[int]string{2: "InvalidX"}},
		"no text":            {sqstest.Fault{Times: -1, Entries: []sqstest.EntryFault{{Index: 9, SenderFault: true}}}, 1, map[int]string{9: "InternalError"}},
		"passes":             {sqstest.Fault{Times: 1, Entries: []sqstest.EntryFault{{Index: 0}, {Index: 5}}}, 2, nil},
		"passes late":        {sqstest.Fault{Times: 2, Entries: []sqstest.EntryFault{{Index: 0}}}, 3, nil},
		"does not pass":      {sqstest.Fault{Times: -1, Entries: []sqstest.EntryFault{{Index: 0}}}, 3, map[int]string{0: "InternalError"}},
		"all, and passes":    {sqstest.Fault{Times: 1, Entries: []sqstest.EntryFault{{Index: sqstest.AllEntries}}}, 2, nil},
		"KMS throttles":      {sqstest.Fault{Times: 2, Err: sqstest.KMSThrottled()}, 3, nil},
		"too much in flight": {sqstest.Fault{Times: 2, Err: sqstest.OverLimit()}, 3, nil},
		"throttled":          {sqstest.Fault{Times: 2, Err: sqstest.Throttled()}, 3, nil}, // by the SDK's own retries
		"response lost":      {sqstest.Fault{Times: 1, LoseResponse: true}, 2, nil},       // likewise
		"denied":             {sqstest.Fault{Times: -1, Err: sqstest.AccessDenied()}, 1, everyEntry("AccessDenied")},
		"KMS throttles on":   {sqstest.Fault{Times: -1, Err: sqstest.KMSThrottled()}, 3, everyEntry("KMS.ThrottlingException")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, q, changes := ten(t)
				tt.fault.Action = action
				s.Inject(tt.fault)
				errs := sqsqueue.New(s.Client(), q.URL(), "").ChangeVisibility(t.Context(), changes)
				if got := s.Calls()[action]; got != tt.calls {
					t.Errorf("%d calls, want %d", got, tt.calls)
				}
				checkEntries(t, q, errs, tt.failed)
			})
		})
	}
}

// checkEntries compares the errors with the codes that are wanted by position,
// and what the queue holds with what succeeded.
func checkEntries(t *testing.T, q *sqstest.Queue, errs []error, wanted map[int]string) {
	t.Helper()
	failed := map[int]string{}
	for i, err := range errs {
		if err == nil {
			continue
		}
		failed[i] = "?"
		if api, ok := errors.AsType[interface {
			error
			ErrorCode() string
		}](err); ok {
			failed[i] = api.ErrorCode()
		}
	}
	if diff := cmp.Diff(wanted, failed); diff != "" && len(wanted)+len(failed) > 0 {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
	if len(wanted) == 0 && errs != nil {
		t.Errorf("errors although all went well: %v", errs)
	}
	for i, m := range q.Messages() {
		asked := time.Duration(i) * time.Minute
		if hidden := max(time.Until(m.VisibleAt), 0); wanted[i] == "" && (hidden > asked || hidden < asked-10*time.Second) {
			t.Errorf("message %d is hidden for %v, want %v", i, hidden, asked)
		}
	}
}

func everyEntry(code string) map[int]string {
	all := make(map[int]string)
	for i := range 10 {
		all[i] = code
	}
	return all
}

func TestChangeVisibility_EndedContextIsAnErrorForEachEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, q, changes := ten(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		errs := sqsqueue.New(s.Client(), q.URL(), "").ChangeVisibility(ctx, changes)
		if len(errs) != 10 || s.Calls().Total() != 0 {
			t.Fatalf("%d errors, %d calls", len(errs), s.Calls().Total())
		}
		for i, err := range errs {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("entry %d: %v", i, err)
			}
		}
	})
}

func TestChangeVisibility_ReturnsWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, q, changes := ten(t)
		s.Inject(sqstest.Fault{Times: -1, Delay: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		begin := time.Now()
		errs := sqsqueue.New(s.Client(), q.URL(), "").ChangeVisibility(ctx, changes)
		if len(errs) != 10 || errs[0] == nil || errs[9] == nil || time.Since(begin) != 2*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), errs)
		}
	})
}

// A connection that hangs is given up after five seconds; it is not known to be
// worth another try.
func TestChangeVisibility_OneCallHasFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, q, changes := ten(t)
		s.Inject(sqstest.Fault{Times: -1, Delay: time.Hour})
		begin := time.Now()
		errs := sqsqueue.New(s.Client(), q.URL(), "").ChangeVisibility(t.Context(), changes)
		if len(errs) != 10 || errs[0] == nil || time.Since(begin) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), errs)
		}
	})
}

func TestChangeVisibility_Nothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, q, _ := ten(t)
		if errs := sqsqueue.New(s.Client(), q.URL(), "").ChangeVisibility(t.Context(), nil); errs != nil {
			t.Errorf("errors: %v", errs)
		}
		if n := s.Calls().Total(); n > 0 {
			t.Errorf("%d calls for nothing", n)
		}
	})
}
