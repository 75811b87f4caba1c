package taskprotect

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	accessDenied = `{"error":{"Arn":"arn:task","Code":"AccessDeniedException","Message":"no task IAM role credentials"}}`
	unknownField = `{"error":{"Code":"InvalidParameterException","Message":"failed to decode request"}}`
)

// refusals are what the agent answers instead of doing it.
var refusals = map[string]struct {
	status int
	answer string
	err    error
	want   string // what is said of it
	unsure bool   // it may have been done all the same
}{
	"ECS refuses":         {200, failure, nil, "ECS refused: DEPLOYMENT_BLOCKED a deployment waits", false},
	"no task role":        {403, accessDenied, nil, "403, AccessDeniedException: no task IAM role credentials; the task definition needs", false},
	"unknown field":       {400, unknownField, nil, "InvalidParameterException", false},
	"agent without it":    {404, "404 page not found", nil, `404: "404 page not found"`, false},
	"redirect":            {302, "", nil, "302", true},
	"ECS times out":       {504, `{"error":{"Code":"RequestCanceled","Message":"Timed out calling ECS"}}`, nil, "504, RequestCanceled: Timed out", true},
	"ECS fails":           {500, `{"requestID":"r-1","error":{"Code":"ServerException","Message":"oh"}}`, nil, "oh (request r-1)", true},
	"no JSON":             {200, "<html>", nil, `200: "<html>"`, true},
	"empty":               {200, "", nil, "200", true},
	"null":                {200, "null", nil, "200", true},
	"neither part":        {200, "{}", nil, "200", true},
	"the contrary":        {200, no, nil, "200", true},
	"connection refused":  {0, "", errors.New("connection refused"), "connection refused", true},
	"connection hangs":    {0, "", errHang, "context deadline exceeded", true},
	"an answer too large": {200, strings.Repeat(" ", 2*maxAnswer) + yes, nil, "200", true},
}

// A refusal is said, and asked again soon while there is work. What may have been
// done all the same is taken back at the end.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, tt := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := func(n int, body string) (int, string, error) {
				if n == 1 {
					return tt.status, tt.answer, tt.err
				}
				return 200, map[string]string{protect: yes, unprotect: no}[body], nil
			}
			bubble(t, answer, func(a *agent, p *Protector, end func()) {
				p.Busy()
				time.Sleep(29 * time.Second) // idle: there is nothing to protect any more
				end()
				got, warnings := a.seen()
				want := []string{protect}
				if tt.unsure {
					want = append(want, unprotect)
				}
				if diff := cmp.Diff(want, bodies(got)); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				if len(warnings) != 1 || !strings.Contains(warnings[0], tt.want) || !strings.Contains(warnings[0], "could not be protected") {
					t.Errorf("warnings %q, want one with %q", warnings, tt.want)
				}
			})
			bubble(t, answer, func(a *agent, p *Protector, _ func()) {
				a.working.Store(true)
				p.Busy()
				time.Sleep(5 * time.Minute)
				got, _ := a.seen()
				if len(got) != 2 || got[1].At < look || got[1].At > 4*look {
					t.Errorf("calls %v, want a second one 5 s to 20 s later", got)
				}
			})
		})
	}
}

func bodies(calls []call) (all []string) {
	for _, c := range calls {
		all = append(all, c.Body)
	}
	return all
}

// The agent is away for two hours: the waits grow to a minute, there is a warning
// a minute, and the next success is as if nothing had been.
func TestOutage(t *testing.T) {
	t.Parallel()
	const outage = 2 * time.Hour
	var start time.Time
	answer := func(int, string) (int, string, error) {
		if time.Since(start) < outage {
			return 0, "", errors.New("connection refused")
		}
		return 200, yes, nil
	}
	bubble(t, answer, func(a *agent, p *Protector, _ func()) {
		start = a.start
		a.working.Store(true)
		p.Busy()
		time.Sleep(outage + 4*time.Minute)
		got, warnings := a.seen()
		var waits []time.Duration
		for i := range got[1:] {
			waits = append(waits, got[i+1].At-got[i].At)
		}
		if first := slices.Max(waits[:2]); first > 25*time.Second {
			t.Errorf("the first waits are %v", waits[:2])
		}
		// Rounded up to the next look.
		if late := waits[4:]; slices.Min(late) < 30*time.Second || slices.Max(late) > 65*time.Second {
			t.Errorf("later waits are %v to %v", slices.Min(late), slices.Max(late))
		}
		if len(warnings) < 50 || len(warnings) > 121 {
			t.Errorf("%d warnings in two hours", len(warnings))
		}
		if last := got[len(got)-1].At; last < outage || last > outage+65*time.Second {
			t.Errorf("the last call came after %v: it was to succeed, and none to follow", last)
		}
	})
}

// A renewal that fails changes nothing about the protection there is: it is tried
// again before that ends, and removed in the end.
func TestRenewalFails(t *testing.T) {
	t.Parallel()
	answer := func(n int, body string) (int, string, error) {
		if n == 2 || n == 3 {
			return 200, failure, nil
		}
		return 200, map[string]string{protect: yes, unprotect: no}[body], nil
	}
	bubble(t, answer, func(a *agent, p *Protector, end func()) {
		a.working.Store(true)
		p.Busy()
		time.Sleep(7 * time.Minute)
		end()
		got, warnings := a.seen()
		if diff := cmp.Diff([]string{protect, protect, protect, protect, unprotect}, bodies(got)); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if len(warnings) != 1 {
			t.Errorf("warnings %q, want one", warnings)
		}
	})
}

// A removal that fails is tried again until the protection has ended by itself.
func TestRemovalFails(t *testing.T) {
	t.Parallel()
	answer := func(_ int, body string) (int, string, error) {
		if body == unprotect {
			return 500, "", nil
		}
		return 200, yes, nil
	}
	bubble(t, answer, func(a *agent, p *Protector, end func()) {
		p.Busy()
		time.Sleep(5 * time.Minute)
		got, warnings := a.seen()
		if n := len(got); n < 5 || n > 15 || !strings.Contains(warnings[0], "could not be removed") {
			t.Errorf("calls %v, warnings %q", got, warnings)
		}
		time.Sleep(time.Hour)
		end()
		got, _ = a.seen()
		if last := got[len(got)-1]; last.At > protectFor {
			t.Errorf("the last call is %v, after the protection has ended", last)
		}
	})
}

// Work that comes back while the removal fails is protected: the removal may have
// been carried out.
func TestWorkWhileRemovalFails(t *testing.T) {
	t.Parallel()
	answer := func(_ int, body string) (int, string, error) {
		if body == unprotect {
			return 504, "", nil
		}
		return 200, yes, nil
	}
	bubble(t, answer, func(a *agent, p *Protector, _ func()) {
		p.Busy()
		time.Sleep(36 * time.Second)
		a.working.Store(true)
		p.Busy()
		time.Sleep(time.Minute)
		got, _ := a.seen()
		if diff := cmp.Diff([]string{protect, unprotect, protect}, bodies(got)); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}
