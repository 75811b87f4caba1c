// Package consumer turns one delivery of an SQS message into one outcome: it
// runs a handler inside limits (time, concurrency, order, retries), recovers
// its panics, and decides what SQS is to be told. It knows nothing of AWS; a
// host such as lambdasqs or poller brings the deliveries and carries out the verdicts.
//
// A message leaves its queue only if its work is done or it is safely parked.
// Everything else comes back later, after a growing delay.
//
// What happens to one delivery, from the outside in:
//
//	Settle(Visibility(Lane(Slot(Deadline(Guard(Retry(Timeout(Recover(Middleware(Handler))))))))))
//
// docs/semantics.md has the whole account.
package consumer
