package sqstest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ackwise/ackwise/consumer/sqstest"
)

// post makes a call as any client may, without the SDK.
func post(t *testing.T, c *http.Client, base, target, body string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if target != "" {
		r.Header.Set("X-Amz-Target", target)
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(out)
}

func TestWireErrors(t *testing.T) {
	t.Parallel()
	s := sqstest.NewServer(sqstest.Config{})
	t.Cleanup(s.Close)
	for name, c := range map[string]struct {
		target, body string
		status       int
		query, shape string
	}{
		"no target":      {"", "{}", 400, "InvalidAction;Sender", "UnknownOperationException"},
		"unknown action": {"AmazonSQS.Fly", "{}", 400, "InvalidAction;Sender", "UnknownOperationException"},
		"not modelled":   {"AmazonSQS.AddPermission", "{}", 400, "AWS.SimpleQueueService.UnsupportedOperation;Sender", "UnsupportedOperation"},
		"malformed":      {"AmazonSQS.SendMessage", "{", 400, "SerializationException;Sender", "SerializationException"},
		"wrong type":     {"AmazonSQS.SendMessage", `{"MessageBody":1}`, 400, "SerializationException;Sender", "SerializationException"},
		"no queue":       {"AmazonSQS.SendMessage", `{"MessageBody":"a"}`, 400, "AWS.SimpleQueueService.NonExistentQueue;Sender", "QueueDoesNotExist"},
		"another account": {
			"AmazonSQS.PurgeQueue", `{"QueueUrl":"https://h/111122223333/q"}`, 400,
			"AWS.SimpleQueueService.NonExistentQueue;Sender", "QueueDoesNotExist",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, header, body := post(t, s.HTTPClient(), "http://sqs/", c.target, c.body)
			if status != c.status || header.Get("X-Amzn-Query-Error") != c.query {
				t.Errorf("status %d, query error %q, want %d, %q", status, header.Get("X-Amzn-Query-Error"), c.status, c.query)
			}
			var e struct {
				Type    string `json:"__type"`
				Message string `json:"message"`
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil || e.Message == "" {
				t.Errorf("body %s: %v", body, err)
			}
			if _, shape, _ := strings.Cut(e.Type, "#"); shape != c.shape {
				t.Errorf("type %q, want %q", e.Type, c.shape)
			}
			if header.Get("X-Amzn-Requestid") == "" {
				t.Error("no request id")
			}
		})
	}
}

// TestWireZeros: clients that send an explicit 0, which the Go SDK does not,
// mean it.
func TestWireZeros(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		url := `"QueueUrl":"` + b.url + `"`
		b.call("SetQueueAttributes", `{`+url+`,"Attributes":{"DelaySeconds":"60","ReceiveMessageWaitTimeSeconds":"20"}}`)
		b.call("SendMessage", `{`+url+`,"MessageBody":"a","DelaySeconds":0}`)
		b.call("SendMessageBatch", `{`+url+`,"Entries":[{"Id":"0","MessageBody":"b","DelaySeconds":0}]}`)
		began := time.Now()
		receive := `{` + url + `,"VisibilityTimeout":0,"WaitTimeSeconds":0,"MaxNumberOfMessages":10}`
		for range 2 {
			if body := b.call("ReceiveMessage", receive); strings.Count(body, `"MessageId"`) != 2 {
				b.Errorf("a receive with visibility 0 must leave the messages visible; got %s", body)
			}
		}
		b.call("PurgeQueue", `{`+url+`}`)
		if body := b.call("ReceiveMessage", receive); body != "{}" || time.Since(began) != 0 {
			b.Errorf("a short poll on a queue that waits by default: %s after %v", body, time.Since(began))
		}
	})
}

// TestWireZeroDelayOnFIFO: there a delay of 0 is allowed and means the queue's.
func TestWireZeroDelayOnFIFO(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		q, err := b.s.CreateQueue("q.fifo", sqstest.QueueConfig{Delay: time.Minute})
		if err != nil {
			b.Fatal(err)
		}
		b.call("SendMessage", `{"QueueUrl":"`+q.URL()+`","MessageBody":"a","DelaySeconds":0,`+
			`"MessageGroupId":"g","MessageDeduplicationId":"d"}`)
		if q.Delayed() != 1 {
			b.Errorf("%d messages delayed, want 1", q.Delayed())
		}
	})
}

// call makes a raw call that must succeed.
func (b *bench) call(action, body string) string {
	b.Helper()
	status, _, out := post(b.T, b.s.HTTPClient(), "http://sqs/", "AmazonSQS."+action, body)
	if status != http.StatusOK {
		b.Fatalf("%s: %d %s", action, status, out)
	}
	return out
}

func TestListen(t *testing.T) {
	t.Parallel()
	s := sqstest.NewServer(sqstest.Config{})
	base, err := s.Listen("")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport}
	_, _, body := post(t, c, base, "AmazonSQS.CreateQueue", `{"QueueName":"q"}`)
	if want := `{"QueueUrl":"` + base + `/000000000000/q"}`; body != want {
		t.Errorf("got %s, want %s", body, want)
	}
	if got, want := s.Queue("q").URL(), base+"/000000000000/q"; got != want {
		t.Errorf("URL %s, want %s", got, want)
	}
	s.Inject(sqstest.Fault{LoseResponse: true, Action: "ListQueues"})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "AmazonSQS.ListQueues")
	if res, err := c.Do(r); err == nil {
		_ = res.Body.Close()
		t.Error("a lost response must break the connection")
	}
	s.Close()
	if _, err := c.Get(base); err == nil { //nolint:bodyclose // there is no answer
		t.Error("the listener is still there after Close")
	}
}

func TestRegionsAndPartitions(t *testing.T) {
	t.Parallel()
	for region, want := range map[string][2]string{
		"eu-west-1":     {"arn:aws:sqs:eu-west-1:111122223333:q", "https://sqs.eu-west-1.amazonaws.com/111122223333/q"},
		"cn-north-1":    {"arn:aws-cn:sqs:cn-north-1:111122223333:q", "https://sqs.cn-north-1.amazonaws.com.cn/111122223333/q"},
		"us-gov-west-1": {"arn:aws-us-gov:sqs:us-gov-west-1:111122223333:q", "https://sqs.us-gov-west-1.amazonaws.com/111122223333/q"},
	} {
		s := sqstest.NewServer(sqstest.Config{Region: region, Account: "111122223333"})
		q, err := s.CreateQueue("q", sqstest.QueueConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if q.ARN() != want[0] || q.URL() != want[1] {
			t.Errorf("%s: %s %s", region, q.ARN(), q.URL())
		}
		s.Close()
	}
}
