package sqsqueue

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

// An answer that names an entry several times, or one that was not asked for, has
// nothing sent twice and changes nothing that was settled.
func TestSortOut_AnswerThatRepeatsItself(t *testing.T) {
	t.Parallel()
	settled := errors.New("settled before")
	errs := []error{nil, settled, nil, nil}
	failed := func(id string) types.BatchResultErrorEntry {
		return types.BatchResultErrorEntry{Id: aws.String(id), Code: aws.String("InternalError")}
	}
	again := sortOut(errs, []int{0, 2, 3},
		[]types.BatchResultErrorEntry{failed("2"), failed("2"), failed("1"), failed("7"), failed("x")},
		[]string{"0", "0", "1"}, func(error) bool { return true })
	if diff := cmp.Diff([]int{2, 3}, again); diff != "" {
		t.Errorf("entries to send again (-want +got):\n%s", diff)
	}
	if errs[0] != nil || errs[1] != settled || errs[2] == nil || !errors.Is(errs[3], ErrUnanswered) { //nolint:errorlint // the very one
		t.Errorf("results %v", errs)
	}
}
