package sqstest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

type createRequest struct{ sqs.CreateQueueInput }

func (r *createRequest) queueURL() string { return "" }
func (r *createRequest) public() any      { return &r.CreateQueueInput }

type deleteQueueRequest struct{ sqs.DeleteQueueInput }

func (r *deleteQueueRequest) queueURL() string { return deref(r.QueueUrl) }
func (r *deleteQueueRequest) public() any      { return &r.DeleteQueueInput }

type purgeRequest struct{ sqs.PurgeQueueInput }

func (r *purgeRequest) queueURL() string { return deref(r.QueueUrl) }
func (r *purgeRequest) public() any      { return &r.PurgeQueueInput }

type getURLRequest struct{ sqs.GetQueueUrlInput }

func (r *getURLRequest) queueURL() string { return "" }
func (r *getURLRequest) public() any      { return &r.GetQueueUrlInput }

type getAttributesRequest struct{ sqs.GetQueueAttributesInput }

func (r *getAttributesRequest) queueURL() string { return deref(r.QueueUrl) }
func (r *getAttributesRequest) public() any      { return &r.GetQueueAttributesInput }

type setAttributesRequest struct{ sqs.SetQueueAttributesInput }

func (r *setAttributesRequest) queueURL() string { return deref(r.QueueUrl) }
func (r *setAttributesRequest) public() any      { return &r.SetQueueAttributesInput }

type urlAnswer struct {
	QueueURL string `json:"QueueUrl"`
}

const (
	badQueueName = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
	badFIFOName  = "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, " +
		"must end with .fifo suffix and be 1 to 80 in length."
)

// checkQueueName applies the naming rules and returns whether the queue is FIFO.
func checkQueueName(name, fifoAttribute string) (bool, *Error) {
	base, suffixed := strings.CutSuffix(name, ".fifo")
	switch {
	case fifoAttribute == "true":
		if !suffixed || len(name) > 80 || !queueName.MatchString(base) {
			return false, errParameter(badFIFOName)
		}
		return true, nil
	case fifoAttribute != "":
		return false, errAttributeName("Unknown Attribute FifoQueue.")
	case !queueName.MatchString(name): // also a .fifo name without the attribute
		return false, errParameter(badQueueName)
	default:
		return false, nil
	}
}

func createQueue(_ context.Context, x *exchange, in *createRequest) (any, error) {
	if in.QueueName == nil {
		return nil, errMissing("QueueName")
	}
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.create(*in.QueueName, in.Attributes, in.Tags, time.Now())
	if err != nil {
		return nil, err
	}
	return urlAnswer{s.url(x.base, q.name)}, nil
}

// create makes a queue, or returns the one there is if it has the same values of
// the attributes given. The caller holds mu.
func (s *Server) create(name string, attrs, tags map[string]string, now time.Time) (*queue, *Error) {
	fifo, err := checkQueueName(name, attrs["FifoQueue"])
	if err != nil {
		return nil, err
	}
	if q := s.queues[name]; q != nil {
		return q, s.sameQueue(q, attrs)
	}
	if at, ok := s.removed[name]; ok && now.Sub(at) < time.Minute {
		return nil, errBatch("QueueDeletedRecently",
			"You must wait 60 seconds after deleting a queue before you can create another with the same name.")
	}
	s.nextID++
	q := newQueue(s.nextID, name, s.arn(name), fifo, s.cfg.MaxInFlight, now)
	q.tags = maps.Clone(tags)
	if err := s.applyAttributes(q, attrs); err != nil {
		return nil, err
	}
	s.queues[name] = q
	delete(s.removed, name)
	return q, nil
}

// sameQueue compares the attributes given with those of the queue.
func (s *Server) sameQueue(q *queue, attrs map[string]string) *Error {
	have := q.set.attributes(q.fifo)
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if have[name] != attrs[name] {
			return &Error{
				Code: "QueueAlreadyExists", Type: "QueueNameExists",
				Message: "A queue already exists with the same name and a different value for attribute " + name,
			}
		}
	}
	return nil
}

