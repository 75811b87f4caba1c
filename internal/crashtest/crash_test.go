package crashtest_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// plan is how much is done to how many messages.
type plan struct {
	kills, messages, poison int
	longest                 time.Duration // for all of it
}

// They take 20 s and a minute and a half. The limits are for a machine that has
// much else to do: they end a test that hangs, and do not measure.
var (
	short = plan{kills: 28, messages: 84, poison: 2, longest: 5 * time.Minute}
	long  = plan{kills: 220, messages: 550, poison: 10, longest: 15 * time.Minute}
)

// TestKilledWorkers kills worker after worker while they work a queue off, with
// claims in a DynamoDB table, and then accounts for every message. ACKWISE_SOAK=1
// makes it long; ACKWISE_CRASHTEST_SEED repeats the plan of a run, though not
// its timing.
func TestKilledWorkers(t *testing.T) {
	t.Parallel()
	p := short
	if os.Getenv("ACKWISE_SOAK") != "" {
		p = long
	}
	seed := rand.Uint64()
	if text := os.Getenv("ACKWISE_CRASHTEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("ACKWISE_CRASHTEST_SEED is %q; use what a run has printed: %v", text, err)
		}
	}
	t.Logf("ACKWISE_CRASHTEST_SEED=%d: %d kills, %d messages", seed, p.kills, p.messages)
	s := newStage(t, seed)
	ctx, cancel := context.WithTimeout(t.Context(), p.longest)
	defer cancel()
	s.storm(ctx, p, rand.New(rand.NewPCG(seed, 0)))
	s.finish(ctx, p)
	s.account(p)
}

// storm sends the messages bit by bit, so that there is always work, and kills a
// worker after each bit: at a call of the table, before or after it is carried
// out, or at any other moment.
func (s *stage) storm(ctx context.Context, p plan, random *rand.Rand) {
	s.t.Helper()
	jobs := makeJobs(p, random)
	for run := range p.kills {
		if ctx.Err() != nil {
			s.t.Fatalf("time ran out after %v, with %d of %d kills", p.longest, run, p.kills)
		}
		s.send(jobs[run*len(jobs)/p.kills : (run+1)*len(jobs)/p.kills]...)
		at, after := &trap{calls: 1 + random.IntN(10), after: random.IntN(2) == 0}, time.Second
		if random.IntN(3) == 0 {
			at.calls, after = 1_000_000, time.Duration(random.Int64N(int64(500*time.Millisecond)))
		}
		s.start(ctx, run).strike(s.gate, at, after)
	}
}

// makeJobs makes them, with those that never succeed in the first half.
func makeJobs(p plan, random *rand.Rand) []job {
	jobs := make([]job, p.messages)
	for i := range jobs {
		jobs[i] = job{Order: i, Transact: i%2 == 0, Fail: max(random.IntN(6)-3, 0)} // 2 of 3 never fail
	}
	for i := range p.poison {
		jobs[i*p.messages/2/p.poison].Fail = budget
	}
	return jobs
}

// finish lets one worker live until the queue is empty.
func (s *stage) finish(ctx context.Context, p plan) {
	s.t.Helper()
	last := s.start(ctx, p.kills)
	defer last.stop()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for s.queue.Len() > 0 {
		select {
		case <-ticker.C:
		case <-last.ended:
			return // and the account says what is left
		case <-ctx.Done():
			s.t.Errorf("time ran out after %v", p.longest)
			return
		}
	}
}
