package crashtest_test

import "fmt"

// fate is what became of one message, drawn up from what the queues and the
// tables hold and from the journal, not from what the library says it did.
type fate struct {
	job    job
	lines  []line // of the journal
	record record
	times  int  // how often the effect has happened, as its item says
	left   bool // in the queue
	parked []int
	moved  bool // to the dead-letter queue, by SQS
}

// record is what the table of records holds; zero if there is none. The numbers
// in fate.parked are the attempts that the parked copies speak of.
type record struct {
	status   string
	attempts int
}

// faults returns what is wrong, in sentences.
func (f *fate) faults() (faults []string) {
	complain := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	completed := f.record.status == "completed"
	switch {
	case f.left:
		complain("it is still in the queue")
	case f.moved:
		complain("SQS moved it to the dead-letter queue")
	case completed && len(f.parked) > 0:
		complain("it is done, and parked")
	case !completed && len(f.parked) == 0 && !f.unrecorded():
		complain("it is lost: neither done nor parked")
	}
	for _, attempts := range f.parked {
		if attempts != budget {
			complain("it was parked after %d attempts of %d", attempts, budget)
		}
	}
	if f.record.attempts > budget {
		complain("%d attempts are recorded, of %d", f.record.attempts, budget)
	}
	if f.job.Fail >= budget && len(f.parked) == 0 {
		complain("it cannot succeed, and was not parked")
	}
	f.checkEffect(completed, complain)
	f.checkRuns(complain)
	return faults
}

// unrecorded reports whether the handler did its work and the store would not
// take note, after which the message rightly leaves the queue.
func (f *fate) unrecorded() bool {
	seen := map[string]bool{}
	for _, l := range f.lines {
		seen[l.event] = true
	}
	return seen[eventUnrecorded] && seen[eventFinish]
}

// checkEffect counts the effect: exactly once in a transaction with the
// completion, else at least once.
func (f *fate) checkEffect(completed bool, complain func(string, ...any)) {
	switch {
	case f.job.Transact && completed && f.times != 1:
		complain("its effect happened %d times, in a transaction", f.times)
	case f.job.Transact && !completed && f.times != 0:
		complain("its effect happened %d times, and it is not done", f.times)
	case completed && f.times < 1:
		complain("it is done without its effect")
	}
}

// checkRuns follows the journal.
func (f *fate) checkRuns(complain func(string, ...any)) {
	completed, last, effects := false, 0, 0
	running := map[int]bool{} // by run
	for _, l := range f.lines {
		switch l.event {
		case eventStart:
			if completed {
				complain("it ran after its completion was recorded (run %d)", l.run)
			}
			if running[l.run] {
				complain("it ran twice at once (run %d)", l.run)
			}
			if l.attempt <= last || l.attempt > budget {
				complain("attempt %d came after attempt %d, of %d", l.attempt, last, budget)
			}
			running[l.run], last = true, l.attempt
		case eventFinish, eventFail:
			delete(running, l.run)
		case eventEffect:
			if completed {
				complain("its effect happened after its completion was recorded")
			}
			effects++
		case eventCompleted:
			if completed {
				complain("it was completed twice")
			}
			completed = true
		}
	}
	if effects != f.times {
		complain("the journal has %d effects, the table %d: the test itself is wrong", effects, f.times)
	}
	if recorded := f.record.status == "completed"; recorded != completed {
		complain("completed: by the journal %t, by the table %t: the test itself is wrong", completed, recorded)
	}
}
