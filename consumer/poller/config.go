// Package poller runs a consumer in a process that lives for long, such as a
// container on ECS: it receives from an SQS queue, keeps what it has invisible to
// others, deletes what is done and gives the rest back.
//
//	p, err := poller.New(c, poller.Config{SQS: client, QueueURL: url})
//	…
//	err = p.RunUntilSignal(context.Background())
//
// The program needs sqs:ReceiveMessage, sqs:DeleteMessage,
// sqs:ChangeMessageVisibility and sqs:GetQueueAttributes on the queue.
package poller

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
)

// Defaults of Config.
const (
	DefaultMaxHold  = time.Hour
	DefaultGrace    = 25 * time.Second
	DefaultPrefetch = 10
)

// Config configures a [Poller]. SQS and QueueURL are needed; the zero value of
// everything else means its default. Concurrency, retries, attempts and the
// dead-letter queue are the consumer's.
type Config struct {
	// SQS makes the calls.
	SQS *sqs.Client
	// QueueURL is the whole URL of the queue.
	QueueURL string
	// Visibility is for how long messages are hidden from others when they are
	// received, and each time they are extended: when the process dies, they are
	// delivered again after so long. Whole seconds, at least 2 s and at most 12 h.
	// Default: the queue's own visibility timeout, but at least 10 s.
	Visibility time.Duration
	// Beat is how often messages in hand are extended, those that wait for a slot
	// included, by one call for ten, and how often the claims on their keys are
	// renewed. At most half of Visibility, and half of the lease of the guard
	// ([idempotency.Config].Lease) with a store. Default: a third of the shorter one.
	Beat time.Duration
	// MaxHold is how long a message is kept invisible for its handler at the longest.
	// One that is still running then is cancelled with [consumer.ErrLeaseLost], and
	// the message is delivered again: so a handler that hangs does not keep it for
	// ever. What waits for its slot or its turn is kept too, and does not count;
	// all in all it is at most 12 hours less a minute from the receive. At least Visibility (10 s where that is
	// the queue's own, which is cut to MaxHold), at most 12 hours less a minute,
	// which is what SQS allows. Default 1 h, or Visibility if that is longer.
	MaxHold time.Duration
	// Grace is how long running handlers may go on after a drain has begun. Then
	// their contexts end with [consumer.ErrDraining], and Run returns within
	// another 5 s. At least 1 s. Default 25 s, which fits the 30 s that ECS leaves
	// between SIGTERM and SIGKILL (stopTimeout).
	Grace time.Duration
	// Prefetch is how many messages are taken in advance of those that run: no
	// more than the consumer's Concurrency and this are in hand at once. Less than
	// 10 costs receive calls that bring less than ten messages, and deletes of less. Calls to an SQS
	// that is far away need more of it to keep all slots busy: by as much as is
	// handled during one round trip. Negative for none. Default 10. On a FIFO queue
	// it is nine times Concurrency: SQS fills a receive from one group as long as it
	// can, the messages behind the first wait for it, and so it takes ten in hand
	// for each slot to be sure of as many groups as there are slots.
	Prefetch int
	// Receivers is how many receive calls may be in flight at once. There is one
	// while there is little to do, and one more each time that a call brings all
	// it asked for. Default: as many as Concurrency and Prefetch have room for, by
	// tens.
	Receivers int
	// ProtectTask protects the ECS task from scale-in while it has messages in
	// hand, through the agent at ECS_AGENT_URI. The task's role needs
	// ecs:UpdateTaskProtection. Default false.
	ProtectTask bool
}

const (
	minVisibility  = 2 * time.Second
	leastOfDefault = 10 * time.Second // a queue's own visibility timeout may be 0
	maxVisibility  = 12 * time.Hour
	longestHold    = maxVisibility - time.Minute
	minGrace       = time.Second
	minBeat        = 50 * time.Millisecond
)

