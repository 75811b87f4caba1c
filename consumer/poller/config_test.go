package poller_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/poller"
	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/memstore"
)

const (
	someURL = "https://sqs.eu-central-1.amazonaws.com/111122223333/orders"
	fifoURL = someURL + ".fifo"
)

var succeeds = consumer.HandlerFunc(func(context.Context, *consumer.Message) error { return nil })

// Everything that is wrong with a configuration by itself is an error of New, which
// names the field, its value and what to do instead.
func TestNew_Errors(t *testing.T) {
	t.Parallel()
	client := sqs.New(sqs.Options{Region: "eu-central-1"})
	for name, c := range map[string]struct {
		cfg  func(*poller.Config)
		says []string
	}{
		"no client":           {func(c *poller.Config) { c.SQS = nil }, []string{"SQS is nil", "sqs.NewFromConfig"}},
		"no URL":              {func(c *poller.Config) { c.QueueURL = "" }, []string{"QueueURL is empty", "https://sqs."}},
		"an ARN":              {func(c *poller.Config) { c.QueueURL = "arn:aws:sqs:eu-central-1:1:orders" }, []string{"is an ARN", "the queue's URL"}},
		"a name":              {func(c *poller.Config) { c.QueueURL = "orders" }, []string{`QueueURL is "orders"`, "whole URL"}},
		"a host":              {func(c *poller.Config) { c.QueueURL = "https://sqs.eu-central-1.amazonaws.com" }, []string{"whole URL"}},
		"a slash at the end":  {func(c *poller.Config) { c.QueueURL += "/" }, []string{"whole URL"}},
		"another scheme":      {func(c *poller.Config) { c.QueueURL = "ftp://host/1/orders" }, []string{"whole URL"}},
		"no URL at all":       {func(c *poller.Config) { c.QueueURL = "https://%" }, []string{"whole URL"}},
		"short visibility":    {func(c *poller.Config) { c.Visibility = time.Second }, []string{"Visibility is 1s", "2s or more", "0 for"}},
		"negative visibility": {func(c *poller.Config) { c.Visibility = -time.Second }, []string{"Visibility is -1s", "2s or more"}},
		"long visibility":     {func(c *poller.Config) { c.Visibility = 12*time.Hour + time.Second }, []string{"Visibility is 12h0m1s", "12h0m0s or less"}},
		"half a second":       {func(c *poller.Config) { c.Visibility = 30500 * time.Millisecond }, []string{"Visibility is 30.5s", "whole seconds"}},
		"negative beat":       {func(c *poller.Config) { c.Beat = -1 }, []string{"Beat is -1ns", "0 for a third"}},
		"long beat": {func(c *poller.Config) {
			c.Visibility, c.Beat = 30*time.Second, 16*time.Second
		}, []string{"Beat is 16s", "Visibility of 30s", "half of that"}},
		"negative hold": {func(c *poller.Config) { c.MaxHold = -1 }, []string{"MaxHold is -1ns", "0 for the default of 1h"}},
		"long hold":     {func(c *poller.Config) { c.MaxHold = 12 * time.Hour }, []string{"MaxHold is 12h0m0s", "11h59m0s or less"}},
		"hold and visibility": {func(c *poller.Config) {
			c.Visibility, c.MaxHold = time.Minute, 59*time.Second
		}, []string{"MaxHold is 59s", "Visibility 1m0s", "the longer one"}},
		"short hold":           {func(c *poller.Config) { c.MaxHold = 9 * time.Second }, []string{"MaxHold is 9s", "10s or more"}},
		"negative grace":       {func(c *poller.Config) { c.Grace = -time.Second }, []string{"Grace is -1s", "1s or more", "default of 25s"}},
		"short grace":          {func(c *poller.Config) { c.Grace = time.Millisecond }, []string{"Grace is 1ms", "1s or more"}},
		"negative receivers":   {func(c *poller.Config) { c.Receivers = -1 }, []string{"Receivers is -1", "1 for a single one"}},
		"protection elsewhere": {func(c *poller.Config) { c.ProtectTask = true }, []string{"ProtectTask", "ECS_AGENT_URI"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			con, err := consumer.New(succeeds, consumer.Config{})
			if err != nil {
				t.Fatal(err)
			}
			cfg := poller.Config{SQS: client, QueueURL: someURL}
			c.cfg(&cfg)
			_, err = poller.New(con, cfg)
			wantSaid(t, err, c.says...)
		})
	}
	_, err := poller.New(nil, poller.Config{SQS: client, QueueURL: someURL})
	wantSaid(t, err, "the consumer is nil", "consumer.New")
}

