package main

import (
	"slices"
	"strings"
)

// row is a consumer's figures over the rounds of a scenario: medians, each
// figure by itself.
type row struct {
	consumer  string
	messages  int     // per round
	perSecond float64 // messages
	slowest   float64 // messages per second in the worst round
	fastest   float64 // and in the best
	cpu       float64 // seconds per 100,000 messages
	allocs    float64 // per message
	inHand    float64 // messages at most, received and not deleted; 0: not known
	calls     calls
}

// calls are SQS calls per 1,000 messages.
type calls struct{ receive, remove, visibility, other float64 }

// perMessage leaves out what is asked once, however many messages there are.
func (c calls) perMessage() float64 { return c.receive + c.remove + c.visibility }

// summarize makes a row of samples, of which there has to be one at least.
func summarize(consumer string, samples []sample) row {
	rates := figures(samples, func(s *sample) float64 {
		return float64(s.Messages) / s.Elapsed.Seconds()
	})
	return row{
		consumer:  consumer,
		messages:  samples[0].Messages,
		perSecond: median(rates),
		slowest:   slices.Min(rates),
		fastest:   slices.Max(rates),
		cpu: median(figures(samples, func(s *sample) float64 {
			return s.CPU.Seconds() / float64(s.Messages) * 100_000
		})),
		allocs: median(figures(samples, func(s *sample) float64 {
			return float64(s.Allocs) / float64(s.Messages)
		})),
		inHand: median(figures(samples, func(s *sample) float64 { return float64(s.InHand) })),
		calls: calls{
			receive:    median(figures(samples, perThousand("ReceiveMessage"))),
			remove:     median(figures(samples, perThousand("DeleteMessage"))),
			visibility: median(figures(samples, perThousand("ChangeMessageVisibility"))),
			other:      median(figures(samples, otherPerThousand)),
		},
	}
}

func figures(samples []sample, f func(*sample) float64) []float64 {
	out := make([]float64, len(samples))
	for i := range samples {
		out[i] = f(&samples[i])
	}
	return out
}

// perThousand counts an action and its batch form.
func perThousand(action string) func(*sample) float64 {
	return func(s *sample) float64 {
		n := s.Calls[action] + s.Calls[action+"Batch"]
		return float64(n) / float64(s.Messages) * 1000
	}
}

func otherPerThousand(s *sample) float64 {
	n := 0
	for action, times := range s.Calls {
		switch strings.TrimSuffix(action, "Batch") {
		case "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility":
		default:
			n += times
		}
	}
	return float64(n) / float64(s.Messages) * 1000
}

// median is the middle value, or the mean of the two in the middle. It is 0 of
// nothing.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Clone(values)
	slices.Sort(v)
	half := len(v) / 2
	if len(v)%2 == 1 {
		return v[half]
	}
	return (v[half-1] + v[half]) / 2
}
