package taskprotect

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A period of work costs two calls, however many batches it has.
func TestOneProtectionForOnePeriod(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(a *agent, p *Protector, _ func()) {
		a.working.Store(true)
		for range 1200 {
			p.Busy()
			time.Sleep(100 * time.Millisecond)
		}
		a.working.Store(false)
		time.Sleep(time.Hour)
		got, warnings := a.seen()
		// The last Busy was a moment before 2 min and is seen at the look then; the
		// next one finds the task idle, and 30 s later it still is.
		want := []call{at(0, protect), at(2*time.Minute+35*time.Second, unprotect)}
		if diff := cmp.Diff(want, got); diff != "" || warnings != nil {
			t.Errorf("calls (-want +got):\n%s\nwarnings %q", diff, warnings)
		}
	})
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(a *agent, p *Protector, _ func()) {
		a.working.Store(true)
		p.Busy()
		time.Sleep(16*time.Minute + time.Second)
		a.working.Store(false)
		time.Sleep(time.Hour)
		got, _ := a.seen()
		want := []call{
			at(0, protect), at(5*time.Minute, protect), at(10*time.Minute, protect), at(15*time.Minute, protect),
			at(16*time.Minute+35*time.Second, unprotect),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// Work that comes and is done between two looks is work.
func TestShortPauses(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(a *agent, p *Protector, _ func()) {
		for range 10 {
			p.Busy()
			time.Sleep(25 * time.Second)
		}
		got, _ := a.seen()
		if diff := cmp.Diff([]call{at(0, protect)}, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

func TestSecondPeriod(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(a *agent, p *Protector, _ func()) {
		p.Busy()
		time.Sleep(time.Minute)
		p.Busy()
		time.Sleep(time.Minute)
		got, _ := a.seen()
		want := []call{at(0, protect), at(35*time.Second, unprotect), at(time.Minute, protect), at(95*time.Second, unprotect)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// A task that has nothing to do makes no call, not even at its end.
func TestNeverBusy(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(a *agent, _ *Protector, end func()) {
		time.Sleep(time.Hour)
		end()
		if got, warnings := a.seen(); got != nil || warnings != nil {
			t.Errorf("calls %v, warnings %q", got, warnings)
		}
	})
}

func TestEndWhileProtected(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(a *agent, p *Protector, end func()) {
		a.working.Store(true)
		p.Busy()
		time.Sleep(7 * time.Second)
		end()
		got, _ := a.seen()
		if diff := cmp.Diff([]call{at(0, protect), at(7*time.Second, unprotect)}, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if took := time.Since(a.start); took != 7*time.Second {
			t.Errorf("Run returned after %v", took)
		}
	})
}

// The agent hangs: a call that was sent may be carried out later, so the end
// takes it back, in 2 seconds or not at all.
func TestEndWhileTheAgentHangs(t *testing.T) {
	t.Parallel()
	hang := func(int, string) (int, string, error) { return 0, "", errHang }
	bubble(t, hang, func(a *agent, p *Protector, end func()) {
		p.Busy()
		time.Sleep(3 * time.Second)
		end()
		got, warnings := a.seen()
		if diff := cmp.Diff([]call{at(0, protect), at(3*time.Second, unprotect)}, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if took := time.Since(a.start); took != 5*time.Second {
			t.Errorf("Run returned after %v, want 5 s", took)
		}
		if len(warnings) != 1 {
			t.Errorf("warnings %q, want one, of the removal", warnings)
		}
	})
}

func TestBusyDoesNotBlock(t *testing.T) {
	t.Parallel()
	p, err := New("http://169.254.170.2/api/0123", nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		p.Busy() // nobody runs it
	}
	if tr, ok := transport().(*http.Transport); !ok || tr.Proxy != nil {
		t.Error("the agent is asked by way of a proxy")
	}
}
