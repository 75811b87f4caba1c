package sqstest

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// sendRequest is the input of SendMessage. DelaySeconds shadows the SDK's field
// because 0 and absent differ.
type sendRequest struct {
	sqs.SendMessageInput
	DelaySeconds *int32
}

func (r *sendRequest) queueURL() string { return deref(r.QueueUrl) }

func (r *sendRequest) public() any {
	r.SendMessageInput.DelaySeconds = deref(r.DelaySeconds)
	return &r.SendMessageInput
}

type sendBatchRequest struct {
	QueueUrl *string //nolint:revive,staticcheck // the name on the wire
	Entries  []struct {
		types.SendMessageBatchRequestEntry
		DelaySeconds *int32
	}
}

func (r *sendBatchRequest) queueURL() string { return deref(r.QueueUrl) }

func (r *sendBatchRequest) public() any {
	in := &sqs.SendMessageBatchInput{QueueUrl: r.QueueUrl}
	for _, e := range r.Entries {
		e.SendMessageBatchRequestEntry.DelaySeconds = deref(e.DelaySeconds)
		in.Entries = append(in.Entries, e.SendMessageBatchRequestEntry)
	}
	return in
}

// outgoing is a message to be sent, whichever call it came with.
type outgoing struct {
	body          *string
	delay         *int32
	attrs         map[string]types.MessageAttributeValue
	system        map[string]types.MessageSystemAttributeValue
	group, dedup  *string
	inBatch       bool
	size          int
	bodyMD5       string
	attrsMD5      string
	contentDigest string
}

// sent is the answer to a send, and to an entry of a batch.
type sent struct {
	ID                           string `json:"Id,omitempty"`
	MessageID                    string `json:"MessageId"`
	MD5OfMessageBody             string `json:"MD5OfMessageBody"`
	MD5OfMessageAttributes       string `json:"MD5OfMessageAttributes,omitempty"`
	MD5OfMessageSystemAttributes string `json:"MD5OfMessageSystemAttributes,omitempty"`
	SequenceNumber               string `json:"SequenceNumber,omitempty"`
}

// check applies the rules that need no queue, and does the hashing, so that the
// server's lock is not held for it.
func (o *outgoing) check() *Error {
	body := deref(o.body)
	if body == "" {
		return errMissing("MessageBody")
	}
	if err := checkBody(body); err != nil {
		return err
	}
	if err := checkAttributes(o.attrs); err != nil {
		return err
	}
	for name, v := range o.system {
		if name != "AWSTraceHeader" {
			return errParameter("Message system attribute name '%s' is invalid. The only one that can be sent "+
				"is AWSTraceHeader.", name)
		}
		if deref(v.StringValue) == "" {
			return errParameter("Message (system) attribute '%s' must contain a non-empty value of type 'String'.", name)
		}
	}
	if err := checkID("MessageGroupId", o.group); err != nil {
		return err
	}
	if err := checkID("MessageDeduplicationId", o.dedup); err != nil {
		return err
	}
	if o.delay != nil && (*o.delay < 0 || *o.delay > int32(maxDelay/time.Second)) {
		return errValue(*o.delay, "DelaySeconds", "DelaySeconds must be >= 0 and <= 900.")
	}
	o.size = messageSize(body, o.attrs)
	o.bodyMD5 = md5Hex(body)
	o.attrsMD5 = attributesMD5(o.attrs)
	if o.group != nil && o.dedup == nil {
		o.contentDigest = contentDedupID(body)
	}
	return nil
}

// checkFIFO applies the rules about groups, deduplication and delays that differ
// between the kinds of queue. A batch is refused as a whole by the first two.
func (q *queue) checkFIFO(o *outgoing) *Error {
	if !q.fifo {
		if o.dedup != nil {
			return errValue(*o.dedup, "MessageDeduplicationId", wrongQueueType)
		}
		return nil
	}
	switch {
	case o.group == nil:
		err := errMissing("MessageGroupId")
		if o.inBatch {
			err = errParameter("%s", err.Message)
		}
		return err
	case o.dedup == nil && !q.set.contentBased:
		return errParameter("The queue should either have ContentBasedDeduplication enabled or " +
			"MessageDeduplicationId provided explicitly")
	default:
		return nil
	}
}

const wrongQueueType = "The request include parameter that is not valid for this queue type."

