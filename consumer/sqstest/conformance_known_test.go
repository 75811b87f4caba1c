package sqstest_test

// knownDifferences lists what moto server 5.2.1 does otherwise than AWS: the row,
// and a piece of the difference that it must find there. A row that is listed and
// finds none, or another one, fails: then the list is out of date.
var knownDifferences = map[string]string{
	// Texts of refusals.
	"2.1/one message by default, ten at most":                      "must be between 1 and 10",
	"2.1/a wait is 0 to 20 seconds":                                "must be &lt;= 0 and &gt;= 20",
	"2.2/a timeout is 0 to 43,200 seconds":                         "maximum visibility timeout is 43200",
	"2.10/creating a queue twice is fine with the same attributes": "The specified queue already exists.",

	// Receipt handles: it has one for each receive and forgets it with the
	// message. An older handle works fully, the expiry of a FIFO handle does not
	// exist.
	"2.2/a deleted message cannot be changed":                      "code ReceiptHandleIsInvalid",
	"2.2/a lapsed handle changes nothing on a FIFO queue":          "late change: succeeded",
	"2.3/a lapsed handle does not delete on a FIFO queue":          "late delete: succeeded",
	"2.5/an expired handle has a code and no type":                 "code ReceiptHandleIsInvalid",
	"2.8/a handle of the source queue is of no use after the move": "delete: ReceiptHandleIsInvalid",
	"9/delete with an older handle does nothing":                   "ReceiptHandleIsInvalid",
	"9/FIFO delete after the timeout fails":                        "delete: succeeded",
	"9/change on a deleted message names the parameter":            "code ReceiptHandleIsInvalid",

	// The twelve hours count from the send, and a batch fails as a whole.
	"9/the twelve hours count from the receive, not from the send": "43,196 s after the receive: InvalidParameterValue",
	"9/beyond twelve hours an entry fails, not the batch":          "batch: InvalidParameterValue",

	// FIFO: any hidden message locks its group, a delete forgets the deduplication
	// id, groups are not kept together.
	"2.7/showing the first frees the first only":                   "m1 alone: received []",
	"2.7/the visible ones before a hidden one come back":           "m1 and m2: received []",
	"2.7/one receive takes group by group":                         `received ["g1-m1" "g2-m1" "g1-m2" "g1-m3"]`,
	"2.7/a batch without a group or a deduplication id is refused": "no group: code MissingParameter",
	"2.7/a repeated deduplication id is accepted and dropped":      "message id: got",
	"2.7/a deduplication id is remembered after the delete":        `dropped: received ["a"]`,
	"2.7/or each group by itself, if the queue says so":            `received ["a"], want ["a" "a"]`,
	"2.7/an id of the former scope is still refused":               `dropped: received ["a"]`,
	"2.7/ids are printable and at most 128 characters":             "The queue should either have ContentBasedDeduplication",
	"2.9/a group id on a standard queue is checked":                "send: succeeded",
	"9/FIFO blocking is positional":                                "received []",
	"9/FIFO deduplication outlives the message":                    `dropped: received ["a"]`,

	// Dead-letter queues: the source is not recorded, and move tasks do not exist.
	"2.8/id, attributes and receive count go along":                "source: got ,",
	"2.8/the dead-letter queue must be there and of the same kind": "code InvalidParameterCombination",
	"2.8/denyAll keeps sources away":                               "create: succeeded",
	"2.8/a move task makes messages new":                           "StatusCode: 500",
	"2.8/the source of a move task must be a dead-letter queue":    "StatusCode: 500",
	"2.8/source and destination of a move task must exist":         "StatusCode: 500",
	"2.8/a move task fails when its destination is gone":           "StatusCode: 500",
	"2.8/one move task at a time":                                  "StatusCode: 500",
	"2.8/a move task keeps to its rate and can be cancelled":       "StatusCode: 500",
	"2.8/a move task to another queue":                             "StatusCode: 500",
	"2.8/a move task fails on a message without a source":          "StatusCode: 500",
	"9/a second move task is InvalidParameterValue":                "StatusCode: 500",

	// Checks that it does not make, or makes otherwise.
	"2.1/a trace header travels as a system attribute":                  "checksum of system attributes: got ,",
	"2.4/ten entries are the most":                                      "code AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
	"2.4/entry ids are checked":                                         "id : succeeded",
	"2.4/an oversized entry fails alone":                                "batch: InvalidParameterValue",
	"2.6/a queue may allow less, attributes count":                      "one byte more: succeeded",
	"2.6/a message without a body is refused":                           "empty: succeeded",
	"2.6/a body is XML 1.0 characters":                                  "NUL: succeeded",
	"2.6/a message has at most ten attributes":                          "eleven: succeeded",
	"2.6/an attribute is not empty":                                     "send: succeeded",
	"2.6/an attribute has a known type":                                 "a number that is none: succeeded",
	"2.6/an attribute name is checked":                                  "AWS.x: succeeded",
	"2.10/queue names are checked":                                      "x.fifo: succeeded",
	"2.10/FIFO attributes are for FIFO queues":                          "FifoQueue: succeeded",
	"2.10/attribute values are checked":                                 "VisibilityTimeout: succeeded",
	"2.10/a purge empties the queue, once a minute":                     "again: succeeded",
	"2.10/queues are found by name and owner, and listed by prefix":     "of another account: succeeded",
	"2.10/throughput for each group needs deduplication for each group": "set: succeeded",
	"2.11/the two kinds of encryption exclude each other":               "both: succeeded",
}
