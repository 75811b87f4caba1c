package crashtest_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ackwise/ackwise/consumer/sqstest"
	"github.com/ackwise/ackwise/idempotency/dynamostore"
)

// stage is what outlives the workers: the queues, the tables and the journal.
type stage struct {
	t           *testing.T
	queue, dead *sqstest.Queue
	gate        *gate
	db          *dynamodb.Client // not by way of the gate
	settings    settings
	sent        map[int]job
}

// backstop is the queue's maxReceiveCount: high, since the store counts attempts.
const backstop = 50

func newStage(t *testing.T, seed uint64) *stage {
	t.Helper()
	// moto has DynamoDB on the port of SQS; the other is of something better.
	endpoint := cmp.Or(os.Getenv("ACKWISE_DYNAMODB_ENDPOINT"), os.Getenv("ACKWISE_SQS_ENDPOINT"))
	if endpoint == "" {
		t.Skip("SKIPPED: neither ACKWISE_DYNAMODB_ENDPOINT nor ACKWISE_SQS_ENDPOINT is set; run make test, which starts a server, or make soak")
	}
	s := &stage{t: t, sent: make(map[int]job), settings: settings{
		Records: "ackwise-crash-records-" + rand.Text(), Effects: "ackwise-crash-effects-" + rand.Text(),
		Journal: filepath.Join(t.TempDir(), "journal"), Seed: seed,
	}}
	s.createQueues()
	s.createTables(endpoint)
	s.openGate(endpoint)
	return s
}

func (s *stage) createQueues() {
	server := sqstest.NewServer(sqstest.Config{LogLimit: -1})
	s.t.Cleanup(server.Close)
	var err error
	if s.settings.SQS, err = server.Listen(""); err != nil {
		s.t.Fatal(err)
	}
	if s.dead, err = server.CreateQueue("jobs-dlq", sqstest.QueueConfig{}); err != nil {
		s.t.Fatal(err)
	}
	s.queue, err = server.CreateQueue("jobs", sqstest.QueueConfig{Visibility: visibility, DeadLetter: s.dead, MaxReceives: backstop})
	if err != nil {
		s.t.Fatal(err)
	}
	// SQS delivers at least once: some messages come a second time while they are
	// being worked on, and then only the claim keeps them apart.
	var receives atomic.Int64
	server.Inject(sqstest.Fault{Action: "ReceiveMessage", Queue: "jobs", Times: -1, Twice: true, Match: func(sqstest.Call) bool {
		return receives.Add(1)%4 == 0
	}})
	s.settings.QueueURL, s.settings.DeadURL = s.queue.URL(), s.dead.URL()
}

func (s *stage) createTables(endpoint string) {
	transport := &http.Transport{} // no proxy: the server is on this machine
	s.t.Cleanup(transport.CloseIdleConnections)
	s.db = dynamodbClient(endpoint, func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: transport} })
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if err := dynamostore.CreateTable(ctx, s.db, s.settings.Records); err != nil {
		s.t.Fatal(err)
	}
	_, err := s.db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &s.settings.Effects, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		for _, table := range []string{s.settings.Records, s.settings.Effects} {
			if _, err := s.db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
				s.t.Errorf("delete table %s: %v", table, err)
			}
		}
	})
}

func (s *stage) openGate(endpoint string) {
	notes, err := openJournal(s.settings.Journal)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { notes.f.Close() })
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	s.gate = &gate{
		target: endpoint, client: &http.Client{Transport: transport}, journal: notes,
		records: s.settings.Records, effects: s.settings.Effects, turn: make(chan struct{}, 1),
	}
	server := httptest.NewServer(s.gate)
	s.t.Cleanup(server.Close)
	s.settings.DynamoDB = server.URL
}

// send puts messages into the queue.
func (s *stage) send(jobs ...job) {
	s.t.Helper()
	for _, j := range jobs {
		body, err := json.Marshal(j)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := s.queue.SendMessage(sqstest.Message{Body: string(body)}); err != nil {
			s.t.Fatal(err)
		}
		s.sent[j.Order] = j
	}
}
