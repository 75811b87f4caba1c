// Package taskprotect keeps ECS from choosing a busy task when a service scales
// in or deploys. The task says of itself that it is busy, to the agent beside it
// (Amazon ECS Developer Guide, task scale-in protection endpoint).
package taskprotect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	// protectFor is how long ECS keeps the protection if we die without a word:
	// so long a deployment may have to wait for a task that is gone wrong.
	protectFor = 10 * time.Minute
	// quiet is how long a task is idle before its protection is removed. Calls
	// end up at an ECS API that is throttled per account and region, so the
	// protection follows periods of work and not batches.
	quiet = 30 * time.Second
	// look is how often a protected task is looked at.
	look = 5 * time.Second
	// callTimeout bounds one call; the agent itself gives up on ECS before.
	callTimeout = 5 * time.Second
	// leaveTimeout bounds removing the protection at the end of Run.
	leaveTimeout = 2 * time.Second
	// warnEvery is the least time between two warnings.
	warnEvery = time.Minute
)

// Protector protects the task that it runs in while there is work. Nothing that
// goes wrong in it concerns a message: it is told to warn, and tried again.
type Protector struct {
	endpoint string
	client   *http.Client
	warn     func(msg string, err error)
	came     chan struct{} // one place: something came since Run last looked
}

// New returns a Protector that asks the agent at agentURI, which ECS puts into
// the environment variable ECS_AGENT_URI of every container. It makes no call.
// Failures are told to warn, the first one at once and then at most one in a
// minute, by the goroutine of Run; nil for nobody.
func New(agentURI string, warn func(msg string, err error)) (*Protector, error) {
	if agentURI == "" {
		return nil, errors.New("the URI of the ECS agent is empty: ECS sets ECS_AGENT_URI in each container of a task " +
			"(platform version 1.4.0 or later on Fargate); turn task protection off outside ECS")
	}
	u, err := url.Parse(agentURI)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the URI of the ECS agent is %q, which is no http URL with a host; leave ECS_AGENT_URI as ECS sets it, "+
			"or turn task protection off outside ECS", agentURI)
	}
	if warn == nil {
		warn = func(string, error) {}
	}
	return &Protector{
		endpoint: u.JoinPath("task-protection/v1/state").String(),
		client:   client(transport()),
		warn:     warn,
		came:     make(chan struct{}, 1),
	}, nil
}

// transport knows no proxy: the agent is on the task's own host. It keeps no
// connection, as calls are minutes apart.
func transport() http.RoundTripper {
	return &http.Transport{
		DialContext:       (&net.Dialer{Timeout: callTimeout}).DialContext,
		DisableKeepAlives: true,
	}
}

func client(t http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Busy says that work has come. Call it for each batch received: it does not
// block, and costs a call of the agent only if the task was idle. It is safe for
// concurrent use.
func (p *Protector) Busy() {
	select {
	case p.came <- struct{}{}:
	default:
	}
}

// Run makes all calls of the agent, until ctx ends. It protects the task from
// the first Busy on, renews that while there is work, and removes it when for 30
// seconds there was neither a Busy nor a time at which idle was false. At the end
// it removes what is left, which may take 2 seconds. idle is asked every 5
// seconds of a busy period, by Run's goroutine, and must not block. Run once.
func (p *Protector) Run(ctx context.Context, idle func() bool) {
	r := &run{Protector: p, idle: idle}
	defer r.leave(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.came:
			r.busyPeriod(ctx)
		}
	}
}
