package dynamostore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const table = "records"

// wire is one attribute value as it is sent, {"S": "…"} or {"N": "…"}.
type (
	wire     = map[string]string
	wireItem = map[string]wire
)

// fake is DynamoDB in process: the real client talks to it, its expressions are
// evaluated, and a script breaks the way to it. It works in synctest bubbles.
// What it was not made for it refuses.
type fake struct {
	mu     sync.Mutex
	keys   []string // names of the key attributes, of all tables alike
	items  map[string]wireItem
	tokens map[string]reply // of transactions, by ClientRequestToken
	calls  []call
	script []fault
	always *fault
	admin  map[string][]reply // answers by operation, the last one for good
}

type call struct {
	op   string
	body string
}

// fault is what happens to a call; the zero value is nothing.
type fault struct {
	status int           // answered with it, and code, instead of being carried out
	code   string        // of the error
	body   string        // of the error, in place of one that has only a code
	late   bool          // with status: carried out all the same
	lose   bool          // carried out, and the connection breaks before the answer
	dial   bool          // no connection
	noHost bool          // not even an address
	hang   bool          // neither carried out nor answered until its context ends
	delay  time.Duration // before it is carried out
	then   func()        // after it was carried out, before the answer
}

type reply struct {
	status int
	body   string
}

func newFake(keys ...string) *fake {
	if len(keys) == 0 {
		keys = []string{"pk"}
	}
	return &fake{keys: keys, items: map[string]wireItem{}, tokens: map[string]reply{}, admin: map[string][]reply{}}
}

// client is a real one, on f.
func (f *fake) client(opts ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String("http://dynamodb.test"), HTTPClient: f,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	}, opts...)
}

// plan sets what happens to the next calls, in order.
func (f *fake) plan(faults ...fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = append(f.script, faults...)
}

// breakAll breaks every call from now on, until restore is called.
func (f *fake) breakAll(ft fault) (restore func()) {
	set := func(ft *fault) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.always = ft
	}
	set(&ft)
	return func() { set(nil) }
}

// ops returns the operations since the last time, in order.
func (f *fake) ops() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	ops := make([]string, 0, len(f.calls))
	for _, c := range f.calls {
		ops = append(ops, c.op)
	}
	f.calls = nil
	return ops
}

// Do implements the HTTP client of the SDK.
func (f *fake) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	_, op, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	ft := f.next(call{op, string(body)})
	if err := ft.before(req.Context()); err != nil {
		return nil, err
	}
	answer := reply{status: ft.status, body: ft.body}
	if ft.body == "" {
		answer.body = fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"scripted"}`, ft.code)
	}
	if ft.status == 0 || ft.late {
		done := f.serve(op, body)
		if ft.status == 0 {
			answer = done
		}
	}
	if ft.then != nil {
		ft.then()
	}
	if ft.lose {
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return &http.Response{
		Status: http.StatusText(answer.status), StatusCode: answer.status, Request: req,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:   io.NopCloser(bytes.NewBufferString(answer.body)), ContentLength: int64(len(answer.body)),
	}, nil
}

func (f *fake) next(c call) (ft fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	switch {
	case f.always != nil:
		return *f.always
	case len(f.script) > 0:
		ft, f.script = f.script[0], f.script[1:]
	}
	return ft
}

// before is what happens before the call reaches the service.
func (ft fault) before(ctx context.Context) error {
	if ft.dial {
		return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	if ft.noHost {
		return &net.DNSError{Err: "no such host", Name: "dynamodb.test", IsNotFound: true}
	}
	var after <-chan time.Time
	if !ft.hang {
		if ft.delay == 0 {
			return nil
		}
		timer := time.NewTimer(ft.delay)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-after:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fake) serve(op string, body []byte) reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch op {
	case "UpdateItem":
		return f.updateItem(body)
	case "TransactWriteItems":
		return f.transactWriteItems(body)
	}
	replies := f.admin[op]
	if len(replies) == 0 {
		return failure("UnknownOperationException", op, nil)
	}
	if len(replies) > 1 {
		f.admin[op] = replies[1:]
	}
	return replies[0]
}

// keyOf tells items apart: table and key.
func (f *fake) keyOf(table string, it wireItem) string {
	key := table
	for _, name := range f.keys {
		key += "\x00" + it[name]["S"]
	}
	return key
}

// item returns a copy of what is under a key, and puts it there.
func (f *fake) item(key string) (wireItem, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	it, ok := f.items[f.keyOf(table, wireItem{f.keys[0]: {"S": key}})]
	return maps.Clone(it), ok
}

func (f *fake) put(it wireItem) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.items[f.keyOf(table, it)] = it
}

func (f *fake) empty() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.items)
}

func ok(v any) reply {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return reply{http.StatusOK, string(b)}
}

func failure(code, message string, more map[string]any) reply {
	m := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": message}
	maps.Copy(m, more)
	r := ok(m)
	r.status = http.StatusBadRequest
	return r
}
