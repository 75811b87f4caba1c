package idempotency

// Hash is what a Guard compares of a payload.
func Hash(sel Selector, payload string) (string, error) { return hash(sel, payload) }
