package sqstest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// The conformance suite says once what SQS does, against the SDK's client, and
// runs against three endpoints: this server in virtual time, this server over a
// socket, and another emulator. A row is named for the fact it holds on to; the
// number in front groups the rows by subject:
//
//	2.1 receiving       2.2 changing visibility   2.3 deleting
//	2.4 batches         2.5 errors                2.6 limits
//	2.7 FIFO            2.8 dead-letter queues    2.9 fair queues
//	2.10 and up         queues and their attributes
//	9                   where emulators differ from AWS
type row struct {
	name string
	// wait is how much time must pass in the row. Endpoints in real time run
	// what is short enough.
	wait time.Duration
	// inFlight is the limit of messages in flight that the row needs, 0 for
	// any. Only this server can have a small one.
	inFlight int
	// run describes the fact. It panics with a deviation (see env.failf) at the
	// first difference.
	run func(e *env)
}

// rows collects what the conformance_*_test.go files say.
func rows() []row {
	var all []row
	for _, part := range [][]row{
		receiveRows, visibilityRows, deleteRows, batchRows, errorRows, limitRows,
		fifoRows, dedupRows, deadLetterRows, moveTaskRows, attributeRows, queueRows, emulatorRows,
	} {
		all = append(all, part...)
	}
	return all
}

// deviation is how a row ends that found a difference.
type deviation string

// env is what a row works with: one client, and queues of its own.
type env struct {
	ctx    context.Context
	client *sqs.Client
	prefix string
	names  atomic.Int32
}

// check runs a row and returns the difference it found, "" if none.
func (e *env) check(r row) (found string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case deviation:
			found = string(p)
		default:
			panic(p)
		}
	}()
	r.run(e)
	return ""
}

func TestConformanceInProcess(t *testing.T) {
	t.Parallel()
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := sqstest.NewServer(sqstest.Config{MaxInFlight: r.inFlight})
				defer s.Close()
				e := &env{ctx: t.Context(), client: s.Client(), prefix: "q"}
				if found := e.check(r); found != "" {
					t.Error(found)
				}
			})
		})
	}
}

// TestConformanceLoopback runs the rows that need little time over a socket.
func TestConformanceLoopback(t *testing.T) {
	t.Parallel()
	s := sqstest.NewServer(sqstest.Config{})
	t.Cleanup(s.Close)
	base, err := s.Listen("")
	if err != nil {
		t.Fatal(err)
	}
	client, closeIdle := wireClient(base)
	t.Cleanup(closeIdle)
	results := runTogether(t.Context(), client, func(r row) string {
		switch {
		case r.inFlight != 0:
			return "needs a server of its own"
		case r.wait > 0:
			return "runs in virtual time"
		default:
			return ""
		}
	})
	for _, res := range results {
		t.Run(res.row.name, func(t *testing.T) {
			t.Parallel()
			if res.skipped != "" {
				t.Skip(res.skipped)
			}
			if res.found != "" {
				t.Error(res.found)
			}
		})
	}
}

// endpointVariable names the environment variable with the URL of another SQS
// emulator.
const endpointVariable = "ACKWISE_SQS_ENDPOINT"

// TestConformanceWire runs the suite against another emulator. Where that one
// is known to differ from AWS (see knownDifferences), it must differ in the way
// that is written down.
func TestConformanceWire(t *testing.T) {
	t.Parallel()
	base := os.Getenv(endpointVariable)
	if base == "" {
		t.Skipf("NOT RUN: %s is not set, so the SQS conformance suite does not run over the wire. "+
			"Run it with: make test", endpointVariable)
	}
	client, closeIdle := wireClient(base)
	t.Cleanup(closeIdle)
	known := maps.Clone(knownDifferences)
	results := runTogether(t.Context(), client, func(r row) string {
		switch {
		case r.inFlight != 0:
			return "the emulator has no small limit of messages in flight"
		case r.wait > 10*time.Second:
			return "takes " + r.wait.String() + " in real time"
		default:
			return ""
		}
	})
	for _, res := range results {
		want, listed := known[res.row.name]
		delete(known, res.row.name)
		t.Run(res.row.name, func(t *testing.T) {
			t.Parallel()
			judge(t, res, want, listed)
		})
	}
	for name := range known {
		t.Errorf("known difference %q is no row of the suite", name)
	}
}

// judge compares what a row found with the known difference.
func judge(t *testing.T, res result, want string, listed bool) {
	t.Helper()
	switch {
	case res.skipped != "" && listed:
		t.Errorf("listed as a known difference, but never run here: %s", res.skipped)
	case res.skipped != "":
		t.Skip(res.skipped)
	case !listed && res.found != "":
		t.Errorf("differs from AWS in a way that is not listed: %s", res.found)
	case listed && res.found == "":
		t.Errorf("now does what AWS does; take it off the list (it said: %s)", want)
	case listed && !strings.Contains(res.found, want):
		t.Errorf("differs from AWS in another way than listed:\n got: %s\nwant: %s", res.found, want)
	case listed:
		t.Logf("KNOWN DIFFERENCE from AWS: %s", res.found)
	}
}

// wireClient returns a client for an endpoint, and what closes its connections.
func wireClient(base string) (*sqs.Client, func()) {
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	return sqs.New(sqs.Options{
		Region:       sqstest.DefaultRegion,
		BaseEndpoint: aws.String(base),
		HTTPClient:   &http.Client{Transport: transport},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDTEST", SecretAccessKey: "test"}, nil
		}),
	}), transport.CloseIdleConnections
}

type result struct {
	row            row
	found, skipped string
}

// runTogether runs the rows that skip has no reason against, all at once: in
// real time they mostly wait, and t.Parallel would let only a few wait together.
func runTogether(ctx context.Context, client *sqs.Client, skip func(row) string) []result {
	run := fmt.Sprintf("c%d", time.Now().UnixNano())
	all := rows()
	results := make([]result, len(all))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i, r := range all {
		results[i] = result{row: r, skipped: skip(r)}
		if results[i].skipped != "" {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			e := &env{ctx: ctx, client: client, prefix: fmt.Sprintf("%s-%d", run, i)}
			results[i].found = e.check(r)
		})
	}
	wg.Wait()
	return results
}

// failf ends the row with a difference.
func (e *env) failf(format string, args ...any) {
	panic(deviation(fmt.Sprintf(format, args...)))
}

// codeOf returns the code of an answer of SQS, "" for none.
func codeOf(err error) string {
	var api interface{ ErrorCode() string }
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	if err != nil {
		return "no API error: " + err.Error()
	}
	return ""
}
