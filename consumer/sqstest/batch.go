package sqstest

import (
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// batchAnswer is the answer to a batch call.
type batchAnswer struct {
	Successful []any         `json:"Successful,omitempty"`
	Failed     []failedEntry `json:"Failed,omitempty"`
}

// failedEntry is types.BatchResultErrorEntry on the wire.
type failedEntry struct {
	ID          string  `json:"Id"`
	Code        string  `json:"Code"`
	Message     *string `json:"Message,omitempty"`
	SenderFault bool    `json:"SenderFault"`
}

// idAnswer is a succeeded entry of a delete or a visibility change.
type idAnswer struct {
	ID string `json:"Id"`
}

// runBatch acts on each entry that no fault makes fail. act returns the answer
// for entry i and what the log says of it.
func (x *exchange) runBatch(ids []string, act func(i int) (any, Entry, *Error)) *batchAnswer {
	var out batchAnswer
	for i, id := range ids {
		if f := x.fault.entry(i); f != nil {
			failed := failedEntry{ID: id, Code: f.Code, Message: f.Message, SenderFault: f.SenderFault}
			if failed.Code == "" {
				failed.Code = "InternalError"
			}
			out.Failed = append(out.Failed, failed)
			x.note(Entry{ID: id, Code: failed.Code})
			continue
		}
		done, entry, err := act(i)
		entry.ID = id
		if err != nil {
			entry.Code = err.Code
			out.Failed = append(out.Failed, failedEntry{
				ID: id, Code: err.Code, Message: &err.Message, SenderFault: !err.Receiver,
			})
		} else {
			out.Successful = append(out.Successful, done)
		}
		x.note(entry)
	}
	return &out
}

// batchSize counts the entries of a batch input, 0 for any other.
func batchSize(in any) int {
	switch in := in.(type) {
	case *sqs.SendMessageBatchInput:
		return len(in.Entries)
	case *sqs.DeleteMessageBatchInput:
		return len(in.Entries)
	case *sqs.ChangeMessageVisibilityBatchInput:
		return len(in.Entries)
	default:
		return 0
	}
}
