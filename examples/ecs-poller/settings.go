package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"
)

// settings are what the environment says. Zero values are the defaults of the
// packages that they go to.
type settings struct {
	Queue, DeadLetter, Table string
	Concurrency              int
	Prefetch                 int // as the poller takes it: negative for none
	Grace                    time.Duration
	HealthAddr               string
	ProtectTask              bool
}

// readSettings returns every mistake at once, each as a sentence on a line.
func readSettings(getenv func(string) string) (settings, error) {
	env := environment{getenv: getenv}
	s := settings{
		Queue:       env.queue("ORDERS_QUEUE_URL"),
		DeadLetter:  env.queue("ORDERS_DEAD_LETTER_URL"),
		Table:       getenv("ORDERS_TABLE"),
		Concurrency: env.number("ORDERS_CONCURRENCY", 1),
		Prefetch:    env.number("ORDERS_PREFETCH", 0),
		Grace:       env.grace("ORDERS_GRACE"),
		HealthAddr:  env.address("ORDERS_HEALTH_ADDR"),
		ProtectTask: env.flag("ORDERS_PROTECT_TASK"),
	}
	if getenv("ORDERS_QUEUE_URL") == "" {
		env.complainf("ORDERS_QUEUE_URL is not set: set it to the URL of the queue of orders")
	}
	if getenv("ORDERS_PREFETCH") != "" && s.Prefetch == 0 {
		s.Prefetch = -1
	}
	return s, errors.Join(env.mistakes...)
}

// environment reads variables and collects what is wrong with them. One that is
// not set is its zero value.
type environment struct {
	getenv   func(string) string
	mistakes []error
}

func (e *environment) complainf(format string, args ...any) {
	e.mistakes = append(e.mistakes, fmt.Errorf(format, args...))
}

func (e *environment) queue(name string) string {
	text := e.getenv(name)
	if u, err := url.Parse(text); text != "" && (err != nil || u.Scheme == "" || u.Host == "") {
		e.complainf("%s is %q: set it to the whole URL of a queue, such as https://sqs.eu-central-1.amazonaws.com/111122223333/orders", name, text)
	}
	return text
}

func (e *environment) number(name string, least int) int {
	text := e.getenv(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		e.complainf("%s is %q: set it to a number from %d on, or leave it out for the default of 10", name, text, least)
	}
	return n
}

func (e *environment) grace(name string) time.Duration {
	text := e.getenv(name)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second {
		e.complainf("%s is %q: a drain needs time; set it to a duration of 1s or more, such as 25s, "+
			"and at least 5 s below the task's stopTimeout, or leave it out for the default of 25s", name, text)
	}
	return d
}

func (e *environment) address(name string) string {
	text := e.getenv(name)
	if text == "" {
		return ""
	}
	_, port, err := net.SplitHostPort(text)
	if n, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil || n == 0 {
		e.complainf("%s is %q: set it to an address with a port, such as 127.0.0.1:8080, or leave it out for no health endpoint", name, text)
	}
	return text
}

func (e *environment) flag(name string) bool {
	text := e.getenv(name)
	if text == "" {
		return false
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		e.complainf("%s is %q: set it to true or false", name, text)
	}
	return on
}
