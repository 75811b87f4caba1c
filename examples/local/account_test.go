package main

import (
	"encoding/json"
	"io"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

func TestAccount(t *testing.T) {
	t.Parallel()
	l := newLedger(io.Discard, false)
	for _, id := range []string{"done", "parked", "moved", "left", "lost", "both"} {
		l.add(id, line{})
	}
	parked := func(copied, original string) sqstest.MessageState {
		p, err := json.Marshal(dlq.Provenance{MessageID: original, Error: "why"})
		if err != nil {
			t.Fatal(err)
		}
		return sqstest.MessageState{ID: copied, Attributes: map[string]types.MessageAttributeValue{dlq.AttributeName: text(string(p))}}
	}
	a := draw(l,
		[]sqstest.MessageState{{ID: "left"}, {ID: "both"}},
		[]sqstest.MessageState{parked("c1", "parked"), parked("c2", "parked"), {ID: "moved"}, {ID: "stranger"}, parked("c3", "other")},
		// A message that is done and still in the queue comes back: it is left.
		map[string]int{"done": 1, "both": 1})

	for name, c := range map[string]struct {
		want []string
		got  []*entry
	}{
		"done":   {[]string{"done"}, a.done},
		"parked": {[]string{"parked"}, a.parked},
		"moved":  {[]string{"moved"}, a.moved},
		"left":   {[]string{"left", "both"}, a.left},
		"lost":   {[]string{"lost"}, a.lost},
	} {
		var got []string
		for _, e := range c.got {
			got = append(got, e.id)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff([]string{"stranger", "c3"}, a.strangers); diff != "" {
		t.Errorf("strangers (-want +got):\n%s", diff)
	}
	if a.copies != 1 || a.sent != 6 || a.reasons["parked"].Error != "why" {
		t.Errorf("%d copies of %d messages, reason %q", a.copies, a.sent, a.reasons["parked"].Error)
	}
}

// One entry of any of the bad kinds keeps the account from being closed.
func TestAccountClosed(t *testing.T) {
	t.Parallel()
	one := []*entry{{}}
	for name, c := range map[string]struct {
		a    account
		want bool
	}{
		"done and dead": {account{done: one, parked: one, moved: one}, true},
		"left":          {account{left: one}, false},
		"lost":          {account{lost: one}, false},
		"stranger":      {account{strangers: []string{"x"}}, false},
	} {
		if got := c.a.closed(); got != c.want {
			t.Errorf("%s: closed is %v", name, got)
		}
	}
}
