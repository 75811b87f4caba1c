package sqsqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/ackwise/ackwise/retry"
)

// MaxBatch is how many entries SQS takes in one batch call.
const MaxBatch = 10

// callTimeout bounds one call with the SDK's own retries inside: without a
// deadline a connection that hangs would hang for ever (the SDK sets no read
// timeout).
const callTimeout = 5 * time.Second

// repeat is how often a call is made, and for which errors once more.
type repeat struct {
	retry.Policy

	worth func(error) bool
}

// again is for a call that SQS refused for the moment.
var again = repeat{
	Policy: retry.Policy{
		Tries:   3,
		Backoff: retry.FullJitter(retry.Exponential(100*time.Millisecond, time.Second)),
		MaxWait: time.Second,
	},
	worth: worthRetrying,
}

var once = repeat{Policy: retry.Policy{Tries: 1}, worth: worthRetrying}

// Queue makes calls for one queue. It is safe for concurrent use.
type Queue struct {
	client *sqs.Client
	url    string
	region string
}

// New returns a Queue at url. Where region is not empty, calls are made to and
// signed for that region, whatever the client's own is.
func New(client *sqs.Client, url, region string) *Queue {
	if client.Options().BaseEndpoint != nil {
		region = "" // an endpoint of the user's own knows one region
	}
	return &Queue{client: client, url: url, region: region}
}

func (q *Queue) options(o *sqs.Options) {
	o.HTTPClient = whole{o.HTTPClient}
	if q.region != "" {
		o.Region = q.region
	}
}

// entryIDs name entries by their position.
var entryIDs = [MaxBatch]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}

// Visibility is one change of a message's visibility: how long it stays
// invisible from now.
type Visibility struct {
	Receipt string
	For     time.Duration // whole seconds
}

// ErrUnanswered says that SQS answered a batch without a word about this entry.
var ErrUnanswered = errors.New("the answer does not mention the entry")

// ChangeVisibility changes up to [MaxBatch] visibilities in one call and, for
// what SQS refused for the moment, in up to two more. The errors are positional;
// nil if all went well. It returns when ctx ends at the latest.
func (q *Queue) ChangeVisibility(ctx context.Context, changes []Visibility) []error {
	return q.changeVisibility(ctx, again, changes)
}

// ChangeVisibilityOnce does so in one call and no more.
func (q *Queue) ChangeVisibilityOnce(ctx context.Context, changes []Visibility) []error {
	return q.changeVisibility(ctx, once, changes)
}

func (q *Queue) changeVisibility(ctx context.Context, how repeat, changes []Visibility) []error {
	return eachEntry(ctx, how, len(changes), func(ctx context.Context, todo []int) ([]types.BatchResultErrorEntry, []string, error) {
		in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.url}
		for _, i := range todo {
			in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
				Id:                &entryIDs[i],
				ReceiptHandle:     &changes[i].Receipt,
				VisibilityTimeout: int32(changes[i].For / time.Second), //nolint:gosec // at most 12 hours
			})
		}
		out, err := q.client.ChangeMessageVisibilityBatch(ctx, in, q.options)
		if err != nil {
			return nil, nil, err
		}
		var done []string
		for _, e := range out.Successful {
			done = append(done, aws.ToString(e.Id))
		}
		return out.Failed, done, nil
	}, nil)
}

// batchCall makes one call for some entries and says which failed and which did
// not.
type batchCall func(ctx context.Context, todo []int) (failed []types.BatchResultErrorEntry, done []string, err error)

// eachEntry makes a batch call for n entries, and again for those that are
// worth it. Entries are named by their position, which is all that ties an
// answer to its entry. tell, if it is not nil, is called for each entry, as soon as
// there is nothing more to be tried for it.
func eachEntry(ctx context.Context, how repeat, n int, call batchCall, tell func(i int, err error)) []error {
	todo := make([]int, n)
	for i := range todo {
		todo[i] = i
	}
	errs := make([]error, n)
	err := retry.Do(ctx, how.Policy, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		failed, done, err := guarded(ctx, call, todo)
		if err != nil {
			for _, i := range todo {
				errs[i] = err
			}
			if !how.worth(err) {
				return nil
			}
			return err
		}
		tried := todo
		todo = sortOut(errs, todo, failed, done, how.worth)
		tellAll(tell, errs, tried, todo)
		if len(todo) > 0 {
			return errs[todo[0]]
		}
		return nil
	})
	if gaveUp, ok := errors.AsType[*retry.ExhaustedError](err); ok && gaveUp.Tries == 0 {
		for i := range errs {
			errs[i] = err
		}
	}
	tellAll(tell, errs, todo, nil)
	for _, err := range errs {
		if err != nil {
			return errs
		}
	}
	return nil
}

// tellAll tells what has become of entries, but for some.
func tellAll(tell func(i int, err error), errs []error, entries, but []int) {
	for _, i := range entries {
		if tell != nil && !slices.Contains(but, i) {
			tell(i, errs[i])
		}
	}
}

func guarded(ctx context.Context, call batchCall, todo []int) (failed []types.BatchResultErrorEntry, done []string, err error) {
	defer recovered(&err)
	return call(ctx, todo)
}

// recovered makes a panic of the client, or of a middleware in it, an error of
// this one call: it runs in a goroutine whose panic would end the process.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the SQS client panicked: %v", v)
	}
}

// sortOut writes the results of one call to errs and returns the entries that
// are worth another.
func sortOut(errs []error, todo []int, failed []types.BatchResultErrorEntry, done []string, worth func(error) bool) (again []int) {
	for _, i := range todo {
		errs[i] = ErrUnanswered
	}
	// What the answer says of an entry that was not asked for, it cannot know.
	note := func(id string, err error) {
		if i, e := strconv.Atoi(id); e == nil && slices.Contains(todo, i) {
			errs[i] = err
		}
	}
	for _, id := range done {
		note(id, nil)
	}
	for _, f := range failed {
		note(aws.ToString(f.Id), &EntryError{Code: aws.ToString(f.Code), Message: aws.ToString(f.Message), SenderFault: f.SenderFault})
	}
	for _, i := range todo {
		if errs[i] != nil && worth(errs[i]) {
			again = append(again, i)
		}
	}
	return again
}