// accept stores a checked message, or answers a repeated one with the original.
func (s *Server) accept(q *queue, o *outgoing, now time.Time) (*sent, *Error) {
	if o.size > q.set.maxSize {
		verb := "are invalid"
		if o.inBatch {
			verb = "cannot be validated"
		}
		return nil, errParameter("One or more parameters %s. Reason: Message must be shorter than %d bytes.",
			verb, q.set.maxSize)
	}
	delay := q.set.delay
	if o.delay != nil {
		if q.fifo && *o.delay > 0 {
			return nil, errValue(*o.delay, "DelaySeconds", wrongQueueType)
		}
		if !q.fifo {
			delay = time.Duration(*o.delay) * time.Second
		}
	}
	m := &message{
		id: newUUID(), body: *o.body, bodyMD5: o.bodyMD5, attrs: o.attrs,
		trace: deref(o.system["AWSTraceHeader"].StringValue), group: deref(o.group), sentAt: now,
	}
	out := &sent{
		MD5OfMessageBody: o.bodyMD5, MD5OfMessageAttributes: o.attrsMD5,
		MD5OfMessageSystemAttributes: systemMD5(m.trace),
	}
	if q.fifo && !q.admit(m, o, now) {
		known, _ := q.dedup.find(m.group, m.dedup)
		out.MessageID, out.SequenceNumber = known.messageID, known.sequence
		return out, nil
	}
	s.nextID++
	m.key = s.nextID
	q.add(m, now, delay)
	out.MessageID, out.SequenceNumber = m.id, m.sequence
	return out, nil
}

// admit gives a FIFO message its deduplication id and sequence number. It
// reports false for a message that repeats an accepted one.
func (q *queue) admit(m *message, o *outgoing, now time.Time) bool {
	m.dedup = o.contentDigest
	if o.dedup != nil {
		m.dedup = *o.dedup
	}
	if _, ok := q.dedup.find(m.group, m.dedup); ok {
		return false
	}
	m.sequence = q.nextSequence()
	key := dedupKey{id: m.dedup}
	if q.set.dedupPerGroup {
		key.group = m.group
	}
	q.dedup.remember(key, m, now)
	return true
}

func systemMD5(trace string) string {
	if trace == "" {
		return ""
	}
	dataType := "String"
	return attributesMD5(map[string]types.MessageAttributeValue{
		"AWSTraceHeader": {DataType: &dataType, StringValue: &trace},
	})
}

// bodySum returns the checksum of a body, damaged if a fault says so.
func (x *exchange) bodySum(sum string) string {
	if !x.fault.CorruptMD5 {
		return sum
	}
	return md5Hex("corrupted " + sum)
}

func sendMessage(_ context.Context, x *exchange, in *sendRequest) (any, error) {
	o := &outgoing{
		body: in.MessageBody, delay: in.DelaySeconds, attrs: in.MessageAttributes,
		system: in.MessageSystemAttributes, group: in.MessageGroupId, dedup: in.MessageDeduplicationId,
	}
	out, err := x.s.send(in.queueURL(), o)
	if err != nil {
		x.note(Entry{Code: err.Code})
		return nil, err
	}
	x.note(Entry{MessageID: out.MessageID})
	out.MD5OfMessageBody = x.bodySum(out.MD5OfMessageBody)
	return out, nil
}

// send checks and stores one message.
func (s *Server) send(url string, o *outgoing) (*sent, *Error) {
	checked := o.check()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	q, err := s.lookup(url, now)
	switch {
	case err != nil:
		return nil, err
	case checked != nil:
		return nil, checked
	}
	if err := q.checkFIFO(o); err != nil {
		return nil, err
	}
	defer q.notify()
	return s.accept(q, o, now)
}

func sendMessageBatch(_ context.Context, x *exchange, in *sendBatchRequest) (any, error) {
	ids, out := make([]string, len(in.Entries)), make([]*outgoing, len(in.Entries))
	checks := make([]*Error, len(in.Entries))
	total := 0
	for i, e := range in.Entries {
		ids[i] = deref(e.Id)
		out[i] = &outgoing{
			body: e.MessageBody, delay: e.DelaySeconds, attrs: e.MessageAttributes, inBatch: true,
			system: e.MessageSystemAttributes, group: e.MessageGroupId, dedup: e.MessageDeduplicationId,
		}
		checks[i] = out[i].check()
		total += messageSize(deref(e.MessageBody), e.MessageAttributes)
	}
	if err := checkBatchIDs("SendMessageBatch", ids); err != nil {
		return nil, err
	}
	if total > maxMessageSize {
		return nil, errBatch("BatchRequestTooLong", "%s",
			fmt.Sprintf("Batch requests cannot be longer than %d bytes. You have sent %d bytes.", maxMessageSize, total))
	}
	return x.sendBatch(in.queueURL(), ids, out, checks)
}

func (x *exchange) sendBatch(url string, ids []string, out []*outgoing, checks []*Error) (any, error) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	q, err := s.lookup(url, now)
	if err != nil {
		return nil, err
	}
	for _, o := range out {
		if err := q.checkFIFO(o); err != nil {
			return nil, err
		}
	}
	defer q.notify()
	return x.runBatch(ids, func(i int) (any, Entry, *Error) {
		if checks[i] != nil {
			return nil, Entry{}, checks[i]
		}
		done, err := s.accept(q, out[i], now)
		if err != nil {
			return nil, Entry{}, err
		}
		done.ID = ids[i]
		done.MD5OfMessageBody = x.bodySum(done.MD5OfMessageBody)
		return done, Entry{MessageID: done.MessageID}, nil
	}), nil
}
