// Package sqsqueue is what the hosts share in talking to SQS: from a queue's
// ARN to its URL, batches with entry-by-entry results, and what an error means.
package sqsqueue
