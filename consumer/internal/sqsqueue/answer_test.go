package sqsqueue_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
)

// answers is an HTTP client that gives one answer to everything.
type answers string

func (a answers) Do(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(string(a))), Request: r,
	}, nil
}

// An answer that leaves entries out, or speaks of others, is no success of the
// entries it does not mention.
func TestChangeVisibility_UnansweredEntries(t *testing.T) {
	t.Parallel()
	for answer, unanswered := range map[string][]int{
		`{"Successful":[{"Id":"0"},{"Id":"1"},{"Id":"2"}],"Failed":[]}`: nil,
		`{"Successful":[{"Id":"1"}],"Failed":[]}`:                       {0, 2},
		`{}`: {0, 1, 2},
		`{"Successful":[{"Id":"0"},{"Id":"3"},{"Id":"-1"},{"Id":"x"},{}],"Failed":[{},{"Id":"99"}]}`: {1, 2},
	} {
		client := sqs.New(sqs.Options{Region: "us-east-1", HTTPClient: answers(answer), Credentials: aws.AnonymousCredentials{}})
		errs := sqsqueue.New(client, "https://sqs.us-east-1.amazonaws.com/1/q", "").ChangeVisibility(t.Context(), make([]sqsqueue.Visibility, 3))
		if (errs == nil) != (unanswered == nil) {
			t.Errorf("%s: %v", answer, errs)
		}
		missing := 0
		for _, i := range unanswered {
			if errors.Is(errs[i], sqsqueue.ErrUnanswered) {
				missing++
			}
		}
		for _, err := range errs {
			if err != nil {
				missing--
			}
		}
		if missing != 0 {
			t.Errorf("%s: %v", answer, errs)
		}
	}
}
