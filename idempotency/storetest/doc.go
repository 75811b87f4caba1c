// Package storetest is the contract of idempotency.Store as a test suite. Every
// store of Ackwise passes it; one of your own should:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Harness {
//			s := mystore.New()
//			return storetest.Harness{Store: s, Get: s.get, Put: s.put}
//		})
//	}
//
// It imports package testing and is for tests only.
package storetest
