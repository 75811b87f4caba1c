package sqstest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// answer is a finished HTTP answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// exchange is one call while it is served.
type exchange struct {
	s     *Server
	call  *Call
	fault Fault  // the scripted fault for this call; zero if none
	base  string // what queue URLs in the answer begin with
}

// action is one API action: how its input is read and what it does.
type action struct {
	decode func(body []byte) (request, error)
	run    func(ctx context.Context, x *exchange, in request) (any, error)
}

// request is a decoded input. public returns it as the SDK's type, for Log.
type request interface {
	queueURL() string
	public() any
}

// handle makes an action of a typed function. The input that run gets is always
// the one that decode made.
func handle[T any, P interface {
	*T
	request
}](run func(ctx context.Context, x *exchange, in P) (any, error)) action {
	return action{
		decode: func(body []byte) (request, error) {
			in := P(new(T))
			if len(body) > 0 {
				if err := json.Unmarshal(body, in); err != nil {
					return nil, err
				}
			}
			return in, nil
		},
		run: func(ctx context.Context, x *exchange, in request) (any, error) {
			return run(ctx, x, in.(P)) //nolint:forcetypeassert // see above
		},
	}
}

// serve answers one request. An error means that the client gets no answer: the
// connection is lost, or its context has ended.
func (s *Server) serve(ctx context.Context, h http.Header, base string, body []byte) (*answer, error) {
	if !s.enter() {
		return nil, errClosed
	}
	defer s.exit()
	name, ok := strings.CutPrefix(h.Get("X-Amz-Target"), "AmazonSQS.")
	if !ok {
		return refuse(&Error{
			Code: "InvalidAction", Type: "UnknownOperationException",
			Message: "This server speaks AWS JSON 1.0 only: the X-Amz-Target header must be AmazonSQS.<action>.",
		}), nil
	}
	a, ok := actions[name]
	if !ok {
		return refuse(unknownAction(name)), nil
	}
	in, err := a.decode(body)
	if err != nil {
		return refuse(&Error{Code: "SerializationException", Message: err.Error()}), nil
	}
	x := &exchange{s: s, base: base}
	x.begin(name, s.queueNameOf(in.queueURL()), callerOf(h), in.public())
	out, err := x.perform(ctx, a, in)
	x.end(err)
	switch e := isError(err); {
	case e != nil:
		return refuse(e), nil
	case err != nil:
		return nil, err
	}
	return succeed(out)
}

// perform runs the action with whatever fault is scripted for it.
func (x *exchange) perform(ctx context.Context, a action, in request) (any, error) {
	x.fault = x.s.claimFault(*x.call)
	if x.fault.Delay > 0 {
		if err := x.s.sleep(ctx, x.fault.Delay); err != nil {
			return nil, err
		}
	}
	if x.fault.Err != nil {
		return nil, x.fault.Err
	}
	out, err := a.run(ctx, x, in)
	if x.fault.LoseResponse {
		return nil, errLost
	}
	return out, err
}

// unsupported are the actions that SQS has and this server has not.
var unsupported = map[string]bool{"AddPermission": true, "RemovePermission": true}

func unknownAction(name string) *Error {
	if unsupported[name] {
		return &Error{
			Code: simpleQueueService + "UnsupportedOperation", Type: "UnsupportedOperation",
			Message: fmt.Sprintf("%s is not supported by sqstest.", name),
		}
	}
	return &Error{
		Code: "InvalidAction", Type: "UnknownOperationException",
		Message: fmt.Sprintf("The action %s is not valid for this web service.", name),
	}
}

func succeed(out any) (*answer, error) {
	body := []byte("{}")
	if out != nil {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(out); err != nil {
			return nil, fmt.Errorf("sqstest: %w", err)
		}
		body = bytes.TrimRight(buf.Bytes(), "\n")
	}
	return &answer{status: http.StatusOK, header: newHeader(), body: body}, nil
}

// refuse spells an error as SQS does: the shape in __type, and the code of the
// former query protocol, which is the one clients see, in a header.
func refuse(e *Error) *answer {
	namespace := "com.amazonaws.sqs#"
	if strings.HasSuffix(e.shape(), "Exception") || e.Receiver {
		namespace = "com.amazon.coral.service#"
	}
	body, _ := json.Marshal(struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}{namespace + e.shape(), e.Message})
	h := newHeader()
	h["X-Amzn-Query-Error"] = []string{e.Code + ";" + e.side()}
	return &answer{status: e.status(), header: h, body: body}
}

func newHeader() http.Header {
	return http.Header{
		"Content-Type":     {"application/x-amz-json-1.0"},
		"X-Amzn-Requestid": {newUUID()},
		"Date":             {time.Now().UTC().Format(http.TimeFormat)},
	}
}

// newUUID makes a version 4 UUID. The ids only have to differ, so they need no
// cryptographic source.
func newUUID() string {
	var raw [16]byte
	binary.NativeEndian.PutUint64(raw[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(raw[8:], rand.Uint64())
	raw[6] = raw[6]&0x0f | 0x40
	raw[8] = raw[8]&0x3f | 0x80
	var out [36]byte
	hex.Encode(out[0:], raw[0:4])
	hex.Encode(out[9:], raw[4:6])
	hex.Encode(out[14:], raw[6:8])
	hex.Encode(out[19:], raw[8:10])
	hex.Encode(out[24:], raw[10:16])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}
