package sqstest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

type startTaskRequest struct{ sqs.StartMessageMoveTaskInput }

func (r *startTaskRequest) queueURL() string { return "" }
func (r *startTaskRequest) public() any      { return &r.StartMessageMoveTaskInput }

type listTasksRequest struct{ sqs.ListMessageMoveTasksInput }

func (r *listTasksRequest) queueURL() string { return "" }
func (r *listTasksRequest) public() any      { return &r.ListMessageMoveTasksInput }

type cancelTaskRequest struct{ sqs.CancelMessageMoveTaskInput }

func (r *cancelTaskRequest) queueURL() string { return "" }
func (r *cancelTaskRequest) public() any      { return &r.CancelMessageMoveTaskInput }

// Statuses of a move task.
const (
	taskRunning   = "RUNNING"
	taskCompleted = "COMPLETED"
	taskCanceled  = "CANCELLED"
	taskFailed    = "FAILED"
)

const maxMoveRate = 500 // messages per second, SQS's own ceiling

// moveTask is one StartMessageMoveTask. The server's mutex guards it.
type moveTask struct {
	id          string
	source      *queue
	destination string // ARN, "" for each message's own source
	rate        *int32
	started     time.Time
	total       int64
	moved       int64
	status      string
	reason      string
	stop        chan struct{} // closed by a cancellation
}

func (t *moveTask) handle() string {
	b, _ := json.Marshal(map[string]string{"taskId": t.id, "sourceArn": t.source.arn})
	return base64.StdEncoding.EncodeToString(b)
}

func startMessageMoveTask(_ context.Context, x *exchange, in *startTaskRequest) (any, error) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	source := s.byARN(deref(in.SourceArn))
	switch {
	case in.SourceArn == nil:
		return nil, errMissing("SourceArn")
	case source == nil:
		return nil, errNotFound("SourceArn")
	case in.DestinationArn != nil && s.byARN(*in.DestinationArn) == nil:
		return nil, errNotFound("DestinationArn")
	case len(s.sourcesOf(source)) == 0:
		return nil, errParameter("Source queue must be configured as a Dead Letter Queue.")
	case in.DestinationArn != nil && *in.DestinationArn == source.arn:
		return nil, errParameter("Source queue arn and destination queue arn cannot be the same.")
	case in.MaxNumberOfMessagesPerSecond != nil &&
		(*in.MaxNumberOfMessagesPerSecond < 1 || *in.MaxNumberOfMessagesPerSecond > maxMoveRate):
		return nil, errValue(*in.MaxNumberOfMessagesPerSecond, "MaxNumberOfMessagesPerSecond",
			"Must be between 1 and 500, if provided.")
	case s.running(source) != nil:
		return nil, errParameter("There is already a task running. Only one active task is allowed for a " +
			"source queue arn at a given time.")
	}
	source.advance(now)
	t := &moveTask{
		id: newUUID(), source: source, destination: deref(in.DestinationArn), rate: in.MaxNumberOfMessagesPerSecond,
		started: now, total: int64(source.visible()), status: taskRunning, stop: make(chan struct{}),
	}
	s.tasks = append(s.tasks, t)
	s.wg.Add(1) // the call in progress holds Close back, so this cannot come too late
	go s.runTask(t)
	return struct{ TaskHandle string }{t.handle()}, nil
}

// running returns the active task of a queue, nil if there is none.
func (s *Server) running(source *queue) *moveTask {
	for _, t := range s.tasks {
		if t.source == source && t.status == taskRunning {
			return t
		}
	}
	return nil
}

// pace returns how many messages to move every how long.
func (t *moveTask) pace() (chunk int, every time.Duration) {
	rate := maxMoveRate
	if t.rate != nil {
		rate = int(*t.rate)
	}
	chunk = max(1, rate/50)
	return chunk, time.Second * time.Duration(chunk) / time.Duration(rate)
}

// runTask moves messages at the task's pace until none is left, the task is
// canceled, or the server closes.
func (s *Server) runTask(t *moveTask) {
	defer s.wg.Done()
	chunk, every := t.pace()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if !s.moveSome(t, chunk) {
				return
			}
		case <-t.stop:
			return
		case <-s.done:
			return
		}
	}
}

