package taskprotect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxAnswer is more than any answer of the agent has.
const maxAnswer = 64 << 10

// request is all that the agent may be sent: a field that it does not know is an
// error (Amazon ECS agent, task protection handler).
type request struct {
	ProtectionEnabled bool
	ExpiresInMinutes  int `json:",omitempty"` // 1 to 2,880
}

// answer holds one of its first three parts. A refusal by ECS is a Failure with
// the status 200; what the agent itself refuses, or ECS answers with an error, is
// an Error with another status.
type answer struct {
	Protection *struct{ ProtectionEnabled bool }
	Failure    *struct{ Reason, Detail string }
	Error      *struct{ Code, Message string }
	RequestID  string
}

// refusalError is an answer that says that nothing was changed.
type refusalError struct{ text string }

func (e *refusalError) Error() string { return e.text }

// put protects the task, or removes that. It returns a *refusalError if the
// answer was no; any other error may have come after the deed.
func (p *Protector) put(ctx context.Context, on bool) error {
	in := request{ProtectionEnabled: on}
	if on {
		in.ExpiresInMinutes = int(protectFor / time.Minute)
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, p.endpoint, strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return fmt.Errorf("the ECS agent: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("the ECS agent answered %s, and then: %w", resp.Status, err)
	}
	return judge(on, resp.StatusCode, text)
}

// judge reads an answer.
func judge(on bool, status int, text []byte) error {
	var a answer
	_ = json.Unmarshal(text, &a) // what is no JSON has none of the parts
	request := ""
	if a.RequestID != "" {
		request = " (request " + a.RequestID + ")"
	}
	switch {
	case a.Failure != nil:
		return &refusalError{fmt.Sprintf("ECS refused: %s %s%s", a.Failure.Reason, a.Failure.Detail, request)}
	case status/100 == 2 && a.Error == nil && a.Protection != nil && a.Protection.ProtectionEnabled == on:
		return nil
	}
	said := fmt.Sprintf("the ECS agent answered %d: %.200q", status, text)
	if a.Error != nil {
		said = fmt.Sprintf("the ECS agent answered %d, %s: %s%s", status, a.Error.Code, a.Error.Message, request)
	}
	if a.Error != nil && strings.HasPrefix(a.Error.Code, "AccessDenied") {
		said += "; the task definition needs a taskRoleArn, and that role ecs:UpdateTaskProtection"
	}
	if status/100 == 4 {
		return &refusalError{said}
	}
	return errors.New(said)
}
