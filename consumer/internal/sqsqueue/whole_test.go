package sqsqueue

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Every call has a body that net/http knows the size of and can send again, which
// the SDK's own kind is not.
func TestWhole_BodiesAreSentAsAWhole(t *testing.T) {
	t.Parallel()
	var actions []string
	client := sqs.New(sqs.Options{
		Region:      "us-east-1",
		Credentials: aws.AnonymousCredentials{},
		HTTPClient: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			actions = append(actions, strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS."))
			if _, ok := r.Body.(io.WriterTo); !ok || r.GetBody == nil {
				t.Errorf("%s: the body is a %T", actions, r.Body)
			}
			again, _ := r.GetBody()
			for _, body := range []io.ReadCloser{r.Body, again} {
				if data, err := io.ReadAll(body); err != nil || int64(len(data)) != r.ContentLength || !strings.Contains(string(data), "QueueUrl") {
					t.Errorf("%s: body %q of %d bytes: %v", actions, data, r.ContentLength, err)
				}
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
		})},
	})
	q, ctx := New(client, "https://sqs.us-east-1.amazonaws.com/000000000000/orders", ""), context.Background()
	_, _ = q.Receive(ctx, 1, 0, "")
	_, _ = q.Describe(ctx)
	brief, cancel := context.WithTimeout(ctx, 10*time.Millisecond) // it insists, as long as there is no word
	defer cancel()
	q.Delete(brief, []string{"a"}, func(int, error) {})
	q.ChangeVisibilityOnce(ctx, []Visibility{{Receipt: "a"}})
	_ = q.Send(ctx, &sqs.SendMessageInput{MessageBody: aws.String("a")})
	if got, want := strings.Join(actions, " "), "ReceiveMessage GetQueueAttributes DeleteMessageBatch ChangeMessageVisibilityBatch SendMessage"; got != want {
		t.Errorf("calls: %s, want %s", got, want)
	}
}
