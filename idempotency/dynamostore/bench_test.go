package dynamostore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackwise/ackwise/idempotency"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
	"github.com/ackwise/ackwise/idempotency/storetest"
)

// messages is how many there are in a batch, all at once.
const messages = 10

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) storetest.Harness {
		b.Helper()
		return storetest.Harness{Store: newStore(b, newFake().client(), dynamostore.Config{})}
	})
}

// BenchmarkAgainstRaw compares a batch with what one would write by hand: a loop
// of goroutines that each make a conditional UpdateItem before the work and
// another after it. Each call takes 5 ms. The two take turns, so that whatever
// else the machine does slows both; "ratio" is the time of ours over theirs.
func BenchmarkAgainstRaw(b *testing.B) {
	for _, bc := range []struct {
		name string
		done bool // before the measurement
	}{{"FirstRun", false}, {"Duplicate", true}} {
		b.Run(bc.name, func(b *testing.B) {
			f := newFake()
			client := f.client()
			s := newStore(b, client, dynamostore.Config{})
			ours := func(ctx context.Context, id string) error { return runStore(ctx, s, id) }
			theirs := func(ctx context.Context, id string) error { return runRaw(ctx, client, id) }
			if bc.done {
				batch(b, ours, "ours/0", false)
				batch(b, theirs, "raw/0", false)
			}
			defer f.breakAll(fault{delay: 5 * time.Millisecond})()
			var took [2]time.Duration
			n := 0
			for b.Loop() {
				if !bc.done {
					n++
				}
				took[0] += batch(b, ours, fmt.Sprint("ours/", n), bc.done)
				took[1] += batch(b, theirs, fmt.Sprint("raw/", n), bc.done)
			}
			b.ReportMetric(float64(took[0].Microseconds())/1000/float64(b.N), "ours-ms")
			b.ReportMetric(float64(took[1].Microseconds())/1000/float64(b.N), "raw-ms")
			b.ReportMetric(float64(took[0])/float64(took[1]), "ratio")
		})
	}
}

// batch runs messages at once and says how long they took. They all run, or are
// all refused.
func batch(b *testing.B, run func(ctx context.Context, id string) error, stem string, refused bool) time.Duration {
	b.Helper()
	began := time.Now()
	errs := make([]error, messages)
	var wg sync.WaitGroup
	for i := range messages {
		wg.Go(func() { errs[i] = run(b.Context(), fmt.Sprint(stem, "/", i)) })
	}
	wg.Wait()
	took := time.Since(began)
	for _, err := range errs {
		if (err != nil) != refused {
			b.Fatalf("%s: %v; want it refused: %t", stem, err, refused)
		}
	}
	return took
}

func runStore(ctx context.Context, s *dynamostore.Store, id string) error {
	g, err := idempotency.New(s, idempotency.Config{Namespace: "bench"})
	if err != nil {
		return err
	}
	c, err := g.Claim(ctx, idempotency.Work{Kind: "id", Key: id, Life: life, MaxAttempts: budget})
	if err != nil {
		return err
	}
	return c.Complete(ctx)
}

func runRaw(ctx context.Context, client *dynamodb.Client, id string) error {
	in := func(to, condition string) *dynamodb.UpdateItemInput {
		return &dynamodb.UpdateItemInput{
			TableName: aws.String(table), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: id}},
			UpdateExpression: aws.String("SET #st = :to"), ConditionExpression: &condition,
			ExpressionAttributeNames: map[string]string{"#st": "st"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":to": &types.AttributeValueMemberS{Value: to}, ":from": &types.AttributeValueMemberS{Value: "in_progress"},
			},
		}
	}
	if _, err := client.UpdateItem(ctx, in("in_progress", "attribute_not_exists(#st) OR #st = :from")); err != nil {
		return err
	}
	_, err := client.UpdateItem(ctx, in("completed", "#st = :from"))
	return err
}
