package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// sample reads one of the sample events and the answer that is expected of a
// function without queues.
func sample(t *testing.T, name string) (event, answer []byte) {
	t.Helper()
	const events = "../../events/"
	event, err := os.ReadFile(events + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	answer, err = os.ReadFile(events + "answers/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return event, bytes.TrimSpace(answer)
}

// env is the environment of a function.
type env map[string]string

func (e env) get(name string) string { return e[name] }

// offline is sam local with the file events/local-env.json.
func offline(t *testing.T) env {
	t.Helper()
	b, err := os.ReadFile("../../events/local-env.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Parameters env }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	file.Parameters["AWS_SAM_LOCAL"] = "true"
	return file.Parameters
}

// awsConfig reaches server; a nil server is one that must not be called.
func awsConfig(server *sqstest.Server) aws.Config {
	cfg := aws.Config{Region: sqstest.DefaultRegion, Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "example", "")}
	if server != nil {
		cfg.HTTPClient = server.HTTPClient()
	}
	return cfg
}

// function makes the function; its log goes to the buffer.
func function(t *testing.T, cfg aws.Config, e env) (lambda.Handler, *output) {
	t.Helper()
	log := &output{}
	adapter, err := newAdapter(cfg, e.get, slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return adapter, log
}

func invoke(t *testing.T, h lambda.Handler, event []byte) string {
	t.Helper()
	answer, err := h.Invoke(context.Background(), event)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
