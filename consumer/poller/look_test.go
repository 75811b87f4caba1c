package poller_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/sqstest"
)

// warnings are the warnings of a poller that was started and drained.
func warnings(t *testing.T, spoil func(*setup, *sqstest.Server)) []string {
	t.Helper()
	srv := sqstest.NewServer(sqstest.Config{})
	dead, err := srv.CreateQueue("dead", sqstest.QueueConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s := setup{srv: srv, cfg: steady(), about: sqstest.QueueConfig{DeadLetter: dead, MaxReceives: 50}}
	spoil(&s, srv)
	r := newRig(t, s)
	r.run()
	r.after(time.Second)
	r.drained()
	var found []string
	for line := range strings.Lines(r.log.String()) {
		if !contains(line, r.q.URL()) {
			t.Errorf("does not say which queue: %s", line)
		}
		found = append(found, line)
	}
	return found
}

func TestLook_AWellConfiguredQueueGivesNoWarning(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*setup, *sqstest.Server){
		"redrive policy": func(*setup, *sqstest.Server) {},
		"five receives, no budget": func(s *setup, _ *sqstest.Server) {
			s.about.MaxReceives = 5
		},
		"our own dead-letter queue and budget": func(s *setup, srv *sqstest.Server) {
			s.about.DeadLetter = nil
			s.cfg, _ = guarded(t, s.cfg, 0)
			s.cfg.Redelivery.MaxAttempts = 5
			s.cfg.DeadLetter = dlq.New(srv.Client(), srv.Queue("dead").URL())
		},
		"budget and backstop": func(s *setup, _ *sqstest.Server) {
			s.cfg, _ = guarded(t, s.cfg, 0)
			s.cfg.Redelivery.MaxAttempts = 5
		},
		"age": func(s *setup, _ *sqstest.Server) { s.cfg.Redelivery.MaxAge = 24 * time.Hour },
		"short visibility that is meant": func(s *setup, _ *sqstest.Server) {
			s.about.Visibility, s.poller.Visibility = 5*time.Second, 40*time.Second
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				want(t, "warnings", warnings(t, spoil), nil)
			})
		})
	}
}

// Each warning says what to change.
func TestLook_Warnings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*setup, *sqstest.Server)
		says  string
	}{
		"nothing takes what always fails": {func(s *setup, _ *sqstest.Server) { s.about.DeadLetter = nil }, "no redrive policy and the consumer no DeadLetter"},
		"nothing takes what fails for ever": {func(s *setup, srv *sqstest.Server) {
			s.about.DeadLetter = nil
			s.cfg.DeadLetter = dlq.New(srv.Client(), srv.Queue("dead").URL())
		}, "no MaxAttempts"},
		"backstop below the budget": {func(s *setup, _ *sqstest.Server) {
			s.cfg, _ = guarded(t, s.cfg, 0)
			s.cfg.Redelivery.MaxAttempts, s.about.MaxReceives = 5, 29
		}, "maxReceiveCount counts deferred"},
		"few receives": {func(s *setup, _ *sqstest.Server) { s.about.MaxReceives = 4 }, "maxReceiveCount is low"},
		"age beyond the retention": {func(s *setup, _ *sqstest.Server) {
			s.cfg.Redelivery.MaxAge = 4 * 24 * time.Hour
		}, "MaxAge is not shorter"},
		"retention below the work": {func(s *setup, _ *sqstest.Server) {
			s.about.Retention = 2 * time.Hour
		}, "hardly longer"},
		"short visibility": {func(s *setup, _ *sqstest.Server) { s.about.Visibility = 9 * time.Second }, "visibility timeout is short"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				found := warnings(t, c.spoil)
				if len(found) != 1 || !contains(found[0], c.says) || !contains(found[0], "level=WARN") {
					t.Errorf("warnings: %q", found)
				}
			})
		})
	}
}

// A logger that panics does not end the process.
func TestLook_LoggerThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{cfg: consumer.Config{Logger: panicking()}, about: sqstest.QueueConfig{Visibility: 5 * time.Second}})
		r.q.Send("a")
		r.run()
		r.after(time.Second)
		want(t, "left", r.q.Len(), 0)
		r.drained()
	})
}
