package sqstest

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// receiveRequest is the input of ReceiveMessage. The numbers shadow the SDK's
// fields because 0 and absent differ.
type receiveRequest struct {
	sqs.ReceiveMessageInput
	MaxNumberOfMessages *int32
	VisibilityTimeout   *int32
	WaitTimeSeconds     *int32
}

func (r *receiveRequest) queueURL() string { return deref(r.QueueUrl) }

func (r *receiveRequest) public() any {
	r.ReceiveMessageInput.MaxNumberOfMessages = deref(r.MaxNumberOfMessages)
	r.ReceiveMessageInput.VisibilityTimeout = deref(r.VisibilityTimeout)
	r.ReceiveMessageInput.WaitTimeSeconds = deref(r.WaitTimeSeconds)
	return &r.ReceiveMessageInput
}

func (r *receiveRequest) check() *Error {
	if n := r.MaxNumberOfMessages; n != nil && (*n < 1 || *n > maxReceiveNumber) {
		return errValue(*n, "MaxNumberOfMessages", "Must be between 1 and 10, if provided.")
	}
	if w := r.WaitTimeSeconds; w != nil && (*w < 0 || *w > int32(maxWait/time.Second)) {
		return errValue(*w, "WaitTimeSeconds", "Must be >= 0 and <= 20, if provided.")
	}
	if v := r.VisibilityTimeout; v != nil {
		if err := checkVisibility(*v); err != nil {
			return err
		}
	}
	return checkID("ReceiveRequestAttemptId", r.ReceiveRequestAttemptId)
}

// poll is one receive: what it asks for and what it has found.
type poll struct {
	x         *exchange
	url       string
	max       int
	visible   *int32 // nil: the queue's default
	wait      *int32 // nil: the queue's default
	attempt   string // ReceiveRequestAttemptId, FIFO only
	filter    *filter
	started   time.Time
	queue     *queue
	deadline  time.Time
	waiter    *waiter
	delivered []receivedMessage
}

// receiveAnswer is sqs.ReceiveMessageOutput on the wire.
type receiveAnswer struct {
	Messages []receivedMessage `json:"Messages,omitempty"`
}

func receiveMessage(ctx context.Context, x *exchange, in *receiveRequest) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	f, err := newFilter(in)
	if err != nil {
		return nil, err
	}
	p := &poll{
		x: x, url: in.queueURL(), max: 1, filter: f, started: time.Now(),
		visible: in.VisibilityTimeout, wait: in.WaitTimeSeconds, attempt: deref(in.ReceiveRequestAttemptId),
	}
	if in.MaxNumberOfMessages != nil {
		p.max = int(*in.MaxNumberOfMessages)
	}
	return p.run(ctx)
}

// run looks into the queue until it finds something or the wait is over. It
// holds no lock while it waits.
func (p *poll) run(ctx context.Context) (any, error) {
	for {
		finished, err := p.look()
		if err != nil {
			return nil, err
		}
		if finished {
			return &receiveAnswer{Messages: p.delivered}, nil
		}
		if err := p.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// look takes what there is. It reports whether the poll is over.
func (p *poll) look() (bool, error) {
	s := p.x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if err := p.open(now); err != nil {
		p.close()
		return true, err
	}
	q := p.queue
	if p.attempt != "" && p.replay(now) {
		p.close()
		return true, nil
	}
	if q.inFlight >= q.limit && !q.fifo && !p.deadline.After(p.started) {
		p.close()
		return true, OverLimit()
	}
	p.take(now)
	if len(p.delivered) > 0 || !now.Before(p.deadline) {
		p.close()
		return true, nil
	}
	if p.waiter == nil {
		p.waiter = &waiter{wake: make(chan struct{}, 1)}
	}
	q.enqueue(p.waiter, p.deadline)
	return false, nil
}

// open finds the queue at the first look, and finds it gone at a later one.
func (p *poll) open(now time.Time) error {
	if p.queue == nil {
		q, err := p.x.s.lookup(p.url, now)
		if err != nil {
			return err
		}
		p.queue = q
		wait := q.set.wait
		if p.wait != nil {
			wait = time.Duration(*p.wait) * time.Second
		}
		p.deadline = p.started.Add(wait)
		return nil
	}
	if p.queue.deleted {
		return errNoQueue()
	}
	p.queue.advance(now)
	return nil
}

// close takes the poll out of the queue's waiters.
func (p *poll) close() {
	if p.queue != nil {
		p.queue.leave(p.waiter)
	}
}

// pause waits until there may be something new.
func (p *poll) pause(ctx context.Context) error {
	s := p.x.s
	s.mu.Lock()
	until := p.waiter.until
	s.mu.Unlock()
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	var err error
	select {
	case <-p.waiter.wake:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.done:
		err = errClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.close()
	return err
}

// take delivers up to max messages: first what a fault owes, then the queue's
// own order. Messages that used up their receives move to the dead-letter queue
// here and nowhere else, as on SQS.
func (p *poll) take(now time.Time) {
	q := p.queue
	room := min(p.max, q.limit-q.inFlight)
	for len(q.again) > 0 && len(p.delivered) < room {
		m := q.again[0]
		q.again = q.again[1:]
		if m.again && q.byKey[m.key] == m && m.state == stateInFlight {
			m.again = false
			p.deliver(m, now)
		}
	}
	if room <= len(p.delivered) {
		return
	}
	spent := q.spent
	target := p.x.s.byARN(q.set.deadLetterARN)
	if target == nil {
		spent = func(*message) bool { return false }
	}
	picked, moved := q.order.pick(room-len(p.delivered), spent)
	for _, m := range picked {
		p.deliver(m, now)
	}
	for _, m := range moved {
		q.moveToDeadLetter(m, target, now)
	}
	if len(moved) > 0 {
		target.notify()
	}
	if p.attempt != "" && len(p.delivered) > 0 {
		q.rememberAttempt(p.attempt, p.delivered, now)
	}
}

// deliver gives m out: one more receive, hidden from now on.
func (p *poll) deliver(m *message, now time.Time) {
	q := p.queue
	m.receives++
	if m.firstReceivedAt.IsZero() {
		m.firstReceivedAt = now
	}
	visibility := q.set.visibility
	if p.visible != nil {
		visibility = time.Duration(*p.visible) * time.Second
	}
	q.hide(m, now.Add(visibility))
	if p.x.fault.Twice {
		q.oweAgain(m)
	}
	handle := receipt{queue: q.id, message: m.key, receive: m.receives, at: now}.String()
	p.add(m, handle)
}

// add puts m into the answer.
func (p *poll) add(m *message, handle string) {
	r := p.filter.apply(m)
	r.ReceiptHandle = handle
	r.MD5OfBody = p.x.bodySum(m.bodyMD5)
	r.message = m
	p.delivered = append(p.delivered, r)
	p.x.note(Entry{MessageID: m.id, Receipt: handle})
}

// oweAgain lets the next receive have m too, although it is in flight.
func (q *queue) oweAgain(m *message) {
	if m.state == stateInFlight && !m.again {
		m.again = true
		q.again = append(q.again, m)
	}
}

// moveToDeadLetter moves m as the redrive policy does: message id, attributes
// and receive count stay. A standard queue keeps the original send time; a FIFO
// queue starts it anew and deduplicates by the message id.
func (q *queue) moveToDeadLetter(m *message, target *queue, now time.Time) {
	q.drop(m)
	m.source = q.arn
	if target.fifo {
		m.sentAt = now
		m.dedup = m.id
		m.sequence = target.nextSequence()
	}
	target.advance(now)
	target.add(m, now, 0)
}
