package stub

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// request has the fields of all calls that are answered; each call has its own.
type request struct {
	QueueURL                    string `json:"QueueUrl"`
	MaxNumberOfMessages         int
	WaitTimeSeconds             int
	AttributeNames              []string
	MessageSystemAttributeNames []string
	ReceiptHandle               string
	Entries                     []entry
}

type entry struct {
	ID            string `json:"Id"`
	ReceiptHandle string
}

// queueAttributes are what a consumer asks before it starts. The queue is set up
// as Ackwise advises, so that nobody has anything to complain of.
const queueAttributes = `{"Attributes":{` +
	`"QueueArn":"arn:aws:sqs:us-east-1:000000000000:peers",` +
	`"VisibilityTimeout":"30","ReceiveMessageWaitTimeSeconds":"0",` +
	`"DelaySeconds":"0","MaximumMessageSize":"1048576","MessageRetentionPeriod":"1209600",` +
	`"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:peers-dead\",` +
	`\"maxReceiveCount\":50}"}}`

const invalidHandle = "ReceiptHandleIsInvalid"

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	var in request
	if err == nil {
		err = json.Unmarshal(raw, &in)
	}
	if err != nil {
		fail(w, "InvalidParameterValue")
		return
	}
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	l := s.enter(in.QueueURL, action)
	if l == nil {
		fail(w, "QueueDoesNotExist")
		return
	}
	if s.latency > 0 {
		time.Sleep(s.latency)
	}
	switch action {
	case "ReceiveMessage":
		answer(w, s.receive(r, l, &in))
	case "DeleteMessage":
		if !s.remove(l, in.ReceiptHandle) {
			fail(w, invalidHandle)
			return
		}
		answer(w, []byte("{}"))
	case "DeleteMessageBatch":
		answer(w, batch(in.Entries, func(handle string) bool { return s.remove(l, handle) }))
	case "ChangeMessageVisibility":
		answer(w, []byte("{}"))
	case "ChangeMessageVisibilityBatch":
		answer(w, batch(in.Entries, func(string) bool { return true }))
	case "GetQueueAttributes":
		answer(w, []byte(queueAttributes))
	default:
		fail(w, "UnsupportedOperation")
	}
}

func (s *Server) receive(r *http.Request, l *load, in *request) []byte {
	first, last := s.take(r.Context(), l, max(in.MaxNumberOfMessages, 1),
		time.Duration(in.WaitTimeSeconds)*time.Second)
	if first == last {
		return []byte("{}")
	}
	attributes := len(in.AttributeNames)+len(in.MessageSystemAttributeNames) > 0
	b := make([]byte, 0, 1024*(last-first))
	b = append(b, `{"Messages":[`...)
	for i := first; i < last; i++ {
		if i > first {
			b = append(b, ',')
		}
		b = appendMessage(b, l.number, i, attributes)
	}
	return append(b, "]}"...)
}

// batch answers a batch entry by entry.
func batch(entries []entry, accept func(handle string) bool) []byte {
	type success struct {
		ID string `json:"Id"`
	}
	type failure struct {
		ID          string `json:"Id"`
		Code        string
		SenderFault bool
	}
	var out struct {
		Successful []success `json:",omitempty"`
		Failed     []failure `json:",omitempty"`
	}
	for _, e := range entries {
		if accept(e.ReceiptHandle) {
			out.Successful = append(out.Successful, success{e.ID})
		} else {
			out.Failed = append(out.Failed, failure{e.ID, invalidHandle, true})
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(err) // strings and booleans are always JSON
	}
	return b
}

func answer(w http.ResponseWriter, body []byte) { write(w, http.StatusOK, body) }

func fail(w http.ResponseWriter, code string) {
	write(w, http.StatusBadRequest,
		[]byte(`{"__type":"com.amazonaws.sqs#`+code+`","message":"`+code+`"}`))
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	// Without it net/http sends long bodies in chunks.
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
