package roster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/protocol"
	"github.com/actorswarm/swarm/tool"
)

// step performs a step of a protocol and returns a description of its effect. A step that
// is refused is an error and changes nothing. Only an object is a step; a text is always a
// text.
func (s *sendTool) step(in sendInput, key string) tool.Result {
	m, err := parseProtocol(in.Message, string(messageID(s.self.Spec.ID, "", key)))
	if err != nil {
		if forged := (*team.KindError)(nil); errors.As(err, &forged) && forged.Kind.Valid() {
			s.roster.agents.Refused(s.self.Spec.ID, string(forged.Kind)+" to "+in.To, err)
		}
		return tool.Errorf("not sent: %v", err)
	}
	var text, request string
	switch m := m.(type) {
	case message.ShutdownRequest:
		text, request, err = s.requestShutdown(in.To, m, key)
	case message.ShutdownResponse:
		request = m.RequestID
		text, err = s.answerShutdown(m, key)
	case message.PlanApprovalResponse:
		request = m.RequestID
		text, err = s.decidePlan(in.To, m, key)
	}
	if err != nil {
		return tool.Errorf("not sent: %v", err)
	}
	return tool.Result{Text: text, Detail: stepDetail(text, request)}
}

func stepDetail(text, request string) json.RawMessage {
	raw, err := json.Marshal(map[string]any{"success": true, "message": text, "request_id": request})
	if err != nil {
		return nil // cannot happen: plain data can be encoded
	}
	return raw
}

func (s *sendTool) requestShutdown(to string, m message.ShutdownRequest, key string) (text, request string, err error) {
	t, err := s.roster.address(s.self.Transcript.Spec(), team.Message{To: to, Kind: mailbox.KindShutdownRequest})
	if err != nil {
		return "", "", s.roster.orRemote(to, err)
	}
	grace := time.Duration(m.GraceMS) * time.Millisecond
	state, err := s.roster.agents.RequestShutdown(s.self.Transcript.ID(), t.ID(), actors.ShutdownOptions{Reason: m.Reason, Grace: grace, Key: key})
	name := agent.DisplayName(t.Spec())
	switch {
	case err != nil:
		return "", "", err
	case state.Phase == protocol.ShutdownGone:
		return name + " has ended", state.ID, nil
	case state.Leaving():
		return name + " is ending", state.ID, nil
	}
	return fmt.Sprintf("%s is asked to end (request %s) and is ended in %v at the latest; you are told when it is gone, or if it objects",
		name, state.ID, time.Until(state.Deadline).Round(time.Second)), state.ID, nil
}

func (s *sendTool) answerShutdown(m message.ShutdownResponse, key string) (string, error) {
	if err := s.roster.agents.AnswerShutdown(s.self.Transcript.ID(), m, key); err != nil {
		return "", err
	}
	if m.Approve {
		return "you are being ended", nil
	}
	return "your objection is passed on; go on with your work. The next request you cannot refuse", nil
}

func (s *sendTool) decidePlan(to string, m message.PlanApprovalResponse, key string) (string, error) {
	t, err := s.roster.address(s.self.Transcript.Spec(), team.Message{To: to, Kind: mailbox.KindPlanApprovalResponse})
	if err != nil {
		return "", s.roster.orRemote(to, err)
	}
	if err := s.roster.agents.DecidePlan(s.self.Transcript.ID(), t.ID(), m, key); err != nil {
		return "", err
	}
	name := agent.DisplayName(t.Spec())
	if m.Approve {
		return fmt.Sprintf("the plan of %s is approved (mode %s); it goes to work", name, t.Spec().Mode), nil
	}
	return fmt.Sprintf("the plan of %s is rejected; it plans anew with your feedback", name), nil
}

// ShutDown asks a member, by name or id, to end, and returns when it has ended or has
// objected.
func (r *Roster) ShutDown(ctx context.Context, by mailbox.AgentID, name string, d actors.ShutdownOptions) (actors.ShutdownResult, error) {
	t, err := r.Find(name)
	if err != nil {
		return actors.ShutdownResult{Name: name}, r.orRemote(name, err)
	}
	return r.agents.ShutDown(ctx, by, t.ID(), d)
}