func (cfg *Config) validate(c *consumer.Consumer) error {
	if c == nil {
		return errors.New("the consumer is nil; make one with consumer.New")
	}
	if cfg.SQS == nil {
		return errors.New("SQS is nil; set it to a client, for instance sqs.NewFromConfig(cfg)")
	}
	if o := cfg.SQS.Options(); o.Region == "" && o.BaseEndpoint == nil {
		return errors.New("the SQS client has no region; set AWS_REGION, or the Region of its configuration")
	}
	if err := validateURL(cfg.QueueURL); err != nil {
		return err
	}
	switch {
	case cfg.Visibility != 0 && cfg.Visibility < minVisibility:
		return fmt.Errorf("Visibility is %v; use %v or more, or 0 for the queue's own", cfg.Visibility, minVisibility)
	case cfg.Visibility > maxVisibility:
		return fmt.Errorf("Visibility is %v; use %v or less: SQS hides a message no longer", cfg.Visibility, maxVisibility)
	case cfg.Visibility%time.Second != 0:
		return fmt.Errorf("Visibility is %v; use whole seconds, which is what SQS takes", cfg.Visibility)
	case cfg.Beat != 0 && cfg.Beat < minBeat:
		return fmt.Errorf("Beat is %v; use %v or more, or 0 for a third of Visibility", cfg.Beat, minBeat)
	case cfg.MaxHold < 0:
		return fmt.Errorf("MaxHold is %v; use 0 for the default of %v", cfg.MaxHold, DefaultMaxHold)
	case cfg.MaxHold > longestHold:
		return fmt.Errorf("MaxHold is %v; use %v or less: SQS hides a message no longer than %v from its receive", cfg.MaxHold, longestHold, maxVisibility)
	case cfg.MaxHold > 0 && cfg.Visibility == 0 && cfg.MaxHold < leastOfDefault:
		return fmt.Errorf("MaxHold is %v; use %v or more, or set Visibility to no more than that", cfg.MaxHold, leastOfDefault)
	case cfg.Grace != 0 && cfg.Grace < minGrace:
		return fmt.Errorf("Grace is %v; use %v or more, or 0 for the default of %v: running handlers need time to finish", cfg.Grace, minGrace, DefaultGrace)
	case cfg.Receivers < 0:
		return fmt.Errorf("Receivers is %d; use 1 for a single one, or 0 for as many as there is work for", cfg.Receivers)
	}
	if err := c.CheckQueue(consumer.Queue{Name: nameOf(cfg.QueueURL), FIFO: sqsqueue.IsFIFO(cfg.QueueURL)}); err != nil {
		return err
	}
	if cfg.Visibility == 0 {
		return nil // the rest can be judged when the queue's own is known
	}
	_, err := cfg.timing(c, 0)
	return err
}

func validateURL(s string) error {
	switch u, err := url.Parse(s); {
	case s == "":
		return errors.New("QueueURL is empty; set it to the URL of the queue, https://sqs.REGION.amazonaws.com/ACCOUNT/NAME")
	case strings.HasPrefix(s, "arn:"):
		return fmt.Errorf("QueueURL is an ARN, %q; use the queue's URL, https://sqs.REGION.amazonaws.com/ACCOUNT/NAME", s)
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || nameOf(s) == "":
		return fmt.Errorf("QueueURL is %q; use the whole URL of the queue, https://sqs.REGION.amazonaws.com/ACCOUNT/NAME", s)
	}
	return nil
}

func nameOf(queueURL string) string {
	u, err := url.Parse(queueURL)
	if err != nil {
		return ""
	}
	return u.Path[strings.LastIndexByte(u.Path, '/')+1:]
}

// timing is how messages are kept.
type timing struct{ visibility, beat, hold time.Duration }

// timing works out what was left to its default, for a queue with a visibility
// timeout of own.
func (cfg *Config) timing(c *consumer.Consumer, own time.Duration) (timing, error) {
	t := timing{visibility: cfg.Visibility, beat: cfg.Beat, hold: cfg.MaxHold}
	whose := ""
	if t.visibility == 0 {
		t.visibility, whose = max(own, leastOfDefault), ", the queue's own"
	}
	if t.hold == 0 {
		t.hold = min(max(DefaultMaxHold, t.visibility), longestHold)
	}
	t.visibility = min(t.visibility, t.hold).Truncate(time.Second)
	guard := c.Config().Idempotency
	if t.beat == 0 {
		if t.beat = t.visibility / 3; guard != nil {
			t.beat = min(t.beat, guard.Lease()/3)
		}
	}
	switch {
	case t.beat > t.visibility/2:
		return t, fmt.Errorf("Beat is %v with a Visibility of %v%s; use half of that or less, so that one beat may fail, or 0 for a third",
			t.beat, t.visibility, whose)
	case cfg.MaxHold > 0 && cfg.MaxHold < cfg.Visibility:
		return t, fmt.Errorf("MaxHold is %v and Visibility %v; make MaxHold the longer one, or leave it at 0", cfg.MaxHold, cfg.Visibility)
	case guard != nil && guard.Lease() < 2*t.beat:
		return t, fmt.Errorf("the lease of the idempotency guard is %v and Beat %v; claims are renewed with each beat: "+
			"use a lease of two beats or more, or a shorter Beat", guard.Lease(), t.beat)
	}
	return t, nil
}
