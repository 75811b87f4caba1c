package crashtest_test

import (
	"strings"
	"testing"
)

func lines(events ...string) (ls []line) {
	attempt := 0
	for _, e := range events {
		if e == eventStart {
			attempt++
		}
		ls = append(ls, line{event: e, attempt: attempt})
	}
	return ls
}

// What may become of a message.
func TestGoodFates(t *testing.T) {
	t.Parallel()
	done := record{status: "completed", attempts: 1}
	for name, f := range map[string]fate{
		"done":               {lines: lines(eventClaimed, eventStart, eventEffect, eventFinish, eventCompleted), record: done, times: 1},
		"done, effect twice": {lines: lines(eventStart, eventEffect, eventFail, eventStart, eventEffect, eventCompleted), record: done, times: 2},
		"in a transaction": {
			job: job{Transact: true}, lines: lines(eventStart, eventEffect, eventCompleted, eventFinish, "duplicate"), record: done, times: 1,
		},
		"parked":       {record: record{status: "rejected", attempts: budget}, parked: []int{budget}},
		"parked twice": {job: job{Fail: budget}, record: record{status: "in_progress", attempts: budget}, parked: []int{budget, budget}},
		"unrecorded": {
			lines: lines(eventStart, eventEffect, eventFinish, eventUnrecorded, "done"), record: record{status: "in_progress", attempts: 1}, times: 1,
		},
	} {
		if faults := f.faults(); faults != nil {
			t.Errorf("%s: %q", name, faults)
		}
	}
}

// What may not, each of them one change away from what may.
func TestBadFates(t *testing.T) {
	t.Parallel()
	const (
		start, effect, completed = eventStart, eventEffect, eventCompleted
		finish                   = eventFinish
	)
	done, transact := record{status: completed, attempts: 1}, job{Transact: true}
	ran := lines(start, effect, completed)
	for want, f := range map[string]fate{
		"it is still in the queue":                                     {lines: ran, record: done, times: 1, left: true},
		"SQS moved it to the dead-letter queue":                        {record: record{status: "failed", attempts: 1}, moved: true},
		"it is done, and parked":                                       {lines: ran, record: done, times: 1, parked: []int{budget}},
		"it is lost: neither done nor parked":                          {lines: lines(start, effect, finish), record: record{status: "in_progress"}, times: 1},
		"it was parked after 5 attempts of 6":                          {record: record{status: "rejected", attempts: 5}, parked: []int{5}},
		"7 attempts are recorded, of 6":                                {lines: ran, record: record{status: completed, attempts: 7}, times: 1},
		"it cannot succeed, and was not parked":                        {job: job{Fail: budget}, lines: ran, record: done, times: 1},
		"its effect happened 2 times, in a transaction":                {job: transact, lines: lines(start, effect, effect, completed), record: done, times: 2},
		"its effect happened 1 times, and it is not done":              {job: transact, lines: lines(start, effect), times: 1, parked: []int{budget}},
		"it is done without its effect":                                {lines: lines(start, completed), record: done},
		"it ran after its completion was recorded (run 0)":             {lines: lines(start, effect, finish, completed, start), record: done, times: 1},
		"it ran twice at once (run 0)":                                 {lines: lines(start, start, effect, completed), record: done, times: 1},
		"attempt 1 came after attempt 1, of 6":                         {lines: append(lines(start, "fail"), ran...), record: done, times: 1},
		"attempt 7 came after attempt 0, of 6":                         {lines: []line{{event: start, attempt: 7}}, parked: []int{budget}},
		"its effect happened after its completion was recorded":        {lines: lines(start, effect, completed, effect), record: done, times: 2},
		"it was completed twice":                                       {lines: lines(start, effect, completed, completed), record: done, times: 1},
		"the journal has 1 effects, the table 2: the test itself":      {lines: ran, record: done, times: 2},
		"completed: by the journal false, by the table true: the test": {lines: lines(start, effect), record: done, times: 1},
	} {
		faults := f.faults()
		if len(faults) != 1 || !strings.HasPrefix(faults[0], want) {
			t.Errorf("%q, want %q and nothing else", faults, want)
		}
	}
}
