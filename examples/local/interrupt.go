package main

import (
	"context"
	"io"
	"os"
	"sync"
)

// heed has the first signal end the run, which takes until the handlers that run
// are done, and the second one end the process. It returns after the second.
func heed(signals <-chan os.Signal, end, quit func()) {
	<-signals
	end()
	<-signals
	quit()
}

// announce says at once when ctx ends, which is an interrupt, until the function
// it returns is called; that one says whether it has happened.
func announce(ctx context.Context, stderr io.Writer) (stop func() (interrupted bool)) {
	say := sync.OnceFunc(func() {
		printf(stderr, "local: interrupted: finishing what runs; once more to quit\n")
	})
	cancel := context.AfterFunc(ctx, say)
	return func() bool {
		cancel()
		if ctx.Err() == nil {
			return false
		}
		say() // or waits until it has been said; what ended with ctx may come here first
		return true
	}
}