// applyAttributes sets all attributes or none. The caller holds mu.
func (s *Server) applyAttributes(q *queue, attrs map[string]string) *Error {
	next := q.set
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if err := next.apply(name, attrs[name], q.fifo); err != nil {
			return err
		}
	}
	if value, ok := attrs["RedrivePolicy"]; ok {
		if err := s.applyRedrivePolicy(&next, q, value); err != nil {
			return err
		}
	}
	if attrs["KmsMasterKeyId"] != "" && attrs["SqsManagedSseEnabled"] == "true" {
		return errAttributeName("You can use one type of server-side encryption (SSE) at one time. " +
			"You can either enable KMS SSE or SQS SSE.")
	}
	if next.perGroupLimit && !next.dedupPerGroup {
		return errAttributeValue("FifoThroughputLimit",
			"perMessageGroupId is allowed only when DeduplicationScope is messageGroup.")
	}
	q.set = next
	return nil
}

func deleteQueue(_ context.Context, x *exchange, in *deleteQueueRequest) (any, error) {
	return x.onQueue(in.queueURL(), func(q *queue, now time.Time) (any, *Error) {
		x.s.remove(q, now)
		return nil, nil
	})
}

// remove deletes a queue with all that is in it. The caller holds mu and notifies
// the queue: its polls learn one from the other that it is gone.
func (s *Server) remove(q *queue, now time.Time) {
	q.deleted = true
	q.purge()
	delete(s.queues, q.name)
	s.removed[q.name] = now
}

// purge drops every message, in flight or not.
func (q *queue) purge() {
	for _, m := range q.byKey {
		q.drop(m)
	}
}

func purgeQueue(_ context.Context, x *exchange, in *purgeRequest) (any, error) {
	return x.onQueue(in.queueURL(), func(q *queue, now time.Time) (any, *Error) {
		if !q.purgedAt.IsZero() && now.Sub(q.purgedAt) < time.Minute {
			err := errBatch("PurgeQueueInProgress",
				"Only one PurgeQueue operation on %s is allowed every 60 seconds.", q.name)
			err.Status = 403
			return nil, err
		}
		q.purgedAt = now
		q.purge()
		return nil, nil
	})
}

func getQueueURL(_ context.Context, x *exchange, in *getURLRequest) (any, error) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[deref(in.QueueName)]
	owner := deref(in.QueueOwnerAWSAccountId)
	if q == nil || owner != "" && owner != s.cfg.Account {
		return nil, errNoQueue()
	}
	return urlAnswer{s.url(x.base, q.name)}, nil
}

type attributesAnswer struct {
	Attributes map[string]string `json:"Attributes,omitempty"`
}

func getQueueAttributes(_ context.Context, x *exchange, in *getAttributesRequest) (any, error) {
	return x.onQueue(in.queueURL(), func(q *queue, _ time.Time) (any, *Error) {
		all := q.attributes()
		out := make(map[string]string)
		for _, n := range in.AttributeNames {
			name := string(n)
			switch {
			case name == "All":
				maps.Copy(out, all)
			case all[name] != "":
				out[name] = all[name]
			case !knownAttribute(name):
				return nil, errAttributeName("Unknown Attribute %s.", name)
			}
		}
		return attributesAnswer{out}, nil
	})
}

// knownAttribute reports whether a queue can have the attribute at all.
func knownAttribute(name string) bool {
	for _, n := range sqsAttributeNames {
		if string(n) == name {
			return true
		}
	}
	return false
}

// attributes spells all attributes of the queue.
func (q *queue) attributes() map[string]string {
	out := q.set.attributes(q.fifo)
	out["QueueArn"] = q.arn
	out["CreatedTimestamp"] = strconv.FormatInt(q.created.Unix(), 10)
	out["LastModifiedTimestamp"] = strconv.FormatInt(q.changed.Unix(), 10)
	out["ApproximateNumberOfMessages"] = strconv.Itoa(q.visible())
	out["ApproximateNumberOfMessagesNotVisible"] = strconv.Itoa(q.inFlight)
	out["ApproximateNumberOfMessagesDelayed"] = strconv.Itoa(q.delayed)
	return out
}

func setQueueAttributes(_ context.Context, x *exchange, in *setAttributesRequest) (any, error) {
	return x.onQueue(in.queueURL(), func(q *queue, now time.Time) (any, *Error) {
		if _, ok := in.Attributes["FifoQueue"]; ok && !q.fifo {
			return nil, errAttributeName("Unknown Attribute FifoQueue.")
		}
		if err := x.s.applyAttributes(q, in.Attributes); err != nil {
			return nil, err
		}
		q.changed = now
		q.advance(now)
		return nil, nil
	})
}
