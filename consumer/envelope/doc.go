// Package envelope takes messages out of what AWS services wrap them in on the
// way to a queue: SNS notifications, EventBridge events and S3 notifications.
//
// Nothing is guessed: how the messages of a queue are wrapped depends on how
// topic, rule and bucket are set up, so the program says it, by the handler that
// it makes. A body of any other shape is a permanent failure, an [*Error] that
// says what was found and what to do; the handler inside is not called.
//
//	how the message came                     handler
//	SNS, raw message delivery                consumer.JSON(fn)
//	SNS                                      envelope.SNS(consumer.JSON(fn))
//	SNS, some subscriptions raw, some not    envelope.SNSOrRaw(consumer.JSON(fn))
//	EventBridge                              envelope.EventBridge(fn)
//	EventBridge to SNS                       envelope.SNS(envelope.EventBridge(fn))
//	S3                                       envelope.S3(fn)
//	S3 to SNS                                envelope.SNS(envelope.S3(fn))
//	S3 to EventBridge                        envelope.S3EventBridge(fn)
//
// [SNS] and [SNSOrRaw] have the type of a [consumer.Middleware], so that they can
// stand in [consumer.Config.Middleware] as well, outside of what the handler is
// made of; [EventBridge] and [S3] end the chain, since they decode for a function.
//
// # What stays as it is
//
// Unwrapping happens inside the handler, on a copy. All that is around the handler
// sees the message as it came from the queue: the copy that is parked on a
// dead-letter queue still has its envelope, and can be redriven to the same
// consumer.
//
// # Keys
//
// So does [consumer.Config.Key]. The key of what is inside is found like this:
//
//	an order id inside SNS             envelope.SNSKey(consumer.JSONField("order", "id"))
//	the id that SNS gave               consumer.JSONField("MessageId")
//	an order id inside EventBridge     consumer.JSONField("detail", "order", "id")
//	the id of the EventBridge event    consumer.JSONField("id")
//
// A key of SNS's or EventBridge's also recognises the second copy if the service
// delivers twice, which the message id that SQS gives does not.
//
// # Trust
//
// An envelope proves nothing: whoever may send to the queue can write one.
// Signatures are not checked. Let the queue's policy admit only the topic, the rule
// or the bucket, by a condition on aws:SourceArn.
//
// # JSON
//
// Names are matched exactly, unlike encoding/json, which takes message for
// Message: the services write them in one way, and a body that only resembles an
// envelope is none. (SNS calls a field SigningCertURL in queues and
// SigningCertUrl in events for Lambda; both are read.) An object of the envelope
// that has a member twice is refused, since nobody knows which one another reader
// takes. Members that are not named here are ignored. What describes the message,
// such as a time, is zero if it is missing or unreadable, and fails nothing.
package envelope
