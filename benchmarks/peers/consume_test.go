package main

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ackwise/ackwise/benchmarks/internal/stub"
)

// What the counter on the client's side counts is what the server got.
func TestConsumeCounts(t *testing.T) {
	t.Parallel()
	for _, c := range consumers() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := stub.New(0)
			path := s.Load(200)
			server := httptest.NewServer(s)
			defer server.Close()
			got, err := consume(t.Context(), order{
				Consumer: c.name, Endpoint: server.URL, QueueURL: server.URL + path,
				Messages: 200, Slow: time.Millisecond, Once: true,
			}, s.Done())
			if err != nil {
				t.Fatal(err)
			}
			st := s.Stats()
			if st.Received != 200 || st.Deleted != 200 || got.Messages != 200 {
				t.Errorf("received %d, deleted %d, measured %d, want 200 of each",
					st.Received, st.Deleted, got.Messages)
			}
			// Receives that were on their way when the last message was gone may
			// be counted on one side only.
			delete(got.Calls, "ReceiveMessage")
			delete(st.Calls, "ReceiveMessage")
			if !maps.Equal(got.Calls, st.Calls) {
				t.Errorf("the client counted %v, the server %v", got.Calls, st.Calls)
			}
		})
	}
}

// A consumer that gives up is an error, not a figure.
func TestConsumeReturnsEarly(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, err := consume(t.Context(), order{
		Consumer: loopBarrier, Endpoint: server.URL, QueueURL: server.URL + "/1/q", Messages: 10,
	}, nil)
	if err == nil || !strings.Contains(err.Error(), "before all was consumed") {
		t.Errorf("consume: %v, want an error that says when it returned", err)
	}
}

// A message that is handled twice, or not at all, spoils the run.
func TestConsumeMiscount(t *testing.T) {
	t.Parallel()
	s := stub.New(0)
	path := s.Load(20)
	server := httptest.NewServer(s)
	defer server.Close()
	_, err := consume(t.Context(), order{
		Consumer: loopWorkers, Endpoint: server.URL, QueueURL: server.URL + path, Messages: 19, Once: true,
	}, s.Done())
	if err == nil || !strings.Contains(err.Error(), "handled 20 messages of 19") {
		t.Errorf("consume: %v, want an error with both numbers", err)
	}
}

// blocking answers receives when it is told to, and everything else at once.
type blocking struct{ release chan struct{} }

func (b blocking) Do(r *http.Request) (*http.Response, error) {
	if r.Header.Get("X-Amz-Target") == "AmazonSQS.ReceiveMessage" {
		<-b.release
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// Receives count once they are answered, other calls when they are made.
func TestCounter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := blocking{release: make(chan struct{})}
		c := &counter{next: b, calls: make(map[string]int)}
		call := func(action string) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://stub.test/", nil)
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("X-Amz-Target", "AmazonSQS."+action)
			answer, err := c.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			_ = answer.Body.Close()
		}
		for range 3 {
			go call("ReceiveMessage")
		}
		call("DeleteMessage")
		b.release <- struct{}{}
		synctest.Wait()
		want := map[string]int{"ReceiveMessage": 1, "DeleteMessage": 1}
		if got, waiting := c.snapshot(); !maps.Equal(got, want) || waiting != 2 {
			t.Errorf("counted %v and %d waiting, want %v and 2", got, waiting, want)
		}
		close(b.release)
		synctest.Wait()
		want["ReceiveMessage"] = 3
		if got, waiting := c.snapshot(); !maps.Equal(got, want) || waiting != 0 {
			t.Errorf("counted %v and %d waiting when all are answered, want %v", got, waiting, want)
		}
	})
}
