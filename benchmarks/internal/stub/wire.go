package stub

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// request has the fields of all calls that are answered; each call has its own.
// What it holds is part of the body it was read from.
type request struct {
	queueURL   string
	max        int // messages
	wait       time.Duration
	attributes bool // some are asked for
	entries    []entry
}

type entry struct{ id, handle []byte }

// parse reads a request body as the SDK writes it: without spaces, and without
// escapes in what is read here. A JSON decoder would cost more than all else that
// the server does.
func (in *request) parse(body []byte) {
	*in = request{entries: in.entries[:0]}
	ids, handles := 0, 0
	at := func(i int) *entry {
		for len(in.entries) <= i {
			in.entries = append(in.entries, entry{})
		}
		return &in.entries[i]
	}
	for {
		key, value, ok := nextKey(body)
		if !ok {
			return
		}
		body = value
		switch string(key) {
		case "QueueUrl":
			in.queueURL = string(text(value))
		case "MaxNumberOfMessages":
			in.max = number(value)
		case "WaitTimeSeconds":
			in.wait = time.Duration(number(value)) * time.Second
		case "AttributeNames", "MessageSystemAttributeNames":
			in.attributes = in.attributes || bytes.HasPrefix(value, []byte(`["`))
		case "Id":
			at(ids).id = text(value)
			ids++
		case "ReceiptHandle":
			at(handles).handle = text(value)
			handles++
		}
	}
}

// nextKey returns the next string with a colon behind it, and what follows that.
func nextKey(b []byte) (key, value []byte, ok bool) {
	for {
		_, rest, found := bytes.Cut(b, []byte{'"'})
		if !found {
			return nil, nil, false
		}
		if key, b, found = bytes.Cut(rest, []byte{'"'}); !found {
			return nil, nil, false
		}
		if bytes.HasPrefix(b, []byte{':'}) {
			return key, b[1:], true
		}
	}
}

// text is the string that b begins with.
func text(b []byte) []byte {
	s, _, _ := bytes.Cut(bytes.TrimPrefix(b, []byte{'"'}), []byte{'"'})
	return s
}

// number is the number that b begins with.
func number(b []byte) (n int) {
	for _, c := range b {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// queueAttributes are what a consumer asks before it starts. The queue is set up
// as Ackwise advises, so that nobody has anything to complain of.
const queueAttributes = `{"Attributes":{` +
	`"QueueArn":"arn:aws:sqs:us-east-1:000000000000:peers",` +
	`"VisibilityTimeout":"30","ReceiveMessageWaitTimeSeconds":"0",` +
	`"DelaySeconds":"0","MaximumMessageSize":"1048576","MessageRetentionPeriod":"1209600",` +
	`"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:peers-dead\",` +
	`\"maxReceiveCount\":100}"}}`

const invalidHandle = "ReceiptHandleIsInvalid"

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var in request
	in.parse(raw)
	body, code := s.call(r.Context(), r.Header.Get("X-Amz-Target"), &in, nil)
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

const (
	contentType = "application/x-amz-json-1.0"
	maxBody     = 1 << 20
)

// call answers one call: it appends the body to b. It waits until ctx ends at the
// longest.
func (s *Server) call(ctx context.Context, target string, in *request, b []byte) (body []byte, status int) {
	_, action, _ := strings.Cut(target, ".")
	l := s.enter(in.queueURL, action)
	if l == nil {
		return fail(b, "QueueDoesNotExist")
	}
	if s.latency > 0 {
		time.Sleep(s.latency)
	}
	switch action {
	case "ReceiveMessage":
		b = s.receive(ctx, l, in, b)
	case "DeleteMessage":
		if len(in.entries) == 0 || !s.remove(l, in.entries[0].handle) {
			return fail(b, invalidHandle)
		}
		b = append(b, "{}"...)
	case "DeleteMessageBatch":
		b = batch(b, in.entries, func(handle []byte) bool { return s.remove(l, handle) })
	case "ChangeMessageVisibility":
		b = append(b, "{}"...)
	case "ChangeMessageVisibilityBatch":
		b = batch(b, in.entries, func([]byte) bool { return true })
	case "GetQueueAttributes":
		b = append(b, queueAttributes...)
	default:
		return fail(b, "UnsupportedOperation")
	}
	return b, http.StatusOK
}

func (s *Server) receive(ctx context.Context, l *load, in *request, b []byte) []byte {
	first, last := s.take(ctx, l, max(in.max, 1), in.wait)
	if first == last {
		return append(b, "{}"...)
	}
	b = append(b, `{"Messages":[`...)
	for i := first; i < last; i++ {
		if i > first {
			b = append(b, ',')
		}
		b = appendMessage(b, l.number, i, in.attributes)
	}
	return append(b, "]}"...)
}

// batch answers a batch entry by entry.
func batch(b []byte, entries []entry, accept func(handle []byte) bool) []byte {
	var failed []entry
	b = append(b, `{"Successful":[`...)
	empty := len(b)
	for _, e := range entries {
		if !accept(e.handle) {
			failed = append(failed, e)
			continue
		}
		if len(b) > empty {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"Id":"`...), e.id...), `"}`...)
	}
	b = append(b, `],"Failed":[`...)
	for i, e := range failed {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"Id":"`...), e.id...), `","SenderFault":true,"Code":"`...)
		b = append(b, invalidHandle+`"}`...)
	}
	return append(b, "]}"...)
}

func fail(b []byte, code string) (body []byte, status int) {
	b = append(b, `{"__type":"com.amazonaws.sqs#`...)
	b = append(append(append(b, code...), `","message":"`...), code...)
	return append(b, `"}`...), http.StatusBadRequest
}

// appendHead appends the head of an answer over a socket.
func appendHead(b []byte, status, length int) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, " \r\nContent-Type: "+contentType+"\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(length), 10)
	return append(b, "\r\n\r\n"...)
}
