package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const output = `0.1s  order-1 created  receive 1  runs: done
0.1s  order-2 created  receive 1  runs: the bank does not answer
0.1s  order-2 created  receive 1  comes back in 2s: the bank does not answer
0.1s  order-2 paid     receive 1  does not run, comes back in 4s: an earlier message of the group was not finished
0.1s  order-2 shipped  receive 1  does not run, comes back in 4s: an earlier message of the group was not finished
0.2s  order-3 created  receive 1  runs: there is no such article
0.2s  order-3 created  receive 1  is parked, so the group goes on: there is no such article
0.2s  order-1 paid     receive 1  runs: done
0.3s  order-1 shipped  receive 1  runs: done
0.3s  order-3 paid     receive 1  runs: done
0.5s  order-3 shipped  receive 1  runs: done
2.6s  order-2 created  receive 2  runs: done
4.6s  order-2 paid     receive 2  runs: done
4.8s  order-2 shipped  receive 2  runs: done

orders-dlq.fifo holds: order-3 created
Handled in order within every group: yes
Calls of SQS by the library: 1 ChangeMessageVisibilityBatch
Calls of SQS by the library: 1 SendMessage
`

// The program's whole output: in virtual time every line comes at its moment.
func TestOutput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w strings.Builder
		if err := run(t.Context(), &w); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(strings.Split(output, "\n"), strings.Split(w.String(), "\n")); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	})
}
