package poller

// deeply calls f in a goroutine that makes calls of the SDK one after another, which
// go deep, and waits in between. The runtime halves the stack of a goroutine of
// which less than a quarter is in use when it collects garbage, and the next call
// has to make it grow again, moving all that is on it. So this frame takes up that
// quarter. What would fill it is never called.
//
//go:noinline
func deeply(f func()) byte { //nolint:unparam // the result keeps the frame
	f()
	if f != nil {
		return 0
	}
	room := filler()
	return room[len(room)-1]
}

//go:noinline
func filler() (room [9 << 10]byte) { return room }
