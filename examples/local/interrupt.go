package main

import (
	"context"
	"io"
	"os"
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
	said := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(said)
		printf(stderr, "local: interrupted: finishing what runs; once more to quit\n")
	})
	return func() bool {
		if cancel() {
			return false
		}
		<-said
		return true
	}
}