func wantSaid(t *testing.T, err error, says ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, s := range append(says, "poller: ") {
		if !contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}

// What contradicts the consumer's own configuration is an error too.
func TestNew_ErrorsWithTheConsumer(t *testing.T) {
	t.Parallel()
	client := sqs.New(sqs.Options{Region: "eu-central-1"})
	guard, err := idempotency.New(memstore.New(), idempotency.Config{Lease: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		con  consumer.Config
		cfg  poller.Config
		says []string
	}{
		"FIFO queue, standard dead-letter queue": {
			consumer.Config{DeadLetter: dlq.New(client, someURL+"-dead")}, poller.Config{QueueURL: fifoURL},
			[]string{"DeadLetter", "FIFO"},
		},
		"standard queue, FIFO dead-letter queue": {
			consumer.Config{DeadLetter: dlq.New(client, fifoURL)}, poller.Config{QueueURL: someURL},
			[]string{"DeadLetter", "FIFO"},
		},
		"lease below two beats": {
			consumer.Config{Idempotency: guard}, poller.Config{QueueURL: someURL, Visibility: time.Minute, Beat: 20 * time.Second},
			[]string{"lease", "30s", "Beat 20s", "two beats"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			con, err := consumer.New(succeeds, c.con)
			if err != nil {
				t.Fatal(err)
			}
			c.cfg.SQS = client
			_, err = poller.New(con, c.cfg)
			wantSaid(t, err, c.says...)
		})
	}
}

// What can only be judged by the queue is an error of Run, at once.
func TestRun_ErrorsWithTheQueue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own   time.Duration
		cfg   poller.Config
		lease time.Duration
		says  []string
	}{
		"beat":  {20 * time.Second, poller.Config{Beat: 11 * time.Second}, 0, []string{"Beat is 11s", "20s, the queue's own", "half"}},
		"lease": {2 * time.Minute, poller.Config{Beat: 40 * time.Second}, 30 * time.Second, []string{"lease", "30s", "Beat 40s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg, _ := guarded(t, steady(), c.lease)
				r := newRig(t, setup{cfg: cfg, poller: c.cfg, about: sqstest.QueueConfig{Visibility: c.own}})
				r.run()
				wantSaid(t, <-r.done, c.says...)
				want(t, "receives", len(r.calls("ReceiveMessage")), 0)
				r.silent(time.Now())
			})
		})
	}
}

// What is fine, at the edges.
func TestNew_Accepts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own time.Duration
		cfg poller.Config
	}{
		"defaults": {30 * time.Second, poller.Config{}},
		"least": {30 * time.Second, poller.Config{
			Visibility: 2 * time.Second, Beat: time.Second, MaxHold: 2 * time.Second, Grace: time.Second, Prefetch: -1, Receivers: 1,
		}},
		"most":                             {30 * time.Second, poller.Config{Visibility: 12 * time.Hour, Grace: time.Hour, Prefetch: 100_000, Receivers: 1000}},
		"the queue's longest":              {12 * time.Hour, poller.Config{}},
		"a hold below the queue's timeout": {30 * time.Second, poller.Config{MaxHold: 12 * time.Second}},
		"the least hold":                   {30 * time.Second, poller.Config{MaxHold: 10 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, setup{cfg: steady(), poller: c.cfg, about: sqstest.QueueConfig{Visibility: c.own}})
				r.q.Send("a")
				r.run()
				r.after(time.Second)
				want(t, "left", r.q.Len(), 0)
				select {
				case err := <-r.done:
					t.Error(err)
				default:
					r.drained()
				}
			})
		})
	}
}

// The queue's ARN is what idempotency keys are kept apart by.
func TestRun_WithoutAnARN(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{over: withoutARN})
		r.run()
		if err := <-r.done; err == nil || !contains(err.Error(), "ARN") || errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
}
