// Package idempotency sees to it that work under one key is completed at most
// once while its record lives, and that two workers never run it at once while a
// lease is valid. It counts attempts. It knows nothing of messages.
//
// A [Guard] claims a key in a [Store] before the work and completes or releases
// it afterwards. Every write after the claim is fenced by an owner token, so a
// worker that was too slow cannot overwrite what its successor wrote.
package idempotency
