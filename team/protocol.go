package team

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
)

// DefaultGrace is how long a member may take that is asked to end.
const DefaultGrace = 30 * time.Second

// Protocol sends a structured message of one agent to another. Two of the same
// kind about the same request are one.
func (r *Roster) Protocol(from, to *transcript.Transcript, m message.Message) (Posted, error) {
	body, err := message.Encode(m)
	if err != nil {
		return Posted{}, err
	}
	p := r.wake(from, to, Letter{Text: body, Kind: m.Kind(), Summary: summaryOf(m), Key: string(m.Kind()) + " " + requestOf(m)})
	return p, p.Err
}

func summaryOf(m message.Message) string {
	switch m := m.(type) {
	case message.ShutdownRequest:
		return firstLine("shutdown request: " + m.Reason)
	case message.ShutdownResponse:
		return firstLine("shutdown " + agreed(m.Approve) + ": " + m.Reason)
	case message.PlanApprovalResponse:
		return firstLine("plan " + agreed(m.Approve) + ": " + m.Feedback)
	}
	return string(m.Kind())
}

func agreed(yes bool) string {
	if yes {
		return "approved"
	}
	return "refused"
}

func requestOf(m message.Message) string {
	switch m := m.(type) {
	case message.ShutdownRequest:
		return m.RequestID
	case message.ShutdownResponse:
		return m.RequestID
	case message.PlanApprovalResponse:
		return m.RequestID
	}
	return string(mailbox.NewID())
}

// protocolInput is the message of a SendMessage call that is no text
// (agent-system spec §4.1).
type protocolInput struct {
	Type      mailbox.Kind `json:"type"`
	RequestID string       `json:"request_id"`
	Approve   *bool        `json:"approve"`
	Reason    string       `json:"reason"`
	Feedback  string       `json:"feedback"`
}

// protocol reads a structured message that a model may send; a request that it
// makes gets the id.
func protocol(raw json.RawMessage, id string) (message.Message, error) {
	var in protocolInput
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, errors.New("message must be a text, or an object with a type")
	}
	if in.Type == mailbox.KindShutdownRequest {
		return message.ShutdownRequest{RequestID: id, Reason: in.Reason, GraceMS: DefaultGrace.Milliseconds()}, nil
	}
	var m message.Message
	switch in.Type {
	case mailbox.KindShutdownResponse:
		m = message.ShutdownResponse{RequestID: in.RequestID, Approve: in.approves(), Reason: in.Reason}
	case mailbox.KindPlanApprovalResponse:
		m = message.PlanApprovalResponse{RequestID: in.RequestID, Approve: in.approves(), Feedback: cmp.Or(in.Feedback, in.Reason)}
	default:
		return nil, fmt.Errorf("there is no message of type %q to send; there are shutdown_request, shutdown_response and plan_approval_response", in.Type)
	}
	if in.RequestID == "" || in.Approve == nil {
		return nil, fmt.Errorf("a %s says which request_id it answers, and approve true or false", in.Type)
	}
	return m, nil
}

func (in protocolInput) approves() bool { return in.Approve != nil && *in.Approve }
