package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/ackwise/ackwise/consumer"
	"github.com/ackwise/ackwise/consumer/dlq"
	"github.com/ackwise/ackwise/consumer/envelope"
	"github.com/ackwise/ackwise/consumer/lambdasqs"
	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

// defaultAttempts is how many attempts an order gets where a table counts them.
const defaultAttempts = 5

// newAdapter is apart from main so that tests run the very pipeline that the
// function does. It makes no call of AWS.
func newAdapter(cfg aws.Config, getenv func(string) string, log *slog.Logger) (*lambdasqs.Adapter, error) {
	var client *sqs.Client
	if offline := getenv("AWS_SAM_LOCAL") != "" && getenv("AWS_ENDPOINT_URL") == ""; !offline {
		client = sqs.NewFromConfig(cfg)
	}
	c, err := newConsumer(cfg, client, getenv, log)
	if err != nil {
		return nil, err
	}
	return lambdasqs.New(c, lambdasqs.Config{SQS: client})
}

// newConsumer takes a nil client for a function that is to make no calls.
func newConsumer(cfg aws.Config, client *sqs.Client, getenv func(string) string, log *slog.Logger) (*consumer.Consumer, error) {
	c := consumer.Config{Logger: log}
	handler, key, err := formOf(getenv("ORDERS_SNS"), consumer.JSON(desk{log}.book), consumer.JSONField("id"))
	if err != nil {
		return nil, err
	}
	attempts, err := maxAttempts(getenv("ORDERS_MAX_ATTEMPTS"))
	if err != nil {
		return nil, err
	}
	if url := getenv("ORDERS_DEAD_LETTER_URL"); url != "" && client != nil {
		c.DeadLetter = dlq.New(client, url)
	}
	if table := getenv("ORDERS_TABLE"); table != "" && client != nil {
		store, err := dynamostore.New(dynamodb.NewFromConfig(cfg), table, dynamostore.Config{})
		if err != nil {
			return nil, err
		}
		if c.Idempotency, err = idempotency.New(store, idempotency.Config{Logger: log}); err != nil {
			return nil, err
		}
		// The order's own id: a message that was sent twice, or redriven, has
		// another message id.
		c.Key = consumer.Strict(key)
		c.Redelivery.MaxAttempts = attempts
	}
	return consumer.New(handler, c)
}

// formOf is how orders come: as they are, since the template's subscription has raw
// delivery, or, if the setting says so, in SNS's envelope as well. Nothing is taken
// for an envelope where none is expected: whoever may send to the queue could write
// one.
func formOf(setting string, h consumer.Handler, k consumer.KeyFunc) (consumer.Handler, consumer.KeyFunc, error) {
	switch setting {
	case "":
		return h, k, nil
	case "wrapped":
		return envelope.SNSOrRaw(h), envelope.SNSOrRawKey(k), nil
	default:
		return nil, nil, fmt.Errorf("ORDERS_SNS is %q: set it to wrapped where a subscription of the queue has no raw delivery, or leave it out", setting)
	}
}

func maxAttempts(text string) (int, error) {
	if text == "" {
		return defaultAttempts, nil
	}
	n, err := strconv.Atoi(text)
	if err == nil && n < 1 {
		err = errors.New("less than 1")
	}
	if err != nil {
		return 0, fmt.Errorf("ORDERS_MAX_ATTEMPTS is %q: set it to a number from 1 on, or leave it out for the default of %d", text, defaultAttempts)
	}
	return n, nil
}
