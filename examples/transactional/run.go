package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

// visibility is how long the order stays hidden after the first worker died:
// short, so that nobody has to wait. On AWS it would be six times the function's
// timeout.
const (
	visibility      = 5 * time.Second
	functionTimeout = 5 * time.Second
)

// the one message, and what the customer has.
var theOrder = order{ID: "4711", Customer: "sam", Amount: 30}

const deposit = 100

// run sends the order, has it booked by two workers one after the other, and
// prints what came of it. It returns an error unless it was booked exactly once.
func run(ctx context.Context, endpoint string, w io.Writer) error {
	client, closeIdle, err := newClient(ctx, endpoint)
	if err != nil {
		return err
	}
	defer closeIdle()
	name := "ackwise-example-" + strings.ToLower(rand.Text()[:8])
	s := &shop{client: client, table: name + "-shop"}
	t := task{DynamoDB: endpoint, Claims: name + "-claims", Shop: s.table}
	defer deleteTables(ctx, client, w, t.Claims, t.Shop)
	if err := dynamostore.CreateTable(ctx, client, t.Claims); err != nil {
		return err
	}
	if err := s.open(ctx, theOrder.Customer, deposit); err != nil {
		return err
	}

	server := sqstest.NewServer(sqstest.Config{})
	defer server.Close()
	if t.SQS, err = server.Listen(""); err != nil {
		return err
	}
	queue, err := server.CreateQueue("orders", sqstest.QueueConfig{Visibility: visibility})
	if err != nil {
		return err
	}
	t.Queue = queue.URL()
	if err := show(ctx, queue, t, w); err != nil {
		return err
	}
	return s.report(ctx, w, queue.Len())
}

// show sends the order and has it received twice: by a worker that dies once its
// transaction is committed, and by one that finds it done.
func show(ctx context.Context, queue *sqstest.Queue, t task, w io.Writer) error {
	body, err := json.Marshal(theOrder)
	if err != nil {
		return err
	}
	queue.Send(string(body))
	printf(w, "%s has %d. Order %s, for %d, is in the queue.\n\n", theOrder.Customer, deposit, theOrder.ID, theOrder.Amount)

	t.Worker, t.Dies = 1, true
	switch err := spawn(ctx, t, w); {
	case err == nil:
		return errors.New("worker 1 ended by itself, and was to be killed after its transaction")
	case !errors.Is(err, errKilled):
		return fmt.Errorf("worker 1: %w", err)
	}
	for _, m := range queue.Messages() {
		printf(w, "worker 1 is dead (SIGKILL); the message is %s, received %d time.\n\n", m.State, m.ReceiveCount)
	}
	if queue.Len() != 1 {
		return fmt.Errorf("the queue has %d messages after the first worker, want 1", queue.Len())
	}
	t.Worker, t.Dies = 2, false
	if err := spawn(ctx, t, w); err != nil {
		return fmt.Errorf("worker 2: %w", err)
	}
	return nil
}

// errKilled says that a worker was killed.
var errKilled = errors.New("killed")

// spawn runs a worker in a process of its own until that ends.
func spawn(ctx context.Context, t task, w io.Writer) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, exe) //nolint:gosec // this very program
	cmd.Env = append(os.Environ(), workerEnv+"="+string(text))
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	err = cmd.Run()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case failed && !exit.Exited():
		return errKilled
	default:
		return err
	}
}
