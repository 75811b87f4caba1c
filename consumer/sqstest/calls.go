package sqstest

import (
	"errors"
	"maps"
	"time"
)

// EventSourceCaller is the application id (sqs.Options.AppID) under which an
// event source makes its calls. [Server.Calls] leaves them out: a test counts
// what the program under test does.
const EventSourceCaller = "event-source"

// Call is one API call that reached the server. A call that the SDK tried again
// is there once for each try.
type Call struct {
	// Time is when the call arrived.
	Time time.Time
	// Took is how long it was served; a long poll waits in here.
	Took time.Duration
	// Done is false while the call is being served.
	Done bool
	// Action is the API action, for example "ReceiveMessage".
	Action string
	// Queue is the name of the queue, "" for actions without a queue URL.
	Queue string
	// Caller is the application id that the caller's SDK was given
	// (sqs.Options.AppID), "" if none.
	Caller string
	// Input is the decoded input as the SDK's type, for example
	// *sqs.ReceiveMessageInput. It is shared: do not change it.
	Input any
	// Entries are the messages of the call in order: those sent, deleted or
	// changed, one for a call that is no batch, or those a receive returned.
	Entries []Entry
	// Code is the error code that was answered, "" if none, or one of
	// [CodeLost] and [CodeCanceled].
	Code string
}

// Values of [Call.Code] for calls that got no answer.
const (
	CodeLost     = "connection lost" // scripted, or the server was closed
	CodeCanceled = "caller gone"     // the caller's context ended first
)

// Entry is one message in a call.
type Entry struct {
	// ID is the entry's id in a batch, "" in a call that is no batch.
	ID string
	// MessageID is the message meant, "" if the receipt handle names none that
	// this server knows.
	MessageID string
	// Receipt is the receipt handle.
	Receipt string
	// Visibility is what a visibility change asked for.
	Visibility time.Duration
	// Code is the entry's error code, "" if it succeeded.
	Code string
}

// Calls counts calls by action.
type Calls map[string]int

// Total returns the number of all calls.
func (c Calls) Total() int {
	n := 0
	for _, v := range c {
		n += v
	}
	return n
}

// Calls counts the calls so far by action, in progress ones included, those of
// event sources left out. What [Server.CreateQueue] and [Queue.Send] do are no
// calls. The result is a copy.
func (s *Server) Calls() Calls {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	sum := make(Calls)
	for caller, counts := range s.counts {
		if caller == EventSourceCaller {
			continue
		}
		for action, n := range counts {
			sum[action] += n
		}
	}
	return sum
}

// CallsBy counts the calls of one caller (see [Call.Caller]). The result is a
// copy.
func (s *Server) CallsBy(caller string) Calls {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	if c := s.counts[caller]; c != nil {
		return maps.Clone(c)
	}
	return make(Calls)
}

// Log returns the calls so far in the order of their arrival, all callers
// included, as far as [Config.LogLimit] keeps them. The result is a copy.
func (s *Server) Log() []Call {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	out := make([]Call, len(s.log))
	for i, c := range s.log {
		out[i] = *c
	}
	return out
}

// ResetCalls forgets the calls so far, in counts and log, for a test that starts
// to count after its set-up. A call in progress is forgotten too.
func (s *Server) ResetCalls() {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	s.log = nil
	s.counts = make(map[string]Calls)
}

// begin records the arrival of a call.
func (x *exchange) begin(actionName, queue, caller string, in any) {
	x.call = &Call{Time: time.Now(), Action: actionName, Queue: queue, Caller: caller, Input: in}
	s := x.s
	s.logMu.Lock()
	defer s.logMu.Unlock()
	if s.counts[caller] == nil {
		s.counts[caller] = make(Calls)
	}
	s.counts[caller][actionName]++
	switch limit := s.cfg.LogLimit; {
	case limit < 0:
	case limit > 0 && len(s.log) >= limit:
		s.log[0] = nil
		s.log = append(s.log[1:], x.call)
	default:
		s.log = append(s.log, x.call)
	}
}

// end records the result of a call.
func (x *exchange) end(err error) {
	code := ""
	switch e := isError(err); {
	case e != nil:
		code = e.Code
	case errors.Is(err, errLost), errors.Is(err, errClosed):
		code = CodeLost
	case err != nil:
		code = CodeCanceled
	}
	x.s.logMu.Lock()
	defer x.s.logMu.Unlock()
	x.call.Took = time.Since(x.call.Time)
	x.call.Code = code
	x.call.Done = true
}

// note records a message of the call.
func (x *exchange) note(e Entry) {
	x.s.logMu.Lock()
	defer x.s.logMu.Unlock()
	x.call.Entries = append(x.call.Entries, e)
}
