package sqstest

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

type listRequest struct{ sqs.ListQueuesInput }

func (r *listRequest) queueURL() string { return "" }
func (r *listRequest) public() any      { return &r.ListQueuesInput }

type listSourcesRequest struct {
	sqs.ListDeadLetterSourceQueuesInput
}

func (r *listSourcesRequest) queueURL() string { return deref(r.QueueUrl) }
func (r *listSourcesRequest) public() any      { return &r.ListDeadLetterSourceQueuesInput }

type tagRequest struct{ sqs.TagQueueInput }

func (r *tagRequest) queueURL() string { return deref(r.QueueUrl) }
func (r *tagRequest) public() any      { return &r.TagQueueInput }

type untagRequest struct{ sqs.UntagQueueInput }

func (r *untagRequest) queueURL() string { return deref(r.QueueUrl) }
func (r *untagRequest) public() any      { return &r.UntagQueueInput }

type listTagsRequest struct{ sqs.ListQueueTagsInput }

func (r *listTagsRequest) queueURL() string { return deref(r.QueueUrl) }
func (r *listTagsRequest) public() any      { return &r.ListQueueTagsInput }

// sqsAttributeNames are the queue attributes that SQS knows.
var sqsAttributeNames = types.QueueAttributeName("").Values()

type listAnswer struct {
	QueueURLs []string `json:"QueueUrls,omitempty"`
	NextToken string   `json:"NextToken,omitempty"`
}

// listSourcesAnswer spells its first field as SQS does here and only here.
type listSourcesAnswer struct {
	QueueURLs []string `json:"queueUrls"`
	NextToken string   `json:"NextToken,omitempty"`
}

// page cuts one page out of sorted names. A page is 1000 long if no size was
// asked for, and then has no token, as on SQS.
func page(names []string, size *int32, token *string) (out []string, next string, err *Error) {
	if size != nil && (*size < 1 || *size > 1000) {
		return nil, "", errValue(*size, "MaxResults", "MaxResults must be an integer between 1 and 1000.")
	}
	slices.Sort(names)
	if token != nil {
		after, err := base64.StdEncoding.DecodeString(*token)
		if err != nil {
			return nil, "", errParameter("Invalid or expired NextToken")
		}
		i, found := slices.BinarySearch(names, string(after))
		if found {
			i++
		}
		names = names[i:]
	}
	limit := 1000
	if size != nil {
		limit = int(*size)
	}
	if len(names) <= limit {
		return names, "", nil
	}
	names = names[:limit]
	if size == nil {
		return names, "", nil
	}
	return names, base64.StdEncoding.EncodeToString([]byte(names[limit-1])), nil
}

// urls spells the URLs of named queues.
func (x *exchange) urls(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = x.s.url(x.base, name)
	}
	return out
}

func listQueues(_ context.Context, x *exchange, in *listRequest) (any, error) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name := range s.queues {
		if strings.HasPrefix(name, deref(in.QueueNamePrefix)) {
			names = append(names, name)
		}
	}
	names, next, err := page(names, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	return listAnswer{x.urls(names), next}, nil
}

func listDeadLetterSourceQueues(_ context.Context, x *exchange, in *listSourcesRequest) (any, error) {
	return x.onQueue(in.queueURL(), func(q *queue, _ time.Time) (any, *Error) {
		var names []string
		for _, source := range x.s.sourcesOf(q) {
			names = append(names, source.name)
		}
		names, next, err := page(names, in.MaxResults, in.NextToken)
		if err != nil {
			return nil, err
		}
		return listSourcesAnswer{x.urls(names), next}, nil
	})
}

func tagQueue(_ context.Context, x *exchange, in *tagRequest) (any, error) {
	return x.onQueue(in.queueURL(), func(q *queue, _ time.Time) (any, *Error) {
		tags := maps.Clone(q.tags)
		if tags == nil {
			tags = make(map[string]string)
		}
		maps.Copy(tags, in.Tags)
		if len(tags) > 50 {
			return nil, errParameter("Too many tags added for queue %s.", q.name)
		}
		q.tags = tags
		return nil, nil
	})
}

func untagQueue(_ context.Context, x *exchange, in *untagRequest) (any, error) {
	return x.onQueue(in.queueURL(), func(q *queue, _ time.Time) (any, *Error) {
		for _, key := range in.TagKeys {
			delete(q.tags, key)
		}
		return nil, nil
	})
}

type tagsAnswer struct {
	Tags map[string]string `json:"Tags,omitempty"`
}

func listQueueTags(_ context.Context, x *exchange, in *listTagsRequest) (any, error) {
	return x.onQueue(in.queueURL(), func(q *queue, _ time.Time) (any, *Error) {
		return tagsAnswer{maps.Clone(q.tags)}, nil
	})
}

// actions is the API.
var actions = map[string]action{
	"CancelMessageMoveTask":        handle(cancelMessageMoveTask),
	"ChangeMessageVisibility":      handle(changeMessageVisibility),
	"ChangeMessageVisibilityBatch": handle(changeMessageVisibilityBatch),
	"CreateQueue":                  handle(createQueue),
	"DeleteMessage":                handle(deleteMessage),
	"DeleteMessageBatch":           handle(deleteMessageBatch),
	"DeleteQueue":                  handle(deleteQueue),
	"GetQueueAttributes":           handle(getQueueAttributes),
	"GetQueueUrl":                  handle(getQueueURL),
	"ListDeadLetterSourceQueues":   handle(listDeadLetterSourceQueues),
	"ListMessageMoveTasks":         handle(listMessageMoveTasks),
	"ListQueues":                   handle(listQueues),
	"ListQueueTags":                handle(listQueueTags),
	"PurgeQueue":                   handle(purgeQueue),
	"ReceiveMessage":               handle(receiveMessage),
	"SendMessage":                  handle(sendMessage),
	"SendMessageBatch":             handle(sendMessageBatch),
	"SetQueueAttributes":           handle(setQueueAttributes),
	"StartMessageMoveTask":         handle(startMessageMoveTask),
	"TagQueue":                     handle(tagQueue),
	"UntagQueue":                   handle(untagQueue),
}
