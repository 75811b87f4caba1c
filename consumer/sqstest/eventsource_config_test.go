package sqstest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

const standardURL = "https://sqs.us-east-1.amazonaws.com/000000000000/orders"

var eventSourceConfigs = []struct {
	name   string
	change func(c *sqstest.EventSourceConfig)
	want   []string // in the error: the field, and the remedy; none: accepted
}{
	{"least", func(*sqstest.EventSourceConfig) {}, nil},
	{"no client", func(c *sqstest.EventSourceConfig) { c.Client = nil }, []string{"Client is nil", "Server.Client"}},
	{"no queue", func(c *sqstest.EventSourceConfig) { c.QueueURL = "" }, []string{"QueueURL is empty", "Queue.URL"}},
	{"no function", func(c *sqstest.EventSourceConfig) { c.Handler = nil }, []string{"Handler and Endpoint", "set"}},
	{"two functions", func(c *sqstest.EventSourceConfig) {
		c.Endpoint = "http://localhost:8080"
	}, []string{"Handler and Endpoint", "remove one"}},
	{"endpoint", func(c *sqstest.EventSourceConfig) { c.Handler, c.Endpoint = nil, "http://localhost:8080/" }, nil},
	{"endpoint without scheme", func(c *sqstest.EventSourceConfig) {
		c.Handler, c.Endpoint = nil, "localhost:8080"
	}, []string{"Endpoint is", "http://127.0.0.1:8080"}},
	{"endpoint that is no URL", func(c *sqstest.EventSourceConfig) {
		c.Handler, c.Endpoint = nil, "http://a b"
	}, []string{"Endpoint is", "use"}},
	{"function name alone", func(c *sqstest.EventSourceConfig) { c.Function = "f" }, []string{"Function", "set Endpoint"}},
	{"HTTP client alone", func(c *sqstest.EventSourceConfig) {
		c.HTTPClient = http.DefaultClient
	}, []string{"HTTPClient", "set Endpoint"}},
	{"negative batch", func(c *sqstest.EventSourceConfig) { c.BatchSize = -1 }, []string{"BatchSize is -1", "use 1 to 10000"}},
	{"largest batch", func(c *sqstest.EventSourceConfig) { c.BatchSize, c.Window = 10_000, time.Second }, nil},
	{"batch too large", func(c *sqstest.EventSourceConfig) {
		c.BatchSize, c.Window = 10_001, time.Second
	}, []string{"BatchSize is 10001", "use 1 to 10000"}},
	{"large batch without window", func(c *sqstest.EventSourceConfig) {
		c.BatchSize = 11
	}, []string{"BatchSize is 11", "set Window to 1 s"}},
	{"FIFO batch", func(c *sqstest.EventSourceConfig) { c.QueueURL, c.BatchSize = standardURL+".fifo", 10 }, nil},
	{"FIFO batch too large", func(c *sqstest.EventSourceConfig) {
		c.QueueURL, c.BatchSize = standardURL+".fifo", 11
	}, []string{"BatchSize is 11", "at most 10"}},
	{"FIFO window", func(c *sqstest.EventSourceConfig) {
		c.QueueURL, c.Window = standardURL+".fifo", time.Second
	}, []string{"Window", "remove it"}},
	{"longest window", func(c *sqstest.EventSourceConfig) { c.Window = 300 * time.Second }, nil},
	{"window too long", func(c *sqstest.EventSourceConfig) { c.Window = 301 * time.Second }, []string{"Window is 5m1s", "up to 5m0s"}},
	{"negative window", func(c *sqstest.EventSourceConfig) { c.Window = -time.Second }, []string{"Window is -1s", "whole seconds"}},
	{"window of a fraction", func(c *sqstest.EventSourceConfig) {
		c.Window = 1500 * time.Millisecond
	}, []string{"Window is 1.5s", "whole seconds"}},
	{"negative concurrency", func(c *sqstest.EventSourceConfig) {
		c.Concurrency = -1
	}, []string{"Concurrency is -1", "use 1 or more"}},
	{"negative timeout", func(c *sqstest.EventSourceConfig) { c.Timeout = -1 }, []string{"Timeout is", "0 for 30s"}},
	{"negative payload", func(c *sqstest.EventSourceConfig) {
		c.PayloadLimit = -1
	}, []string{"PayloadLimit is -1", "at most 6291456"}},
	{"payload too large", func(c *sqstest.EventSourceConfig) {
		c.PayloadLimit = 6<<20 + 1
	}, []string{"PayloadLimit is 6291457", "at most 6291456"}},
}

func TestEventSourceConfig(t *testing.T) {
	t.Parallel()
	s := sqstest.NewServer(sqstest.Config{})
	t.Cleanup(s.Close)
	for _, c := range eventSourceConfigs {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := sqstest.EventSourceConfig{Client: s.Client(), QueueURL: standardURL, Handler: answering("")}
			c.change(&cfg)
			source, err := sqstest.NewEventSource(cfg)
			if c.want == nil {
				if err != nil || source == nil {
					t.Fatalf("got %v, want it accepted", err)
				}
				return
			}
			if err == nil {
				t.Fatal("accepted, want an error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error is %q, want it to say %q", err, want)
				}
			}
		})
	}
}
