package crashtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// gate stands between the workers and the emulator of DynamoDB.
//
// It lets one call through at a time, because moto 5.2.1 checks a condition in
// one step and writes in another, without a lock, and takes whole tables back to
// where they were when it cancels a transaction; a service whose writes are not
// atomic would have us find its own faults. What was sent in full is carried
// out, whether or not its sender is still alive, as in a data centre.
//
// It notes every write that was made, while no other one can be: so the journal
// says whether anything has happened after a completion. And it has traps, which
// stop a call on its way there or back, for the worker to be killed meanwhile.
type gate struct {
	target           string
	client           *http.Client
	journal          *journal
	records, effects string // tables
	turn             chan struct{}

	mu   sync.Mutex // guards trap; held for short sections only
	trap *trap
}

// trap catches one call.
type trap struct {
	calls int  // it is the nth from when the trap was set
	after bool // carried out, and only the answer is caught
	// caught is closed when the call is there; gone has to be when its sender is
	// dead.
	caught, gone chan struct{}
}

// set sets a trap instead of the one that is there; nil for none.
func (g *gate) set(t *trap) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trap = t
}

// spring returns the trap if this is the call that it is for.
func (g *gate) spring() *trap {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.trap
	if t == nil {
		return nil
	}
	if t.calls--; t.calls > 0 {
		return nil
	}
	g.trap = nil
	return t
}

// hold keeps the call until its sender is dead.
func (t *trap) hold() {
	close(t.caught)
	<-t.gone
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // killed while it was sending
	}
	t := g.spring()
	if t != nil && !t.after {
		t.hold()
		panic(http.ErrAbortHandler)
	}
	answer, err := g.forward(r, body)
	if t != nil {
		t.hold()
	}
	if err != nil {
		panic(http.ErrAbortHandler) // to the worker, a connection that breaks
	}
	maps.Copy(w.Header(), answer.header)
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body)
}

// reply is an answer of the emulator.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// forward carries out a call when it is its turn.
func (g *gate) forward(r *http.Request, body []byte) (reply, error) {
	g.turn <- struct{}{}
	defer func() { <-g.turn }()
	const longest = 30 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), longest)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.target, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header = r.Header.Clone()
	resp, err := g.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode == http.StatusOK {
		g.note(body, answer)
	}
	return reply{resp.StatusCode, resp.Header, answer}, err
}

// write is what we read of a request: an update, or the updates of a
// transaction.
type write struct {
	TableName string
	Key       struct {
		PK text `json:"pk"`
	}
	TransactItems []struct{ Update write }
}

// text is an attribute value; the number of one that is a number.
type text struct{ S, N string }

// note enters the writes that were made. The effect of a transaction comes
// before the completion: they are simultaneous, and it is not one after it.
func (g *gate) note(request, answer []byte) {
	var req write
	var made struct {
		Attributes struct {
			Status   text `json:"st"`
			Attempts text `json:"att"`
		}
	}
	if json.Unmarshal(request, &req) != nil || json.Unmarshal(answer, &made) != nil {
		return
	}
	for _, it := range req.TransactItems {
		g.noteEffect(it.Update)
	}
	for _, it := range req.TransactItems {
		g.noteRecord(it.Update, eventCompleted, 0)
	}
	g.noteEffect(req)
	event := map[string]string{
		"in_progress": eventClaimed, "completed": eventCompleted, "failed": eventGivenBack, "rejected": eventGivenBack,
	}[made.Attributes.Status.S]
	attempt, _ := strconv.Atoi(made.Attributes.Attempts.N)
	g.noteRecord(req, event, attempt)
}

func (g *gate) noteEffect(w write) {
	if order, err := strconv.Atoi(w.Key.PK.S); err == nil && w.TableName == g.effects {
		g.journal.write(line{event: eventEffect, order: order})
	}
}

func (g *gate) noteRecord(w write, event string, attempt int) {
	if w.TableName != g.records {
		return
	}
	if order, err := strconv.Atoi(strings.TrimPrefix(w.Key.PK.S, keyPrefix)); err == nil {
		g.journal.write(line{event: event, order: order, attempt: attempt})
	}
}
