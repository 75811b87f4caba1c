package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// job is what a consumer is given to do.
type job struct {
	client   *sqs.Client
	queueURL string
	handle   func(body string) // the user's work on one message; never fails
}

// consumer is one row of the table.
type consumer struct {
	name     string
	settings string

	// part divides the messages of a stub server's scenario, for those that
	// would take minutes over them; 0 is 1. Every figure is per message or per
	// second.
	part int

	// run consumes until ctx ends. What it returns then is of no interest;
	// returning earlier is a failure.
	run func(ctx context.Context, j job) error
}

// Names that targets are about.
const (
	ours        = "Ackwise, prefetch 90"
	oursDefault = "Ackwise, defaults"
	oursDeep    = "Ackwise, prefetch 490"
	loopWorkers = "SDK loop, 10 workers"
	loopBarrier = "SDK loop, batch barrier"
	loopSingle  = "SDK loop, single deletes"
	goCloud     = "Go Cloud pubsub"
)

// workers is how many messages each consumer may work on at once.
const workers = 10

// consumers are the rows, in the order of the table.
func consumers() []consumer {
	return []consumer{
		{
			name:     ours,
			settings: "Concurrency 10, Prefetch 90: in hand at most what the loop of ten workers has",
			run:      runAckwise(90),
		},
		{
			name:     oursDefault,
			settings: "Concurrency 10, Prefetch 10, both by default",
			part:     2,
			run:      runAckwise(0),
		},
		{
			name:     oursDeep,
			settings: "Concurrency 10, Prefetch 490",
			run:      runAckwise(490),
		},
		{
			name: loopWorkers,
			settings: "ten goroutines; each receives ten, handles one after another, deletes the ten " +
				"in one call: the ceiling",
			run: runWorkers,
		},
		{
			name: loopBarrier,
			settings: "one goroutine; receives ten, handles them in ten goroutines, waits for all, " +
				"deletes the ten in one call",
			part: 10,
			run:  runBarrier,
		},
		{
			name: loopSingle,
			settings: "two goroutines receive tens into a channel, ten goroutines take from it, " +
				"handle one and delete it by itself",
			part: 4,
			run:  runSingle,
		},
		{
			name:     goCloud,
			settings: "gocloud.dev/pubsub/awssnssqs, default options, ten goroutines that Receive and Ack",
			run:      runGoCloud,
		},
	}
}

// messages is how many of a scenario's messages the consumer gets.
func (c *consumer) messages(s *scenario) int {
	if s.all {
		return s.messages
	}
	return max(s.messages/max(c.part, 1), 10)
}
