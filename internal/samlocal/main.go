// Command samlocal drives the order function of template.yaml where `sam local
// start-lambda` serves it: it has a queue of orders and its dead-letter queue, an
// SQS in this process on a TCP address that the function's container can reach,
// and is the event source mapping that SAM lacks. scripts/sam-local-test.sh uses
// it. The exit code is 0 if every order ended up where it belongs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	var d drive
	flag.StringVar(&d.listen, "listen", "127.0.0.1:9324", "address of the queue's API")
	flag.StringVar(&d.endpoint, "endpoint", "http://127.0.0.1:3001", "base URL of sam local start-lambda")
	flag.StringVar(&d.function, "function", "OrdersFunction", "name of the function there")
	flag.IntVar(&d.orders, "n", 100, "orders to send, a multiple of 20")
	timeout := flag.Duration("timeout", 5*time.Minute, "give up after so long")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	err := d.run(ctx, os.Stdout)
	cancel()
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "samlocal:", err)
		os.Exit(1)
	}
}
