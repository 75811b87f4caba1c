package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// simulation is how an order misbehaves. The zero value does not.
type simulation struct {
	kind  string
	tries int           // of "flaky": how many fail
	d     time.Duration // of "slow" and "after", at -speed 1
}

// parseSimulation reads the member "simulate" of a body.
func parseSimulation(text string) (simulation, error) {
	kind, arg, hasArg := strings.Cut(text, ":")
	s := simulation{kind: kind}
	var err error
	switch kind {
	case "", "stall", "poison", "invalid", "panic":
		if hasArg {
			err = fmt.Errorf("simulate is %q; %q takes no number or time", text, kind)
		}
	case "flaky":
		if s.tries, err = strconv.Atoi(arg); err != nil || s.tries < 1 {
			err = fmt.Errorf("simulate is %q; use flaky:N with the number of tries that fail", text)
		}
	case "slow", "after":
		if s.d, err = time.ParseDuration(arg); err != nil || s.d < 0 {
			err = fmt.Errorf("simulate is %q; use %s:D with a time such as 15s", text, kind)
		}
	default:
		err = fmt.Errorf("simulate is %q; use flaky:N, slow:D, stall, after:D, poison, invalid or panic", text)
	}
	if err != nil {
		return simulation{}, err
	}
	return s, nil
}
