package consumer

import "context"

// watch sees to it that what waits when start ends is deferred then.
func (s *Session) watch() {
	s.watching.Do(func() {
		s.unwatch = context.AfterFunc(s.start, func() {
			defer s.deferral.Done()
			s.deferWaiting()
		})
	})
}

// endWatch ends that, and reports whether the deferral is the caller's to make.
func (s *Session) endWatch() bool {
	s.watching.Do(func() {})
	if s.unwatch != nil {
		return s.unwatch()
	}
	return s.unwatched.CompareAndSwap(false, true)
}
