package sqstest

import (
	"encoding/json"
	"strconv"
)

// redrivePolicy is the RedrivePolicy attribute. AWS takes the count as a number
// or as a text.
type redrivePolicy struct {
	Target string          `json:"deadLetterTargetArn"`
	Max    json.RawMessage `json:"maxReceiveCount"`
}

// defaultMaxReceives is what a policy without a count means.
const defaultMaxReceives = 10

// applyRedrivePolicy checks and sets a redrive policy; an empty text removes it.
// The caller holds mu.
func (s *Server) applyRedrivePolicy(set *settings, q *queue, value string) *Error {
	const name = "RedrivePolicy"
	if value == "" {
		set.deadLetterARN, set.maxReceives, set.redrivePolicyRaw = "", 0, ""
		return nil
	}
	var p redrivePolicy
	if err := json.Unmarshal([]byte(value), &p); err != nil {
		return errValue(value, name, "Redrive policy is not a valid JSON map.")
	}
	if p.Target == "" {
		return errValue(value, name, "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
	}
	limit, ok := p.limit()
	if !ok {
		return errValue(value, name, "Invalid value for maxReceiveCount: "+unquote(p.Max)+
			", valid values are from 1 to 1000 both inclusive.")
	}
	target := s.byARN(p.Target)
	switch {
	case target == nil:
		return errValue(value, name, "Dead letter target does not exist.")
	case target.fifo != q.fifo:
		return errValue(value, name, "Dead-letter queue must be same type of queue as the source.")
	case !target.set.redriveAllow.allows(q.arn):
		return errValue(value, name, "Dead letter target does not allow the queue as a redrive source.")
	}
	set.deadLetterARN, set.maxReceives, set.redrivePolicyRaw = p.Target, limit, value
	return nil
}

func (p redrivePolicy) limit() (int, bool) {
	if len(p.Max) == 0 {
		return defaultMaxReceives, true
	}
	n, err := strconv.Atoi(unquote(p.Max))
	return n, err == nil && n >= 1 && n <= 1000
}

func unquote(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// sourcesOf returns the queues whose dead-letter queue is q. The caller holds
// mu.
func (s *Server) sourcesOf(q *queue) []*queue {
	var out []*queue
	for _, other := range s.queues {
		if other.set.deadLetterARN == q.arn {
			out = append(out, other)
		}
	}
	return out
}
