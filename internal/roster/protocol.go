package roster

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
)

// DefaultGrace is the grace period of a member that is asked to end.
const DefaultGrace = 30 * time.Second

// protocolInput is a structured message of a SendMessage call (agent-system spec §4.1).
type protocolInput struct {
	Type      mailbox.Kind `json:"type"`
	RequestID string       `json:"request_id"`
	Approve   *bool        `json:"approve"`
	Reason    string       `json:"reason"`
	Feedback  string       `json:"feedback"`
	Mode      string       `json:"permission_mode"`
}

// parseProtocol reads a structured message that a model may send, and gives a request its
// id.
func parseProtocol(raw json.RawMessage, id string) (message.Message, error) {
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
		m = message.PlanApprovalResponse{RequestID: in.RequestID, Approve: in.approves(), Feedback: cmp.Or(in.Feedback, in.Reason), Mode: in.Mode}
	default:
		return nil, &team.KindError{Kind: in.Type}
	}
	if in.RequestID == "" || in.Approve == nil {
		return nil, fmt.Errorf("a %s says which request_id it answers, and approve true or false", in.Type)
	}
	return m, nil
}

func (in protocolInput) approves() bool { return in.Approve != nil && *in.Approve }
