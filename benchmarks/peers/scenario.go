package main

import "time"

// scenario is one server and one kind of work, and so one table.
type scenario struct {
	name     string
	title    string
	server   serverOrder
	messages int
	all      bool          // every consumer gets all of them: see consumer.part
	slow     time.Duration // what one message in ten takes; 0: none does
	seconds  int           // how long one run may take before it is given up; 0: 120
}

// Names that targets are about.
const (
	noLatency   = "fast"
	withLatency = "10ms"
	emulated    = "emulator"
	headOfLine  = "slow"
)

// Kinds of servers.
const (
	stubServer = "stub"
	fakeServer = "sqstest"
)

// scenarios are the tables, in their order. endpoint is a real emulator's, and
// empty if there is none.
func scenarios(endpoint string) []scenario {
	emulator := scenario{
		name:     emulated,
		title:    "emulator: sqstest in a process of its own",
		server:   serverOrder{Kind: fakeServer},
		messages: 20_000,
		all:      true,
	}
	if endpoint != "" {
		emulator.title = "emulator: moto"
		emulator.server = serverOrder{Endpoint: endpoint}
		// Its receives take the longer, the more messages it has.
		emulator.messages = 300
	}
	return []scenario{
		{
			name:     noLatency,
			title:    "stub server without latency",
			server:   serverOrder{Kind: stubServer},
			messages: 100_000,
		},
		{
			name:     withLatency,
			title:    "stub server, 10 ms per call",
			server:   serverOrder{Kind: stubServer, Latency: 10 * time.Millisecond},
			messages: 20_000,
		},
		emulator,
		{
			name:     headOfLine,
			title:    "stub server without latency, 1 in 10 messages takes 50 ms",
			server:   serverOrder{Kind: stubServer},
			messages: 4_000,
			slow:     50 * time.Millisecond,
		},
	}
}

func (s *scenario) limit() time.Duration {
	if s.seconds == 0 {
		return 2 * time.Minute
	}
	return time.Duration(s.seconds) * time.Second
}
