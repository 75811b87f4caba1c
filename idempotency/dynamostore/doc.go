// Package dynamostore keeps the records of package idempotency in a DynamoDB
// table, and completes work in a transaction of the user's.
//
// Every operation is one conditional UpdateItem that says itself whether it was
// allowed: nothing is ever read. A record stays below 1 KB whatever the payload,
// so each write is one write unit:
//
//	first run            2    claim, completion
//	  with Transact      1    claim, and the transaction
//	duplicate            1    the refused claim; so too held and used up
//	retry attempt        2
//	new life, or a record that has expired and is still there
//	                     3    the refused claim comes first
//	renewal              1    per beat, in a poller
//
// A refused write costs a unit as well (DynamoDB developer guide, "Condition
// expressions").
//
// The table has a string partition key, TTL on the expiry attribute, and nothing
// else; [CreateTable] makes one for tests, [Store.Check] looks whether the one
// at hand is right. TTL only saves room: expired records count as absent whether
// or not DynamoDB has got round to deleting them, which takes days.
//
// The permissions are dynamodb:UpdateItem on the table, with [Store.Transact]
// those of the user's own items too, and with [Store.Check]
// dynamodb:DescribeTable and dynamodb:DescribeTimeToLive.
//
// The writes of one key must meet in one place. In a global table with eventual
// consistency the last writer wins, and two Regions can both claim a key: let
// one Region consume, or use strong consistency.
package dynamostore