// moveSome moves up to n messages and reports whether the task goes on.
func (s *Server) moveSome(t *moveTask, n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if t.status != taskRunning {
		return false
	}
	t.source.advance(now)
	left := min(n, int(t.total-t.moved))
	picked, _ := t.source.order.pick(left, func(*message) bool { return false })
	for _, m := range picked {
		if t.reason = s.moveOne(t, m, now); t.reason != "" {
			t.status = taskFailed
			return false
		}
		t.moved++
	}
	if t.moved >= t.total || len(picked) == 0 {
		t.status = taskCompleted
		return false
	}
	return true
}

// moveOne makes a message new in its destination: new id, new send time, no
// receives. It returns the reason of a failure.
func (s *Server) moveOne(t *moveTask, m *message, now time.Time) string {
	arn := t.destination
	if arn == "" {
		arn = m.source
	}
	if arn == "" {
		return "CouldNotDetermineMessageSource"
	}
	target := s.byARN(arn)
	if target == nil {
		return simpleQueueService + "NonExistentQueue"
	}
	t.source.drop(m)
	s.nextID++
	fresh := &message{
		key: s.nextID, id: newUUID(), body: m.body, bodyMD5: m.bodyMD5, attrs: m.attrs, trace: m.trace,
		group: m.group, dedup: m.dedup, sentAt: now,
	}
	if target.fifo {
		fresh.sequence = target.nextSequence()
	}
	target.advance(now)
	target.add(fresh, now, 0)
	target.notify()
	return ""
}

type taskAnswer struct {
	Moved       int64  `json:"ApproximateNumberOfMessagesMoved"`
	ToMove      int64  `json:"ApproximateNumberOfMessagesToMove"`
	Destination string `json:"DestinationArn,omitempty"`
	Reason      string `json:"FailureReason,omitempty"`
	Rate        *int32 `json:"MaxNumberOfMessagesPerSecond,omitempty"`
	Source      string `json:"SourceArn"`
	Started     int64  `json:"StartedTimestamp"`
	Status      string `json:"Status"`
	TaskHandle  string `json:"TaskHandle,omitempty"`
}

func listMessageMoveTasks(_ context.Context, x *exchange, in *listTasksRequest) (any, error) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	source := s.byARN(deref(in.SourceArn))
	if source == nil {
		return nil, errNotFound("SourceArn")
	}
	limit := 1
	if in.MaxResults != nil {
		limit = int(*in.MaxResults)
	}
	if limit < 1 || limit > 10 {
		return nil, errValue(limit, "MaxResults", "Must be between 1 and 10, if provided.")
	}
	out := struct{ Results []taskAnswer }{Results: []taskAnswer{}}
	for i := len(s.tasks) - 1; i >= 0 && len(out.Results) < limit; i-- {
		t := s.tasks[i]
		if t.source != source {
			continue
		}
		a := taskAnswer{
			Moved: t.moved, ToMove: t.total, Destination: t.destination, Reason: t.reason, Rate: t.rate,
			Source: source.arn, Started: t.started.UnixMilli(), Status: t.status,
		}
		if t.status == taskRunning {
			a.TaskHandle = t.handle()
		}
		out.Results = append(out.Results, a)
	}
	return out, nil
}

func cancelMessageMoveTask(_ context.Context, x *exchange, in *cancelTaskRequest) (any, error) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	var id struct{ TaskID, SourceARN string }
	raw, err := base64.StdEncoding.DecodeString(deref(in.TaskHandle))
	if err != nil || json.Unmarshal(raw, &id) != nil || id.TaskID == "" {
		return nil, errParameter("Value for parameter TaskHandle is invalid.")
	}
	for _, t := range s.tasks {
		if t.id != id.TaskID {
			continue
		}
		if t.status != taskRunning {
			return nil, errParameter("Only active tasks can be cancelled.")
		}
		t.status = taskCanceled
		close(t.stop)
		return struct{ ApproximateNumberOfMessagesMoved int64 }{t.moved}, nil
	}
	e := errNotFound("TaskHandle")
	e.Message = "Task does not exist."
	return nil, e
}
