// Package sqstest is Amazon SQS in process, for tests of programs that consume
// queues. It is to SQS what net/http/httptest is to HTTP.
//
// # The server
//
// A [Server] speaks the protocol of SQS (AWS JSON 1.0), so nothing has to be
// mocked: the real client of the AWS SDK talks to it, with its serialization,
// checksums, errors and retries. There are three ways to reach one:
//
//   - [Server.Client] returns an SDK client. Its requests never leave the
//     calling goroutine.
//   - [Server.HTTPClient] is for a program that builds its own SDK client.
//   - [Server.Listen] serves other processes on a loopback port.
//
// A test makes queues with [Server.CreateQueue] and looks into them with the
// [Queue] it gets. What a test does there is no API call, so that the calls of
// the program under test can be counted ([Server.Calls]) and read
// ([Server.Log]) by themselves. Things that go wrong are scripted with
// [Server.Inject].
//
// # Time
//
// The server uses the time package and starts nothing in the background that
// has to run: visibility timeouts, delays and expiry are worked out when
// somebody looks. So a test in a testing/synctest bubble, with the server and
// its client created inside, sees a long poll of 20 seconds, a backoff of 12
// hours and a retention of 14 days pass at once. Do not use Listen there, as
// sockets do not work in bubbles, and call [Server.Close] before the bubble
// ends.
//
// # Faithfulness
//
// The server follows what was recorded from AWS, also where emulators commonly
// do not: a receipt handle of an earlier receive still changes the visibility of
// a message on a standard queue and no longer deletes it; on a FIFO queue a
// delete after the timeout fails, and a hidden message blocks only the later
// ones of its group; the twelve hours of visibility count from the receive; a
// deduplication id is remembered after the message is gone; a message moves to
// the dead-letter queue at the receive after its last one, and not before. The
// conformance suite in this package's tests holds every one of these facts by
// name.
//
// Where AWS leaves something open, the server is repeatable: a standard queue
// returns the message that has been visible for longest, a FIFO queue takes the
// groups in turn, a short poll finds whatever is there, and a visibility change
// to the full twelve hours is refused even if no time has passed since the
// receive. A scripted second delivery ([Fault.Twice], [Queue.Redeliver]) and a
// lost answer ([Fault.LoseResponse]) stand for what AWS does at random.
//
// # What it does not model
//
// Short polls that miss messages because they ask a sample of machines only,
// eventual consistency (attributes and policies take effect at once, counts are
// exact), the reordering that favours quiet tenants of a fair queue, throughput
// quotas, access policies and encryption (the attributes are kept and returned),
// signatures, and the query protocol of old SDKs. AddPermission and
// RemovePermission answer UnsupportedOperation.
package sqstest
